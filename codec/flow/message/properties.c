/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

#include "wire/property.h"
#include "wire/xchar.h"

/*
 * The transport properties in effect for each end: the defaults of the version, RFC 8797 private
 * data, version 2's properties (draft-ietf-nfsv4-rpcrdma-version-two-07 section 5) and
 * characteristics (draft-dnoveck-nfsv4-rpcrdma-xcharext-01).
 */

enum { SEND = 1, RECEIVE = 2, SEGMENT = 4, COUNT = 8, REVERSE = 16, INVALIDATE = 32 };

void flow_properties_default(struct flow_conn *conn)
{
    bool two = conn->pub.version == 2;

    for (int i = 0; i < 2; i++) {
        struct rpcrdma_properties *p = &conn->pub.properties[i];
        uint32_t known = conn->announced[i];

        /* RFC 8166 section 3.3.2; ietf-07 section 5.2 */
        if (!(known & SEND))
            p->send_size = two ? 4096 : 1024;
        if (!(known & RECEIVE))
            p->receive_size = two ? 4096 : 1024;
        if (!(known & SEGMENT))
            p->segment_size = two ? 1048576 : 0;
        if (!(known & COUNT))
            p->segment_count = two ? 16 : 0;
        if (!(known & REVERSE))
            p->reverse_direction = 0;
    }
    flow_conn_thresholds(conn);
}

void flow_private_data(struct flow_conn *conn, int end, const struct rpcrdma_op *op)
{
    const struct rpcrdma_op_connect *c = op->connect;
    struct rpcrdma_private_data pd;
    struct rpcrdma_properties *p = &conn->pub.properties[end];

    conn->pub.set_up_seen[end] =
        c && c->private_caplen == c->private_len && !(op->flags & RPCRDMA_OP_TRUNCATED);
    if (c && c->private_data &&
        rpcrdma_private_data_find(c->private_data, c->private_caplen, c->private_len, &pd) ==
            RPCRDMA_OK) {
        conn->pub.has_private_data[end] = true;
        conn->pub.private_data[end] = pd;
        conn->set_up_frame[end] = op->frame;
        if (pd.version == RPCRDMA_PRIVATE_DATA_VERSION) {
            p->send_size = pd.send_size;
            p->receive_size = pd.receive_size;
            p->remote_invalidation = (pd.flags & RPCRDMA_PRIVATE_DATA_F_INVALIDATE) != 0;
            p->announced = true;
            conn->announced[end] |= SEND | RECEIVE | INVALIDATE;
        }
    }
    flow_properties_default(conn);
}

/* Reverse-direction support, in the values of ietf-07: none, simple, continued, general. */
static uint32_t reverse_level(const struct rpcrdma_dialect *dialect, bool xchar, uint32_t value)
{
    static const uint32_t of_xchar[] = {0, 0, 1, 3}; /* unknown, none, size-limited, general */
    static const uint32_t of_enum[] = {0, 1, 3};     /* up to ietf-00: none, inline, general */

    if (xchar)
        return value < 4 ? of_xchar[value] : value;
    if (dialect->id <= RPCRDMA_IETF_00)
        return value < 3 ? of_enum[value] : value;
    return value;
}

static void set(struct flow_conn *conn, int end, const struct rpcrdma_dialect *dialect, bool xchar,
                const struct flow_property *property)
{
    struct rpcrdma_properties *p = &conn->pub.properties[end];
    uint32_t value = property->value, bit = 0;

    switch (property->kind) {
    case RPCRDMA_PROPERTY_SBSIZ:
        p->send_size = value;
        bit = SEND;
        break;
    case RPCRDMA_PROPERTY_RBSIZ:
        p->receive_size = value;
        bit = RECEIVE;
        break;
    case RPCRDMA_PROPERTY_RSSIZ:
        p->segment_size = value;
        bit = SEGMENT;
        break;
    case RPCRDMA_PROPERTY_RCSIZ:
        p->segment_count = value;
        bit = COUNT;
        break;
    case RPCRDMA_PROPERTY_BRS:
        p->reverse_direction = reverse_level(dialect, xchar, value);
        bit = REVERSE;
        break;
    case RPCRDMA_PROPERTY_RRI:
        p->remote_invalidation = value != 0;
        bit = INVALIDATE;
        break;
    default:
        return;
    }
    conn->announced[end] |= bit;
    p->announced = true;
}

/* What is known of a property's value. False: it changes nothing. */
static bool value_of(const struct rpcrdma_property *in, struct flow_property *out)
{
    if (!in->desc)
        return false;
    out->kind = in->desc->kind;
    switch (in->state) {
    case RPCRDMA_PROPERTY_VALUE:
    case RPCRDMA_PROPERTY_BOOL:
        out->value = in->value;
        return true;
    case RPCRDMA_PROPERTY_DEFAULT:
        out->value = in->desc->default_value;
        return in->desc->has_default;
    default:
        return false;
    }
}

/* header_check.c says what is wrong with it. */
static bool has_bad(const struct rpcrdma_propset *props, const struct rpcrdma_dialect *dialect)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(props, dialect, false);
    struct rpcrdma_property property;

    while (rpcrdma_property_next(&it, &property))
        if (property.state == RPCRDMA_PROPERTY_BAD)
            return true;
    return false;
}

static void apply(struct flow_conn *conn, int end, const struct rpcrdma_propset *props,
                  const struct rpcrdma_dialect *dialect, bool xchar)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(props, dialect, xchar);
    struct rpcrdma_property property;
    struct flow_property value;

    while (rpcrdma_property_next(&it, &property))
        if (value_of(&property, &value))
            set(conn, end, dialect, xchar, &value);
}

/* Keeps what `end` asks the other to change to, until the answer with its XID. */
static void remember(struct flow_conn *conn, int end, uint32_t xid,
                     const struct rpcrdma_propset *want, const struct rpcrdma_dialect *dialect,
                     bool xchar)
{
    struct flow_wanted *w = &conn->wanted[end];
    struct rpcrdma_property_iter it = rpcrdma_property_begin(want, dialect, xchar);
    struct rpcrdma_property property;

    *w = (struct flow_wanted){.set = true, .xid = xid};
    while (w->count < FLOW_WANTED && rpcrdma_property_next(&it, &property)) {
        w->known[w->count] = value_of(&property, &w->property[w->count]);
        w->count++;
    }
}

/* `end` answers what the other wanted: what it has done is in effect for it. */
static void answer(struct flow_conn *conn, int end, uint32_t xid, const struct rpcrdma_words *done,
                   const struct rpcrdma_dialect *dialect, bool xchar)
{
    struct flow_wanted *w = &conn->wanted[1 - end];

    if (!w->set || w->xid != xid)
        return;
    for (uint32_t i = 0; i < w->count; i++)
        if (w->known[i] && rpcrdma_subset_has(done, i))
            set(conn, end, dialect, xchar, &w->property[i]);
    w->set = false;
}

static void characteristics(struct flow_conn *conn, int end, const struct rpcrdma_message *m)
{
    struct rpcrdma_xchar x;

    if (!rpcrdma_xchar_decode(m, &x) || x.status != RPCRDMA_OK)
        return;
    switch (x.type) {
    case RPCRDMA_XCHAR_INIT:
        apply(conn, end, &x.start, m->dialect, true);
        break;
    case RPCRDMA_XCHAR_REQ:
        remember(conn, end, m->xid, &x.want, m->dialect, true);
        break;
    case RPCRDMA_XCHAR_RESP:
        answer(conn, end, m->xid, &x.done, m->dialect, true);
        break;
    case RPCRDMA_XCHAR_UPD:
        apply(conn, end, &x.now, m->dialect, true);
        break;
    default:
        break;
    }
}

void flow_properties(struct flow_conn *conn, int end, const struct rpcrdma_message *m)
{
    const struct rpcrdma_dialect *d = m->dialect;

    if (m->status == RPCRDMA_MALFORMED)
        return;
    switch (m->kind) {
    case RPCRDMA_KIND_CONNPROP:
    case RPCRDMA_KIND_CONNPROP_MIDDLE:
    case RPCRDMA_KIND_CONNPROP_FINAL:
        /* ietf-07 section 7.2.2: nothing of a message with a bad property is applied */
        if (d->id != RPCRDMA_IETF_07 || !has_bad(&m->properties, d))
            apply(conn, end, &m->properties, d, false);
        break;
    case RPCRDMA_KIND_REQPROP:
        remember(conn, end, m->xid, &m->want, d, false);
        break;
    case RPCRDMA_KIND_RESPROP:
        answer(conn, end, m->xid, &m->done, d, false);
        apply(conn, end, &m->other, d, false);
        break;
    case RPCRDMA_KIND_UPDPROP:
        apply(conn, end, &m->now, d, false);
        break;
    case RPCRDMA_KIND_OPTIONAL:
        characteristics(conn, end, m);
        break;
    default:
        return;
    }
    flow_conn_thresholds(conn);
}
