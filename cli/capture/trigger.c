/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/trigger.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/bounded_text.h"
#include "common/plural.h"
#include "common/times.h"
#include "filter/message_values.h"
#include "out/connection.h"
#include "rpcs/details.h"

enum {
    DIRECTIONS = 4096,  /* at their limit at the same time; further ones are not looked at */
    LOOK_NS = 10000000, /* between two looks at them, */
    LOOK_AT = 16,       /* and a packet for each so many of them: times are what a capture says */
};

/* One direction of RPC, at its credit limit. */
struct at_limit {
    struct rpcrdma_address client, server;
    uint32_t connection, granted, limit;
    uint64_t in_flight;
    int64_t from_ns;
    bool told; /* it met the expression; once is enough */
};

/* Of a connection and of credits only what is known while they last. */
static bool known_in_time(enum rpcrdma_field_id id)
{
    switch (id) {
    case RPCRDMA_FIELD_CONNECTIONS_STATE:
    case RPCRDMA_FIELD_CONNECTIONS_REQUESTS:
    case RPCRDMA_FIELD_CONNECTIONS_END_HOW:
    case RPCRDMA_FIELD_CONNECTIONS_END_BY:
    case RPCRDMA_FIELD_CONNECTIONS_END_REASON:
    case RPCRDMA_FIELD_CONNECTIONS_PREVIOUS:
    case RPCRDMA_FIELD_CONNECTIONS_DOWN:
    case RPCRDMA_FIELD_CONNECTIONS_PATH_RETRANSMITTED:
    case RPCRDMA_FIELD_CONNECTIONS_PATH_LOST:
    case RPCRDMA_FIELD_CONNECTIONS_PATH_DUPLICATED:
    case RPCRDMA_FIELD_CONNECTIONS_PATH_REORDERED:
    case RPCRDMA_FIELD_CONNECTIONS_PATH_TIMEOUTS:
    case RPCRDMA_FIELD_CREDIT_GRANTED:
    case RPCRDMA_FIELD_CREDIT_LIMIT:
    case RPCRDMA_FIELD_CREDIT_IN_FLIGHT:
    case RPCRDMA_FIELD_CREDIT_AT_LIMIT:
    case RPCRDMA_FIELD_CREDITS_AT_LIMIT:
        return true;
    default:
        return false;
    }
}

const char *capture_trigger_unknown(const struct filter *filter)
{
    for (int i = 0; i < RPCRDMA_FIELD_COUNT; i++) {
        enum rpcrdma_field_id id = (enum rpcrdma_field_id)i;
        enum rpcrdma_record_id of = rpcrdma_field(id)->record;

        if (filter_needs(filter, id) && !known_in_time(id) &&
            (of == RPCRDMA_RECORD_CONNECTIONS || of == RPCRDMA_RECORD_CONNECTIONS_END ||
             of == RPCRDMA_RECORD_CONNECTIONS_PATH || of == RPCRDMA_RECORD_CREDIT ||
             of == RPCRDMA_RECORD_CREDITS_ENTRY))
            return rpcrdma_field(id)->abbrev;
    }
    return NULL;
}

void capture_trigger_begin(struct capture_trigger *trigger, size_t memory)
{
    trigger->details = details_new(memory);
    trigger->at_limit = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    trigger->waiting = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    trigger->still = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
}

void capture_trigger_end(struct capture_trigger *trigger)
{
    details_free(trigger->details);
    if (!trigger->at_limit)
        return;
    g_hash_table_destroy(trigger->at_limit);
    g_hash_table_destroy(trigger->waiting);
    g_hash_table_destroy(trigger->still);
}

static const struct rpcrdma_address *address_of(const struct rpcrdma_connection *c,
                                                enum rpcrdma_role role)
{
    for (int end = 0; end < 2; end++)
        if (c->role[end] == role)
            return &c->end[end].address;
    return NULL;
}

/* What every object has that belongs to a connection. */
static void fill_connection(struct filter *f, const struct rpcrdma_connection *c)
{
    const struct rpcrdma_address *client, *server;

    if (!c)
        return;
    client = address_of(c, RPCRDMA_ROLE_CLIENT);
    server = address_of(c, RPCRDMA_ROLE_SERVER);
    filter_number(f, RPCRDMA_FIELD_RPCS_CONNECTION, c->number, NULL);
    if (client)
        filter_address(f, RPCRDMA_FIELD_RPCS_CLIENT, client);
    if (server)
        filter_address(f, RPCRDMA_FIELD_RPCS_SERVER, server);
}

__attribute__((format(printf, 2, 3))) static void meet(struct capture_trigger *trigger,
                                                       const char *format, ...)
{
    va_list args;

    if (trigger->met) /* the first is what it is named for */
        return;
    trigger->met = true;
    va_start(args, format);
    bounded_text(trigger->what, sizeof(trigger->what), format, args);
    va_end(args);
}

void capture_trigger_stream(struct capture_trigger *trigger,
                            const struct rpcrdma_payload_stream *stream)
{
    details_stream(trigger->details, stream);
}

static bool rpc_met(struct capture_trigger *trigger, const struct rpcrdma_transaction *t)
{
    struct rpc rpc = details_of(trigger->details, t);
    char name[120] = "RPC", latency[40] = "";

    if (!rpc_matches(trigger->filter, &rpc) || !filter_concerns(trigger->filter))
        return false;
    if (t->has_program)
        rpcrdma_transaction_name(t, name, sizeof(name));
    if (t->has_latency)
        snprintf(latency, sizeof(latency), ", %.3f ms", (double)t->latency_ns / 1e6);
    meet(trigger, "connection %" PRIu32 ", XID 0x%08" PRIx32 ", %s%s", t->connection->number,
         t->xid, name, latency);
    return true;
}

void capture_trigger_answered(struct capture_trigger *trigger, const struct rpcrdma_transaction *t)
{
    enum { N = sizeof(trigger->answered) / sizeof(*trigger->answered) };

    if (rpc_met(trigger, t) && t->tag)
        trigger->answered[trigger->next_answered++ % N] = t->tag;
}

/* What its Reply's delivery adds may be what is waited for; what met it before is not told again.
 */
void capture_trigger_transaction(struct capture_trigger *trigger,
                                 const struct rpcrdma_transaction *t)
{
    enum { N = sizeof(trigger->answered) / sizeof(*trigger->answered) };
    bool before = false;

    for (unsigned i = 0; i < N && t->tag; i++) {
        if (trigger->answered[i] != t->tag)
            continue;
        before = true;
        trigger->answered[i] = 0;
    }
    if (!before)
        rpc_met(trigger, t);
    details_done(trigger->details, t);
}

static void findings(struct capture_trigger *trigger, const struct rpcrdma_connection *connection,
                     const struct rpcrdma_finding *finding, size_t n)
{
    struct filter *f = trigger->filter;
    char text[256];

    for (; n > 0; n--, finding++) {
        const char *rule = rpcrdma_rule(finding->rule)->name;

        filter_begin(f);
        fill_connection(f, connection);
        filter_findings(f, finding, 1);
        if (!filter_concerns(f) || !filter_match(f))
            continue;
        rpcrdma_finding_text(finding, text, sizeof(text));
        if (connection)
            meet(trigger, "connection %" PRIu32 ", %s: %s", connection->number, rule, text);
        else
            meet(trigger, "%s: %s", rule, text);
    }
}

void capture_trigger_message(struct capture_trigger *trigger,
                             const struct rpcrdma_flow_message *message)
{
    findings(trigger, message->connection, message->findings, message->n_findings);
    if (message->connection->messages <=
        2) /* a Call may show what its connection takes the place of */
        capture_trigger_setup(trigger, message->connection);
}

static bool nak_met(struct filter *f, const struct rpcrdma_connection *c, enum rpcrdma_rule_id rule)
{
    filter_begin(f);
    fill_connection(f, c);
    filter_text(f, RPCRDMA_FIELD_FINDING_RULE, rpcrdma_rule(rule)->name);
    filter_text(f, RPCRDMA_FIELD_FINDING_SEVERITY,
                rpcrdma_severity_name(rpcrdma_rule(rule)->severity));
    return filter_concerns(f) && filter_match(f);
}

void capture_trigger_nak(struct capture_trigger *trigger, const struct rpcrdma_connection *c,
                         enum rpcrdma_nak nak)
{
    enum rpcrdma_rule_id rule = nak == RPCRDMA_NAK_PSN_SEQUENCE ? RPCRDMA_RULE_NAK_SEQUENCE
                                : nak == RPCRDMA_NAK_RNR        ? RPCRDMA_RULE_CREDIT_RNR
                                                                : RPCRDMA_RULE_NAK_REFUSED;

    if (nak_met(trigger->filter, c, rule))
        meet(trigger, "connection %" PRIu32 ", Nak: %s", c->number, connection_nak((uint8_t)nak));
}

void capture_trigger_path(struct capture_trigger *trigger, const struct rpcrdma_connection *c,
                          const struct rpcrdma_path *path)
{
    struct filter *f = trigger->filter;

    filter_begin(f);
    fill_connection(f, c);
    filter_number(f, RPCRDMA_FIELD_CONNECTIONS_PATH_RETRANSMITTED, path->retransmitted, NULL);
    filter_number(f, RPCRDMA_FIELD_CONNECTIONS_PATH_LOST, path->lost, NULL);
    filter_number(f, RPCRDMA_FIELD_CONNECTIONS_PATH_DUPLICATED, path->duplicated, NULL);
    filter_number(f, RPCRDMA_FIELD_CONNECTIONS_PATH_REORDERED, path->reordered, NULL);
    filter_number(f, RPCRDMA_FIELD_CONNECTIONS_PATH_TIMEOUTS, path->timeouts, NULL);
    if (filter_concerns(f) && filter_match(f))
        meet(trigger,
             "connection %" PRIu32 ", %" PRIu64 " packet%s retransmitted, %" PRIu64
             " lost, %" PRIu64 " timeout%s so far",
             c->number, path->retransmitted, plural(path->retransmitted), path->lost,
             path->timeouts, plural(path->timeouts));
}

void capture_trigger_finding(struct capture_trigger *trigger,
                             const struct rpcrdma_connection *connection,
                             const struct rpcrdma_finding *finding)
{
    bool naks =
        finding->rule == RPCRDMA_RULE_NAK_SEQUENCE || finding->rule == RPCRDMA_RULE_NAK_REFUSED;

    /* it sums up Naks that met it one by one; iWARP has none */
    if (naks && connection && connection->carrier != RPCRDMA_CARRIER_IWARP &&
        nak_met(trigger->filter, connection, finding->rule))
        return;
    findings(trigger, connection, finding, 1);
}

/* Several messages set up a connection, or end it: what it met the expression for is kept with it.
 */
enum { TOLD_SETUP = 1, TOLD_PLACE = 2, TOLD_END = 4 };

/* What of a connection is known now, and may be news. */
static unsigned news_of(const struct filter *f, const struct rpcrdma_connection *c)
{
    if (c->life.ended != RPCRDMA_ENDED_NOT)
        return TOLD_END;
    if (c->life.previous > 0 && (filter_needs(f, RPCRDMA_FIELD_CONNECTIONS_PREVIOUS) ||
                                 filter_needs(f, RPCRDMA_FIELD_CONNECTIONS_DOWN)))
        return TOLD_SETUP | TOLD_PLACE;
    return TOLD_SETUP;
}

void capture_trigger_setup(struct capture_trigger *trigger, const struct rpcrdma_connection *c)
{
    const struct rpcrdma_life *life = &c->life;
    struct filter *f = trigger->filter;
    unsigned told = (unsigned)(uintptr_t)c->user, news = news_of(f, c);

    if (!(news & ~told))
        return;
    filter_begin(f);
    fill_connection(f, c);
    filter_text(f, RPCRDMA_FIELD_CONNECTIONS_STATE, connection_state(c));
    filter_number(f, RPCRDMA_FIELD_CONNECTIONS_REQUESTS, life->requests, NULL);
    if (life->ended != RPCRDMA_ENDED_NOT) {
        filter_text(f, RPCRDMA_FIELD_CONNECTIONS_END_HOW, connection_ended(life->ended));
        if (life->ended_by >= 0 && c->role[life->ended_by] != RPCRDMA_ROLE_UNKNOWN)
            filter_text(f, RPCRDMA_FIELD_CONNECTIONS_END_BY,
                        c->role[life->ended_by] == RPCRDMA_ROLE_CLIENT ? "client" : "server");
        if (life->ended == RPCRDMA_ENDED_REJECTED)
            filter_number(f, RPCRDMA_FIELD_CONNECTIONS_END_REASON, life->reject_reason, NULL);
    }
    if (life->previous > 0 && life->ended == RPCRDMA_ENDED_NOT) /* that was then */
        filter_number(f, RPCRDMA_FIELD_CONNECTIONS_PREVIOUS, life->previous, NULL);
    if (life->has_down && life->ended == RPCRDMA_ENDED_NOT)
        filter_signed(f, RPCRDMA_FIELD_CONNECTIONS_DOWN, life->down_ns);
    if (!filter_concerns(f) || !filter_match(f))
        return;
    rpcrdma_connection_set_user(c, (void *)(uintptr_t)(told | news)); /* a number, nothing owned */
    meet(trigger, "connection %" PRIu32 ", %s%s%s", c->number, connection_state(c),
         life->ended != RPCRDMA_ENDED_NOT ? " by " : "", connection_ended(life->ended));
}

static bool limit_met(struct capture_trigger *trigger, const struct at_limit *one, int64_t now_ns)
{
    struct filter *f = trigger->filter;
    int64_t for_ns = time_less(now_ns, one->from_ns);

    if (for_ns <= 0) /* not yet, or the clock was set back */
        return false;
    filter_begin(f);
    filter_number(f, RPCRDMA_FIELD_RPCS_CONNECTION, one->connection, NULL);
    filter_address(f, RPCRDMA_FIELD_RPCS_CLIENT, &one->client);
    filter_address(f, RPCRDMA_FIELD_RPCS_SERVER, &one->server);
    filter_number(f, RPCRDMA_FIELD_CREDIT_GRANTED, one->granted, NULL);
    filter_number(f, RPCRDMA_FIELD_CREDIT_LIMIT, one->limit, NULL);
    filter_number(f, RPCRDMA_FIELD_CREDIT_IN_FLIGHT, one->in_flight, NULL);
    filter_number(f, RPCRDMA_FIELD_CREDIT_AT_LIMIT, 1, NULL);
    filter_signed(f, RPCRDMA_FIELD_CREDITS_AT_LIMIT, for_ns);
    if (!filter_concerns(f) || !filter_match(f))
        return false;
    meet(trigger,
         "connection %" PRIu32 ", %" PRIu64 " in flight at a limit of %" PRIu32
         " credits for %.3f ms",
         one->connection, one->in_flight, one->limit, (double)for_ns / 1e6);
    return true;
}

void capture_trigger_credits(struct capture_trigger *trigger, const struct rpcrdma_connection *c,
                             int end, const struct rpcrdma_credit_point *point)
{
    const struct rpcrdma_address *client = address_of(c, RPCRDMA_ROLE_CLIENT),
                                 *server = address_of(c, RPCRDMA_ROLE_SERVER);
    int64_t key = (int64_t)c->number << 1 | (end & 1);
    struct at_limit *one = g_hash_table_lookup(trigger->at_limit, &key);
    bool at_limit = !point->closed && point->bound != RPCRDMA_BOUND_NEITHER;

    if (one && !at_limit) {
        if (!one->told)
            limit_met(trigger, one, point->time_ns);
        g_hash_table_remove(trigger->at_limit, &key);
        return;
    }
    if (!at_limit)
        return;
    if (!one) {
        if (g_hash_table_size(trigger->at_limit) >= DIRECTIONS)
            return;
        one = g_new0(struct at_limit, 1);
        one->from_ns = point->time_ns;
        one->connection = c->number;
        g_hash_table_insert(trigger->at_limit, g_memdup2(&key, sizeof(key)), one);
    }
    if (client)
        one->client = *client;
    if (server)
        one->server = *server;
    one->granted = point->granted;
    one->limit = point->limit;
    one->in_flight = point->in_flight;
}

static bool wait_met(struct capture_trigger *trigger, const struct rpcrdma_waiting *waiting)
{
    struct filter *f = trigger->filter;
    const struct rpcrdma_transaction *t = waiting->oldest;
    int64_t for_ns = time_less(trigger->awaited_ns, waiting->since_ns);
    char name[120] = "RPC";

    if (for_ns <= 0) /* not yet, or the clock was set back */
        return false;
    if (t->has_program)
        rpcrdma_transaction_name(t, name, sizeof(name));
    filter_begin(f);
    fill_connection(f, waiting->connection);
    filter_number(f, RPCRDMA_FIELD_RPCS_XID, t->xid, NULL);
    if (t->has_program)
        filter_text(f, RPCRDMA_FIELD_RPCS_NAME, name);
    filter_signed(f, FILTER_WAITING, for_ns);
    if (!filter_match(f))
        return false;
    meet(trigger, "connection %" PRIu32 ", XID 0x%08" PRIx32 ", %s has no Reply for %.3f s",
         waiting->connection->number, t->xid, name, (double)for_ns / 1e9);
    return true;
}

static void on_waiting(void *context, const struct rpcrdma_waiting *waiting)
{
    struct capture_trigger *trigger = context;
    int64_t key = (int64_t)waiting->connection->number << 1 | (waiting->caller_end & 1);
    const uint64_t *told = g_hash_table_lookup(trigger->waiting, &key);

    trigger->outstanding += waiting->calls;
    if ((told && *told == waiting->oldest->call_frame) || wait_met(trigger, waiting))
        g_hash_table_insert(trigger->still, g_memdup2(&key, sizeof(key)),
                            g_memdup2(&waiting->oldest->call_frame, sizeof(uint64_t)));
}

static void look(struct capture_trigger *trigger, int64_t now_ns)
{
    GHashTableIter iter;
    gpointer value;

    trigger->looked_ns = now_ns;
    trigger->packets = 0;
    g_hash_table_iter_init(&iter, trigger->at_limit);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct at_limit *one = value;

        if (!one->told)
            one->told = limit_met(trigger, one, now_ns);
    }
}

static bool is_due(int64_t looked_ns, int64_t now_ns)
{
    int64_t since = time_less(now_ns, looked_ns);

    return since < 0 || since >= LOOK_NS;
}

void capture_trigger_time(struct capture_trigger *trigger, int64_t now_ns)
{
    if (is_due(trigger->looked_ns, now_ns))
        look(trigger, now_ns);
}

void capture_trigger_packet(struct capture_trigger *trigger, int64_t now_ns)
{
    trigger->packets++;
    if (is_due(trigger->looked_ns, now_ns) &&
        trigger->packets >= g_hash_table_size(trigger->at_limit) / LOOK_AT)
        look(trigger, now_ns);
}

/* Each Call that is the oldest meets it once. */
void capture_trigger_wait(struct capture_trigger *trigger, int64_t now_ns, bool packet)
{
    GHashTable *before = trigger->waiting;

    if (!filter_needs(trigger->filter, FILTER_WAITING))
        return;
    trigger->wait_packets++;
    if (!is_due(trigger->awaited_ns, now_ns) ||
        (packet && trigger->wait_packets < trigger->outstanding / LOOK_AT))
        return;
    trigger->awaited_ns = now_ns;
    trigger->wait_packets = 0;
    trigger->outstanding = 0;
    rpcrdma_flow_waiting(trigger->flow, on_waiting, trigger);
    trigger->waiting = trigger->still;
    trigger->still = before;
    g_hash_table_remove_all(before);
}
