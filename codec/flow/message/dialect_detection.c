/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "wire/cursor.h"
#include "wire/xchar.h"

/*
 * Which of version 2's wire formats a connection speaks. Every format starts as a candidate; each
 * message leaves those that explain it best: the layout consumes it exactly, a payload starts with
 * the header's XID, flags and properties are ones the format has. Types 10 to 13 so decide ietf-07,
 * 0 and 1 exclude it. An ERR_VERS may come from a version 1 peer and decides nothing.
 */

#define ALL_V2 ((1u << RPCRDMA_DIALECT_COUNT) - (1u << RPCRDMA_CEL_00))
/* These differ in RDMA2_GRANT, which is in a capture or not, and in what credits mean. */
#define GRANT_OR_NOT (1u << RPCRDMA_IETF_01 | 1u << RPCRDMA_IETF_02)

enum {
    LATER_MESSAGES = 64, /* looked at once the choice is settled */
    TYPE_ERROR = 4,      /* in every version */
    /* such credits decide; receives are posted several at a time, and grants may grow at first */
    KEPT = 12,
    GROWN = 5,
};

enum rank {
    IMPOSSIBLE,
    ODD,      /* can be read so, but not as it should be */
    UNKNOWN,  /* of a type that only another format has, or that cannot be read to its end */
    POSSIBLE, /* what would show it was not captured, or is not there */
    EXACT,
    RANKS,
};

/* A message that continues another's payload does not start with the XID. */
static enum rank payload_rank(const struct rpcrdma_message *m, bool may_continue)
{
    const struct rpcrdma_span *payload = &m->payload;

    if (m->trailing)
        return IMPOSSIBLE;
    switch (m->kind) {
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_MIDDLE:
    case RPCRDMA_KIND_REPLY_INLINE:
        break;
    default:
        return EXACT;
    }
    if (payload->caplen >= 4 && rpcrdma_get_be32(payload->data) == m->xid)
        return EXACT;
    return may_continue || (payload->len >= 4 && payload->caplen < 4) ? POSSIBLE : IMPOSSIBLE;
}

static bool unknown_flags(const struct rpcrdma_message *m)
{
    const struct rpcrdma_dialect *d = m->dialect;
    uint32_t known = d->flag_response;

    if (!(m->present & RPCRDMA_HAS_FLAGS))
        return false;
    if (m->kind == RPCRDMA_KIND_MSG || m->kind == RPCRDMA_KIND_NOMSG)
        known |= d->flag_more;
    if (m->kind == RPCRDMA_KIND_CONNPROP)
        known |= d->flag_tpmore;
    return (m->flags & ~known) != 0;
}

static enum rank rank_of(const struct rpcrdma_dialect *dialect, const struct flow_send *send,
                         bool may_continue)
{
    struct rpcrdma_message m;
    struct rpcrdma_xchar xchar;
    enum rank rank;
    enum rpcrdma_status status =
        rpcrdma_message_decode(dialect, send->data, send->caplen, send->len, &m);

    if (status == RPCRDMA_MALFORMED)
        return IMPOSSIBLE;
    rank = status == RPCRDMA_TRUNCATED ? POSSIBLE : payload_rank(&m, may_continue);
    if (rank == IMPOSSIBLE)
        return IMPOSSIBLE;
    if (m.noncanonical || unknown_flags(&m) ||
        (m.present & RPCRDMA_HAS_DIRECTION && m.direction > 1) ||
        (m.present & RPCRDMA_HAS_ERROR && !rpcrdma_dialect_error(dialect, m.error.code)) ||
        message_bad_property(&m.properties, dialect) || message_bad_property(&m.want, dialect) ||
        message_bad_property(&m.now, dialect))
        return ODD;
    if (status != RPCRDMA_OK || m.kind != RPCRDMA_KIND_OPTIONAL ||
        !rpcrdma_xchar_name(m.optional.type))
        return rank;
    /* the xchar messages were written for cel-01; elsewhere their types are just unknown ones,
     * which is no better than one that is malformed */
    if (!rpcrdma_xchar_decode(&m, &xchar) || xchar.status != RPCRDMA_OK || xchar.trailing)
        return UNKNOWN;
    return xchar.noncanonical ? ODD : rank;
}

/* By version 1's layout, which all share. */
static bool is_err_vers(const struct flow_send *send)
{
    return send->len == 28 && send->caplen >= 20 &&
           rpcrdma_get_be32(send->data + 12) == TYPE_ERROR &&
           rpcrdma_get_be32(send->data + 16) == 1;
}

static uint32_t best(uint32_t candidates, const struct flow_send *send, bool may_continue)
{
    uint32_t at[RANKS] = {0};

    for (int id = RPCRDMA_CEL_00; id < RPCRDMA_DIALECT_COUNT; id++)
        if (candidates & 1u << id)
            at[rank_of(rpcrdma_dialect((enum rpcrdma_dialect_id)id), send, may_continue)] |= 1u
                                                                                             << id;
    for (int rank = EXACT; rank > IMPOSSIBLE; rank--)
        if (at[rank])
            return at[rank];
    return candidates; /* what none explains decides nothing */
}

static bool single(uint32_t mask)
{
    return (mask & (mask - 1)) == 0;
}

/* A counter moves on when messages were sent (ietf-07 section 4.2.1); what an end grants of Calls
 * stays mostly what it is. */
static uint32_t by_credits(struct message_extra *extra, int sender, const struct flow_send *send,
                           uint32_t mask)
{
    uint32_t credits = rpcrdma_get_be32(send->data + 8), last = extra->last_credits[sender];
    bool follows = extra->sent_since[sender];

    extra->last_credits[sender] = credits;
    extra->sent_since[sender] = false;
    extra->sent_since[1 - sender] = true;
    if (!follows)
        return mask;
    if (credits == last && extra->credits_kept[sender] < KEPT)
        extra->credits_kept[sender]++;
    else if (credits != last)
        extra->credits_kept[sender] = 0;
    if (credits != last && credits - last < UINT32_MAX / 2 && extra->credits_grown < GROWN)
        extra->credits_grown++;
    if (extra->credits_kept[sender] == KEPT)
        return mask & ~(1u << RPCRDMA_IETF_02);
    return extra->credits_grown == GROWN ? mask & ~(1u << RPCRDMA_IETF_01) : mask;
}

/* The format to decode by: the latest of those left, but not one that only a message which was not
 * seen would show. */
static const struct rpcrdma_dialect *latest(uint32_t mask)
{
    int id = RPCRDMA_IETF_07;

    if ((mask & GRANT_OR_NOT) == GRANT_OR_NOT)
        mask &= ~(1u << RPCRDMA_IETF_02);
    while (id > RPCRDMA_CEL_00 && !(mask & 1u << id))
        id--;
    return rpcrdma_dialect((enum rpcrdma_dialect_id)id);
}

const struct rpcrdma_dialect *message_dialect_likely(const struct flow_messages *messages,
                                                     const struct flow_conn *conn)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

    if (pub->dialect)
        return pub->dialect;
    return pub->dialects ? latest(pub->dialects) : messages->dialect;
}

void flow_message_decode(const struct rpcrdma_dialect *dialect, const void *data, size_t caplen,
                         size_t len, struct rpcrdma_message *out)
{
    const struct rpcrdma_dialect *version1 = rpcrdma_dialect(RPCRDMA_V1);

    rpcrdma_message_decode(dialect, data, caplen, len, out);
    if (dialect != version1 || out->version != 2)
        return;
    /* A stray version word: cel-00 has version 1's layout, and is not what this is. */
    rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_CEL_00), data, caplen, len, out);
    out->dialect = version1;
}

RPCRDMA_RARE static void of_version_2(struct flow_messages *messages, struct flow_conn *conn,
                                      const struct flow_direction *dir,
                                      const struct flow_send *send)
{
    int sender = 1 - dir->index;
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct message_conn *mc = message_conn_of(conn);
    uint32_t xid, mask = pub->dialects;
    struct message_extra *extra;
    bool may_continue;

    if (messages->dialect) {
        pub->dialect = messages->dialect;
        pub->dialects = 1u << messages->dialect->id;
        return;
    }
    if (mask == 0)
        mask = ALL_V2;
    else if (single(mask) || mc->chosen_after > LATER_MESSAGES)
        return;
    if (pub->dialect)
        mc->chosen_after++;
    xid = rpcrdma_get_be32(send->data);
    may_continue = mc->has_last_xid[sender] && mc->last_xid[sender] == xid;
    mc->last_xid[sender] = xid;
    mc->has_last_xid[sender] = true;
    if (!is_err_vers(send))
        mask = best(mask, send, may_continue);
    extra = (mask & GRANT_OR_NOT) == GRANT_OR_NOT ? message_extra(messages, conn) : NULL;
    if (extra && !is_err_vers(send))
        mask = by_credits(extra, sender, send, mask);
    pub->dialects = mask;
    if (single(mask)) {
        pub->dialect = latest(mask);
        flow_conn_wait_over(messages->conns, conn, FLOW_WAIT_DIALECT);
    } else if (!pub->dialect) {
        flow_conn_wait(conn, FLOW_WAIT_DIALECT);
    } else if (!(mask & 1u << pub->dialect->id)) {
        pub->dialect = latest(mask);
    }
}

/* They fell back to version 1: nothing more will show it. */
RPCRDMA_RARE static void fell_back(struct flow_messages *messages, struct flow_conn *conn)
{
    flow_message_settle(messages, conn);
    flow_conn_wait_over(messages->conns, conn, FLOW_WAIT_DIALECT);
}

/* What of_version_2 would find out is known. */
RPCRDMA_APART static bool version_2_decided(const struct flow_messages *messages,
                                            struct flow_conn *conn)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

    if (message_version_settled(conn))
        return true;
    if (messages->dialect)
        return pub->dialect == messages->dialect && pub->dialects == 1u << messages->dialect->id;
    return pub->dialects != 0 &&
           (single(pub->dialects) || message_conn_of(conn)->chosen_after > LATER_MESSAGES);
}

RPCRDMA_HOT bool flow_message_decided(const struct flow_messages *messages, struct flow_conn *conn,
                                      const struct rpcrdma_op *op)
{
    return op->caplen < 16 || rpcrdma_get_be32(op->data + 4) == 1 ||
           (rpcrdma_get_be32(op->data + 4) == 2 && version_2_decided(messages, conn));
}

void flow_message_evidence(struct flow_messages *messages, struct flow_conn *conn,
                           const struct flow_direction *dir, const struct flow_send *send)
{
    uint32_t version = send->caplen < 16 ? 0 : rpcrdma_get_be32(send->data + 4);

    if (version == 1 && flow_conn_waiting(conn) & FLOW_WAIT_DIALECT &&
        rpcrdma_get_be32(send->data + 12) != TYPE_ERROR)
        fell_back(messages, conn);
    if (version == 2 && !message_version_settled(conn))
        of_version_2(messages, conn, dir, send);
}

void flow_message_settle(struct flow_messages *messages, struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);

    if (pub->dialects == 0 || pub->dialect)
        return;
    pub->dialect = latest(pub->dialects);
    if (!single(pub->dialects)) {
        flow_conn_number(messages->conns, conn); /* before its first message */
        flow_report(messages->context, pub,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_DIALECT_UNDECIDED,
                                              .frame = messages->context->frame,
                                              .offset = -1,
                                              .arg = {pub->dialects},
                                              .what = pub->dialect->name});
    }
}
