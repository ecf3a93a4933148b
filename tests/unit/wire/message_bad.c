/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"
#include "vectors.h"
#include "wire/cursor.h"
#include "wire/message.h"
#include "wire/property.h"
#include "wire/writer.h"

/* Bad input made from the vectors: cut at every byte, with every count changed, not canonical, with
 * bytes after it. */

static char difference[1024];

static const struct rpcrdma_dialect *dialect_of(const struct vector *v)
{
    return rpcrdma_dialect(v->dialect);
}

/* Segments of a list that end within the first n bytes. */
static uint32_t reads_within(const struct rpcrdma_read_list *list, size_t n)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment entry;
    uint32_t count = 0;

    while (rpcrdma_read_next(&it, &entry))
        count += it.off + RPCRDMA_READ_SEGMENT_SIZE <= n;
    return count;
}

static uint32_t segments_within(const struct rpcrdma_chunk *chunk, size_t n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < chunk->count; i++)
        count += chunk->off + 4 + (i + 1) * RPCRDMA_SEGMENT_SIZE <= n;
    return count;
}

/* All that lies within the first n bytes of `whole` is in `cut`. */
static void check_kept(const struct rpcrdma_message *whole, const struct rpcrdma_message *cut,
                       size_t n)
{
    struct rpcrdma_write_iter a = rpcrdma_write_begin(&whole->write),
                              b = rpcrdma_write_begin(&cut->write);
    struct rpcrdma_chunk x, y;

    assert_int_equal(cut->present & ~whole->present, 0);
    if (cut->present & RPCRDMA_HAS_XID)
        assert_int_equal(cut->xid, whole->xid);
    assert_int_equal(!!(cut->present & RPCRDMA_HAS_XID), n >= 4);
    assert_int_equal(!!(cut->present & RPCRDMA_HAS_VERSION), n >= 8);
    assert_int_equal(!!(cut->present & RPCRDMA_HAS_CREDITS), n >= 12);
    assert_int_equal(!!(cut->present & RPCRDMA_HAS_TYPE), n >= 16);
    assert_int_equal(cut->call.count, reads_within(&whole->call, n));
    assert_int_equal(cut->read.count, reads_within(&whole->read, n));
    while (rpcrdma_write_next(&a, &x)) {
        if (x.off + 4 > n)
            break;
        assert_true(rpcrdma_write_next(&b, &y));
        assert_int_equal(y.off, x.off);
        assert_int_equal(y.declared, x.declared);
        assert_int_equal(y.count, segments_within(&x, n));
    }
    assert_false(rpcrdma_write_next(&b, &y));
    assert_int_equal(cut->reply.count, segments_within(&whole->reply, n));
}

static void check_truncated(const struct vector *v, unsigned char *bytes, size_t len)
{
    struct rpcrdma_message whole, cut;

    rpcrdma_message_decode(dialect_of(v), bytes, len, len, &whole);
    for (size_t n = 0; n < len; n++) {
        unsigned char *copy = heap_copy(bytes, n);
        enum rpcrdma_status status = rpcrdma_message_decode(dialect_of(v), copy, n, len, &cut);

        if (n >= whole.header_length) {
            assert_int_equal(status, RPCRDMA_OK);
            assert_int_equal(cut.header_length, whole.header_length);
            assert_int_equal(cut.payload.len, whole.payload.len);
            assert_int_equal(cut.payload.caplen, n - whole.header_length);
            assert_int_equal(cut.trailing, whole.trailing);
            assert_int_equal(cut.present, whole.present);
        } else {
            assert_int_equal(status, RPCRDMA_TRUNCATED);
            assert_true(cut.error_off <= n);
            assert_non_null(cut.what);
            assert_false(cut.present & RPCRDMA_HAS_HEADER_LENGTH);
            check_kept(&whole, &cut, n);
        }
        free(copy);
    }
}

static void test_truncated_at_every_byte(void **state)
{
    (void)state;
    for_each_vector_bytes(check_truncated);
}

static void check_short(const struct vector *v, unsigned char *bytes, size_t len)
{
    struct rpcrdma_message whole, cut;

    rpcrdma_message_decode(dialect_of(v), bytes, len, len, &whole);
    for (size_t n = 0; n < whole.header_length; n++) {
        unsigned char *copy = heap_copy(bytes, n);
        enum rpcrdma_status status = rpcrdma_message_decode(dialect_of(v), copy, n, n, &cut);

        /* Cut there, an ERR_VERS of the flags family is one of version 1, byte for byte. */
        if (n == 28 && v->want.kind == RPCRDMA_KIND_ERROR && v->want.flags == 1 &&
            v->want.error.code == 1) {
            assert_int_equal(status, RPCRDMA_OK);
            assert_false(cut.present & RPCRDMA_HAS_FLAGS);
        } else {
            if (status != RPCRDMA_MALFORMED)
                fail_msg("%s cut at %zu: status %d", v->name, n, status);
            assert_true(cut.error_off <= n);
            assert_non_null(cut.what);
            assert_false(cut.present & RPCRDMA_HAS_HEADER_LENGTH);
        }
        free(copy);
    }
}

static void test_short_at_every_byte(void **state)
{
    (void)state;
    for_each_vector_bytes(check_short);
}

/* Calls `check` with the offset of every count and length word, and the size of what it counts. */
static void for_each_count(const struct rpcrdma_message *m,
                           void (*check)(const struct rpcrdma_message *, uint32_t off,
                                         uint32_t size))
{
    const struct rpcrdma_propset *sets[] = {&m->properties, &m->want, &m->other, &m->now};
    const struct rpcrdma_words *words[] = {&m->nochg, &m->done, &m->rejected};
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk;

    while (rpcrdma_write_next(&it, &chunk))
        check(m, chunk.off, RPCRDMA_SEGMENT_SIZE);
    if (m->reply_present)
        check(m, m->reply.off, RPCRDMA_SEGMENT_SIZE);
    for (size_t i = 0; i < 4; i++) {
        struct rpcrdma_property_iter properties =
            rpcrdma_property_begin(sets[i], m->dialect, false);
        struct rpcrdma_property property;

        if (sets[i]->wire.data)
            check(m, sets[i]->wire.off - 4, 8);
        while (rpcrdma_property_next(&properties, &property))
            check(m, property.data.off - 4, 1);
    }
    for (size_t i = 0; i < 3; i++)
        if (words[i]->wire)
            check(m, words[i]->off, 4);
    if (m->present & RPCRDMA_HAS_OPTIONAL)
        check(m, m->optional.info.off - 4, 1);
}

static unsigned counts_checked;

static void check_count(const struct rpcrdma_message *m, uint32_t off, uint32_t size)
{
    uint32_t real = rpcrdma_get_be32(m->base + off);
    /* bytes are padded, so only a multiple of 4 of them fits */
    uint32_t fits = size == 1 ? (m->len - off - 4) & ~3u : (m->len - off - 4) / size;
    const uint32_t values[] = {0,         real - 1,   real + 1,   fits,
                               fits + 1,  0x10000000, 0x0fffffff, 0x20000001,
                               INT32_MAX, 0x80000000, UINT32_MAX, UINT32_MAX - 3};
    unsigned char *bytes = heap_copy(m->base, m->len);
    struct rpcrdma_message got;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        rpcrdma_put_be32(bytes + off, values[i]);
        rpcrdma_message_decode(m->dialect, bytes, m->len, m->len, &got);
        if (values[i] > fits) {
            assert_int_equal(got.status, RPCRDMA_MALFORMED);
            assert_int_equal(got.error_off, off);
        } else if (got.status != RPCRDMA_OK) {
            assert_int_equal(got.status, RPCRDMA_MALFORMED);
            assert_true(got.error_off <= m->len);
        }
        /* the same with only the count captured: still malformed, whatever is missing */
        unsigned char *copy = heap_copy(bytes, off + 4);
        rpcrdma_message_decode(m->dialect, copy, off + 4, m->len, &got);
        assert_int_equal(got.status, values[i] > fits ? RPCRDMA_MALFORMED : got.status);
        assert_int_not_equal(got.status == RPCRDMA_OK && got.header_length > off + 4, true);
        free(copy);
    }
    counts_checked++;
    free(bytes);
}

static void check_counts(const struct vector *v, unsigned char *bytes, size_t len)
{
    struct rpcrdma_message m;

    rpcrdma_message_decode(dialect_of(v), bytes, len, len, &m);
    for_each_count(&m, check_count);
}

static void test_every_count(void **state)
{
    (void)state;
    counts_checked = 0;
    for_each_vector_bytes(check_counts);
    assert_true(counts_checked > 100);
}

/* Padding is part of what a length asks for (RFC 4506 section 4.10). */
static void test_padding_must_fit(void **state)
{
    struct rpcrdma_message m;
    size_t len;
    unsigned char *bytes =
        unhex("11223344 00000002 00000080 00000005 00000007 00000005 0102030405", &len);

    (void)state;
    assert_int_equal(rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_CEL_00), bytes, len, len, &m),
                     RPCRDMA_MALFORMED);
    assert_int_equal(m.error_off, 20);
    assert_int_equal(m.optional.info.len, 5);
    assert_int_equal(m.optional.info.caplen, 0);
    free(bytes);
}

/* What a list says it has beyond what was captured is known: `declared`. */
static void test_malformed_count_is_told(void **state)
{
    size_t len;
    unsigned char *bytes = unhex("11223344 00000001 00000080 00000000 00000000"
                                 "00000001 00000001 0000b001 00000100 0000000000001000"
                                 "00000001 ffffffff 00000000 00000000",
                                 &len);
    struct rpcrdma_message m;
    struct rpcrdma_write_iter it;
    struct rpcrdma_chunk chunk;

    (void)state;
    assert_int_equal(rpcrdma_message_decode(NULL, bytes, len, len, &m), RPCRDMA_MALFORMED);
    assert_int_equal(m.error_off, 48);
    assert_string_equal(m.what, "segment count");
    it = rpcrdma_write_begin(&m.write);
    assert_true(rpcrdma_write_next(&it, &chunk));
    assert_int_equal(chunk.count, 1);
    assert_true(rpcrdma_write_next(&it, &chunk));
    assert_int_equal(chunk.declared, UINT32_MAX);
    assert_int_equal(chunk.count, 0);
    assert_false(rpcrdma_write_next(&it, &chunk));
    free(bytes);
}

/* A mapped file may be written to between the decoder and who iterates: what is read a second time
 * leads nowhere outside. The blocks are of their exact size, for ASan. */
static void test_count_that_changes(void **state)
{
    size_t len;
    unsigned char *bytes = unhex("11223344 00000001 00000080 00000000 00000000"
                                 "00000001 00000001 0000b001 00000100 0000000000001000"
                                 "00000001 00000001 0000b002 00000100 0000000000002000"
                                 "00000000 00000000",
                                 &len);
    struct rpcrdma_message m;
    struct rpcrdma_write_iter it;
    struct rpcrdma_chunk chunk;

    (void)state;
    assert_int_equal(rpcrdma_message_decode(NULL, bytes, len, len, &m), RPCRDMA_OK);
    it = rpcrdma_write_begin(&m.write);
    rpcrdma_put_be32(bytes + 24, UINT32_MAX);
    assert_true(rpcrdma_write_next(&it, &chunk));
    assert_int_equal(chunk.declared, UINT32_MAX);
    assert_int_equal(chunk.count, 2); /* whole segments up to the list's end */
    rpcrdma_chunk_segment(&chunk, chunk.count - 1);
    assert_true(rpcrdma_write_next(&it, &chunk));
    assert_int_equal(chunk.count, 0);
    assert_false(rpcrdma_write_next(&it, &chunk));
    free(bytes);
}

static void test_length_that_changes(void **state)
{
    size_t len;
    unsigned char *bytes = unhex("11223344 00000002 00000080 00000007 00000002"
                                 "00000001 00000004 00001000"
                                 "00000002 00000004 00002000",
                                 &len);
    struct rpcrdma_message m;
    struct rpcrdma_property property;
    struct rpcrdma_property_iter it;

    (void)state;
    assert_int_equal(rpcrdma_message_decode(NULL, bytes, len, len, &m), RPCRDMA_OK);
    for (uint32_t length = 0; length <= 32; length++) {
        it = rpcrdma_property_begin(&m.properties, m.dialect, false);
        rpcrdma_put_be32(bytes + 24, length < 32 ? length : UINT32_MAX);
        while (rpcrdma_property_next(&it, &property))
            assert_true(property.data.off + property.data.len <= len);
        assert_true(it.index <= 2);
    }
    free(bytes);
}

/* Changes the word at `off` to one that means the same to a receiver but is not canonical. */
static void check_noncanonical(const struct rpcrdma_message *m, uint32_t off, uint32_t word)
{
    unsigned char *bytes = heap_copy(m->base, m->len), *again = malloc(m->len);
    struct rpcrdma_message got;
    size_t written;

    rpcrdma_put_be32(bytes + off, word);
    assert_int_equal(rpcrdma_message_decode(m->dialect, bytes, m->len, m->len, &got), RPCRDMA_OK);
    assert_true(got.noncanonical);
    if (messages_differ(&got, m, difference, sizeof(difference)))
        fail_msg("%s", difference);
    assert_int_equal(rpcrdma_message_encode(&got, again, m->len, &written), RPCRDMA_OK);
    assert_int_equal(written, m->len);
    assert_memory_equal(again, m->base, m->len);
    free(bytes);
    free(again);
}

static void check_discriminators(const struct vector *v, unsigned char *bytes, size_t len)
{
    struct rpcrdma_message m;
    struct rpcrdma_read_iter reads[2];
    struct rpcrdma_read_segment segment;
    struct rpcrdma_write_iter writes;
    struct rpcrdma_chunk chunk;

    rpcrdma_message_decode(dialect_of(v), bytes, len, len, &m);
    reads[0] = rpcrdma_read_begin(&m.call);
    reads[1] = rpcrdma_read_begin(&m.read);
    for (size_t i = 0; i < 2; i++)
        while (rpcrdma_read_next(&reads[i], &segment))
            check_noncanonical(&m, reads[i].off - 4, 0x01000000);
    writes = rpcrdma_write_begin(&m.write);
    while (rpcrdma_write_next(&writes, &chunk))
        check_noncanonical(&m, chunk.off - 4, 2);
    if (m.reply_present)
        check_noncanonical(&m, m.reply.off - 4, UINT32_MAX);
    if (m.error.body == RPCRDMA_ERROR_CANT_REPLY)
        check_noncanonical(&m, 20, 2);
}

static void test_discriminators(void **state)
{
    (void)state;
    for_each_vector_bytes(check_discriminators);
}

static unsigned paddings_checked;

static void check_pad_of(const struct rpcrdma_message *m, uint32_t off, uint32_t size)
{
    uint32_t length = rpcrdma_get_be32(m->base + off), last = off + 4 + (length & ~3u);

    if (size != 1 || length % 4 == 0)
        return;
    check_noncanonical(m, last, rpcrdma_get_be32(m->base + last) | 1);
    paddings_checked++;
}

static void check_padding(const struct vector *v, unsigned char *bytes, size_t len)
{
    struct rpcrdma_message m;

    rpcrdma_message_decode(dialect_of(v), bytes, len, len, &m);
    for_each_count(&m, check_pad_of);
}

static void test_padding(void **state)
{
    (void)state;
    paddings_checked = 0;
    for_each_vector_bytes(check_padding);
    assert_true(paddings_checked > 10);
}

/* Bytes after a header are payload where the type has one, and should not be there elsewhere. */
static void check_trailing(const struct vector *v, unsigned char *bytes, size_t len)
{
    unsigned char *longer;
    struct rpcrdma_message m;
    bool payload;

    switch (v->want.kind) {
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_MIDDLE:
    case RPCRDMA_KIND_REPLY_INLINE:
    case RPCRDMA_KIND_OPTIONAL:
        payload = true;
        break;
    case RPCRDMA_KIND_MSGP: /* in cel-00 it is reserved, and void */
        payload = v->dialect == RPCRDMA_V1;
        break;
    default:
        payload = false;
    }
    longer = malloc(len + 4);
    memcpy(longer, bytes, len);
    memset(longer + len, 0xee, 4);
    rpcrdma_message_decode(dialect_of(v), longer, len + 4, len + 4, &m);
    assert_int_equal(m.status, RPCRDMA_OK);
    /* With 4 bytes more, two errors of the flags family are an ERR_VERS byte for byte: one without
     * arguments becomes one of version 1, and that one becomes one with a flags word. */
    if (!v->without_flags && !(v->want.kind == RPCRDMA_KIND_ERROR && v->want.flags && len == 24)) {
        assert_int_equal(m.trailing, !payload);
        assert_int_equal(!!(m.present & RPCRDMA_HAS_PAYLOAD), payload);
    }
    free(longer);
}

static void test_trailing(void **state)
{
    (void)state;
    for_each_vector_bytes(check_trailing);
}

/* RFC 8166 section 4.5.1: what answers a version that nobody knows bears that version. As long as
 * it may be such an ERR_VERS, what is not captured of it is truncated, not of a wrong version. */
static void test_unknown_version_cut(void **state)
{
    static const unsigned char bytes[28] = {
        0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2,
    };
    struct rpcrdma_message m;

    (void)state;
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        unsigned char *copy = heap_copy(bytes, n);

        rpcrdma_message_decode(NULL, copy, n, sizeof(bytes), &m);
        assert_int_equal(m.status, n < sizeof(bytes) ? RPCRDMA_TRUNCATED : RPCRDMA_OK);
        /* of another length it is none */
        rpcrdma_message_decode(NULL, copy, n, sizeof(bytes) + 4, &m);
        assert_int_equal(m.status, n < 8 ? RPCRDMA_TRUNCATED : RPCRDMA_MALFORMED);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_version_cut),
        cmocka_unit_test(test_truncated_at_every_byte),
        cmocka_unit_test(test_short_at_every_byte),
        cmocka_unit_test(test_every_count),
        cmocka_unit_test(test_malformed_count_is_told),
        cmocka_unit_test(test_count_that_changes),
        cmocka_unit_test(test_length_that_changes),
        cmocka_unit_test(test_padding_must_fit),
        cmocka_unit_test(test_discriminators),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_trailing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
