/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/xchar.h"

#include <assert.h>

#include "wire/xdr.h"

/*
 * draft-dnoveck-nfsv4-rpcrdma-xcharext-01 section 5.2, with its typedefs the right way round:
 *
 *     INIT_XCHAR (1)   xcharspec start, xcharsubset nochg
 *     REQ_XCHAR (2)    xcharspec want
 *     RESP_XCHAR (3)   xcharsubset done, xcharsubset rej, xcharsubset pend
 *     UPD_XCHAR (4)    xcharval now, bool pendclr
 *
 *     xcharval         uint32 id, opaque data<>
 *     xcharspec        uint32 count, xcharval[count]
 *     xcharsubset      uint32 count, uint32[count]
 */

/* Section 3, table 1. Its text calls BKRQSUP_UNKNOWN "typically in effect as a default"; the table,
 * which is followed here, says BKRQSUP_SZLIM (2). */
static const struct rpcrdma_property_desc xchar_properties[] = {
    {1, "Receive Buffer Size", "XCHAR_RBSIZ", RPCRDMA_PROPERTY_RBSIZ, RPCRDMA_PROPERTY_TYPE_UINT32,
     UINT32_MAX, true, 4096},
    {2, "Requester Remote Invalidation", "XCHAR_RQREMINV", RPCRDMA_PROPERTY_RRI,
     RPCRDMA_PROPERTY_TYPE_BOOL, 1, true, 0},
    {3, "Backward Request Support", "XCHAR_BRS", RPCRDMA_PROPERTY_BRS, RPCRDMA_PROPERTY_TYPE_ENUM,
     3, true, 2},
};

const struct rpcrdma_property_desc *rpcrdma_xchar_property(uint32_t id)
{
    return id >= 1 && id <= 3 ? &xchar_properties[id - 1] : NULL;
}

const char *rpcrdma_xchar_name(uint32_t opttype)
{
    switch (opttype) {
    case RPCRDMA_XCHAR_INIT:
        return "INIT_XCHAR";
    case RPCRDMA_XCHAR_REQ:
        return "REQ_XCHAR";
    case RPCRDMA_XCHAR_RESP:
        return "RESP_XCHAR";
    case RPCRDMA_XCHAR_UPD:
        return "UPD_XCHAR";
    default:
        return NULL;
    }
}

static void read_set(struct rpcrdma_cursor *c, struct rpcrdma_xchar *x, uint32_t bit,
                     struct rpcrdma_propset *out)
{
    if (rpcrdma_read_propset(c, out, &x->noncanonical))
        x->present |= bit;
}

static void read_subset(struct rpcrdma_cursor *c, struct rpcrdma_xchar *x, uint32_t bit,
                        struct rpcrdma_words *out)
{
    if (rpcrdma_read_words(c, out))
        x->present |= bit;
}

static void read_update(struct rpcrdma_cursor *c, struct rpcrdma_xchar *x)
{
    const uint8_t *p;
    uint32_t word;

    rpcrdma_read_property(c, &x->now, &x->noncanonical);
    if (x->now.count)
        x->present |= RPCRDMA_XCHAR_HAS_NOW;
    p = rpcrdma_cursor_take(c, 4, "pendclr");
    if (!p)
        return;
    word = rpcrdma_get_be32(p);
    x->pendclr = word;
    x->noncanonical |= word > 1;
    x->present |= RPCRDMA_XCHAR_HAS_PENDCLR;
}

bool rpcrdma_xchar_decode(const struct rpcrdma_message *msg, struct rpcrdma_xchar *out)
{
    const struct rpcrdma_span *info = &msg->optional.info;
    struct rpcrdma_cursor c;

    if (!msg->dialect->xchar || !(msg->present & RPCRDMA_HAS_OPTIONAL) ||
        !rpcrdma_xchar_name(msg->optional.type))
        return false;
    *out = (struct rpcrdma_xchar){.type = msg->optional.type};
    c = rpcrdma_cursor_init(msg->base, msg->caplen, msg->len);
    if (info->off == 0) /* not even its length was readable */
        rpcrdma_cursor_fail(&c, msg->status, msg->error_off, msg->what);
    rpcrdma_cursor_skip(&c, info->off, "optional data");
    c = rpcrdma_cursor_sub(&c, info->len, "optional data");

    switch (msg->optional.type) {
    case RPCRDMA_XCHAR_INIT:
        read_set(&c, out, RPCRDMA_XCHAR_HAS_START, &out->start);
        read_subset(&c, out, RPCRDMA_XCHAR_HAS_NOCHG, &out->nochg);
        break;
    case RPCRDMA_XCHAR_REQ:
        read_set(&c, out, RPCRDMA_XCHAR_HAS_WANT, &out->want);
        break;
    case RPCRDMA_XCHAR_RESP:
        read_subset(&c, out, RPCRDMA_XCHAR_HAS_DONE, &out->done);
        read_subset(&c, out, RPCRDMA_XCHAR_HAS_REJ, &out->rej);
        read_subset(&c, out, RPCRDMA_XCHAR_HAS_PEND, &out->pend);
        break;
    case RPCRDMA_XCHAR_UPD:
        read_update(&c, out);
        break;
    }
    out->trailing = c.status == RPCRDMA_OK && rpcrdma_cursor_left(&c) > 0;
    out->status = c.status;
    out->error_off = (uint32_t)c.error_off;
    out->what = c.what;
    return true;
}

enum rpcrdma_status rpcrdma_xchar_encode(const struct rpcrdma_xchar *xchar, void *buf, size_t size,
                                         size_t *written)
{
    struct rpcrdma_writer w = rpcrdma_writer_init(buf, size);

    *written = 0;
    switch (xchar->type) {
    case RPCRDMA_XCHAR_INIT:
        rpcrdma_write_propset(&w, &xchar->start);
        rpcrdma_write_words(&w, &xchar->nochg);
        break;
    case RPCRDMA_XCHAR_REQ:
        rpcrdma_write_propset(&w, &xchar->want);
        break;
    case RPCRDMA_XCHAR_RESP:
        rpcrdma_write_words(&w, &xchar->done);
        rpcrdma_write_words(&w, &xchar->rej);
        rpcrdma_write_words(&w, &xchar->pend);
        break;
    case RPCRDMA_XCHAR_UPD:
        assert(xchar->now.count == 1);
        rpcrdma_write_properties(&w, &xchar->now);
        rpcrdma_writer_be32(&w, xchar->pendclr);
        break;
    default:
        return RPCRDMA_MALFORMED;
    }
    return rpcrdma_writer_end(&w, written);
}
