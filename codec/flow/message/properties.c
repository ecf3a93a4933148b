/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "wire/property.h"
#include "wire/xchar.h"

/* Transport properties in messages: version 2's (draft-ietf-nfsv4-rpcrdma-version-two-07 section 5)
 * and characteristics (draft-dnoveck-nfsv4-rpcrdma-xcharext-01). */

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
                const struct message_property *property)
{
    uint32_t value = property->value;

    switch (property->kind) {
    case RPCRDMA_PROPERTY_SBSIZ:
        flow_conn_announces(conn, end, FLOW_ANNOUNCES_SEND_SIZE, value);
        break;
    case RPCRDMA_PROPERTY_RBSIZ:
        flow_conn_announces(conn, end, FLOW_ANNOUNCES_RECEIVE_SIZE, value);
        break;
    case RPCRDMA_PROPERTY_RSSIZ:
        flow_conn_announces(conn, end, FLOW_ANNOUNCES_SEGMENT_SIZE, value);
        break;
    case RPCRDMA_PROPERTY_RCSIZ:
        flow_conn_announces(conn, end, FLOW_ANNOUNCES_SEGMENT_COUNT, value);
        break;
    case RPCRDMA_PROPERTY_BRS:
        flow_conn_announces(conn, end, FLOW_ANNOUNCES_REVERSE,
                            reverse_level(dialect, xchar, value));
        break;
    case RPCRDMA_PROPERTY_RRI:
        flow_conn_announces(conn, end, FLOW_ANNOUNCES_INVALIDATION, value);
        break;
    default:
        break;
    }
}

/* What is known of a property's value. False: it changes nothing. */
static bool value_of(const struct rpcrdma_property *in, struct message_property *out)
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

bool message_bad_property(const struct rpcrdma_propset *props,
                          const struct rpcrdma_dialect *dialect)
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
    struct message_property value;

    while (rpcrdma_property_next(&it, &property))
        if (value_of(&property, &value))
            set(conn, end, dialect, xchar, &value);
}

/* Keeps what `end` asks the other to change to, until the answer with its XID. */
static void remember(struct flow_messages *messages, struct flow_conn *conn, int end, uint32_t xid,
                     const struct rpcrdma_propset *want, const struct rpcrdma_dialect *dialect,
                     bool xchar)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(want, dialect, xchar);
    struct message_extra *extra = message_extra(messages, conn);
    struct rpcrdma_property property;
    struct message_wanted *w;

    if (!extra)
        return;
    w = &extra->wanted[end];
    *w = (struct message_wanted){.set = true, .xid = xid};
    while (w->count < MESSAGE_WANTED && rpcrdma_property_next(&it, &property)) {
        w->known[w->count] = value_of(&property, &w->property[w->count]);
        w->count++;
    }
}

/* `end` answers what the other wanted: what it has done is in effect for it. */
static void respond(struct flow_conn *conn, int end, uint32_t xid, const struct rpcrdma_words *done,
                    const struct rpcrdma_dialect *dialect, bool xchar)
{
    struct message_extra *extra = message_conn_of(conn)->extra;
    struct message_wanted *w = extra ? &extra->wanted[1 - end] : NULL;

    if (!w || !w->set || w->xid != xid)
        return;
    for (uint32_t i = 0; i < w->count; i++)
        if (w->known[i] && rpcrdma_subset_has(done, i))
            set(conn, end, dialect, xchar, &w->property[i]);
    w->set = false;
}

static void characteristics(struct flow_messages *messages, struct flow_conn *conn, int end,
                            const struct rpcrdma_message *m)
{
    struct rpcrdma_xchar x;

    if (!rpcrdma_xchar_decode(m, &x) || x.status != RPCRDMA_OK)
        return;
    switch (x.type) {
    case RPCRDMA_XCHAR_INIT:
        apply(conn, end, &x.start, m->dialect, true);
        break;
    case RPCRDMA_XCHAR_REQ:
        remember(messages, conn, end, m->xid, &x.want, m->dialect, true);
        break;
    case RPCRDMA_XCHAR_RESP:
        respond(conn, end, m->xid, &x.done, m->dialect, true);
        break;
    case RPCRDMA_XCHAR_UPD:
        apply(conn, end, &x.now, m->dialect, true);
        break;
    default:
        break;
    }
}

void message_properties(struct flow_messages *messages, struct flow_conn *conn, int end,
                        const struct rpcrdma_message *m)
{
    const struct rpcrdma_dialect *d = m->dialect;

    if (m->status == RPCRDMA_MALFORMED)
        return;
    switch (m->kind) {
    case RPCRDMA_KIND_CONNPROP:
    case RPCRDMA_KIND_CONNPROP_MIDDLE:
    case RPCRDMA_KIND_CONNPROP_FINAL:
        /* ietf-07 section 7.2.2: nothing of a message with a bad property is applied */
        if (d->id != RPCRDMA_IETF_07 || !message_bad_property(&m->properties, d))
            apply(conn, end, &m->properties, d, false);
        break;
    case RPCRDMA_KIND_REQPROP:
        remember(messages, conn, end, m->xid, &m->want, d, false);
        break;
    case RPCRDMA_KIND_RESPROP:
        respond(conn, end, m->xid, &m->done, d, false);
        apply(conn, end, &m->other, d, false);
        break;
    case RPCRDMA_KIND_UPDPROP:
        apply(conn, end, &m->now, d, false);
        break;
    case RPCRDMA_KIND_OPTIONAL:
        characteristics(messages, conn, end, m);
        break;
    default:
        return;
    }
    flow_conn_thresholds(conn);
}
