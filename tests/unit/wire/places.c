/* SPDX-License-Identifier: BSD-2-Clause */
#include "places.h"

#include "test.h"

bool told[RPCRDMA_FIELD_COUNT];

static void judge_begin(void *context, const struct rpcrdma_record *record, uint32_t off,
                        uint32_t len)
{
    struct judge *j = context;

    assert_true(off + (size_t)len <= j->caplen);
    if (len > 0) { /* within what holds it */
        assert_true(off >= j->off[j->depth]);
        assert_true(off + len <= j->end[j->depth]);
    }
    (void)record;
    j->depth++;
    j->off[j->depth] = len > 0 ? off : j->off[j->depth - 1];
    j->end[j->depth] = len > 0 ? off + len : j->end[j->depth - 1];
}

static void judge_end(void *context, const struct rpcrdma_record *record)
{
    struct judge *j = context;

    (void)record;
    j->depth--;
}

static uint64_t wire_number(const uint8_t *p, uint32_t len)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < len; i++)
        n = n << 8 | p[i];
    return n;
}

static void judge_number(const struct judge *j, const struct rpcrdma_value *v)
{
    uint64_t wire = wire_number(j->base + v->off, v->len);
    const char *position = strstr(v->field->abbrev, ".position");

    switch (v->field->id) {
    case RPCRDMA_FIELD_PRIVATE_DATA_SEND_SIZE: /* one byte, (size / 1024) - 1 */
    case RPCRDMA_FIELD_PRIVATE_DATA_RECEIVE_SIZE:
        assert_int_equal(v->len, 1);
        assert_int_equal(v->number, (wire + 1) * 1024);
        return;
    case RPCRDMA_FIELD_PRIVATE_DATA_INVALIDATION:
        assert_int_equal(v->number, wire & 1);
        return;
    default:
        break;
    }
    assert_int_equal(v->len * 8, v->field->width);
    if (v->field->offset < 0 && position) /* of a subset: a bit of the word */
        assert_true(wire >> (v->number % 32) & 1);
    else if (v->base == RPCRDMA_BASE_BOOL)
        assert_int_equal(v->number, wire != 0);
    else
        assert_int_equal(v->number, wire);
}

static void judge_field(void *context, const struct rpcrdma_value *v)
{
    struct judge *j = context;

    if (v->len == 0)
        return;
    told[v->field->id] = true;
    j->checked++;
    assert_true(v->off >= j->off[j->depth]);
    assert_true(v->off + v->len <= j->end[j->depth]);
    if (v->field->offset >= 0)
        assert_int_equal(v->off - j->off[j->depth], v->field->offset);
    if (v->base == RPCRDMA_BASE_BYTES)
        assert_memory_equal(v->bytes.data, j->base + v->off, v->len);
    else if (v->base == RPCRDMA_BASE_TEXT)
        assert_int_equal(v->number, wire_number(j->base + v->off, v->len));
    else
        judge_number(j, v);
}

struct rpcrdma_visitor start_judge(struct judge *j, const uint8_t *base, size_t caplen)
{
    *j = (struct judge){.base = base, .caplen = caplen, .end = {(uint32_t)caplen}};
    return (struct rpcrdma_visitor){judge_begin, judge_field, judge_end, j};
}
