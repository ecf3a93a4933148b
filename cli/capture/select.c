/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What to keep of a packet.
 *
 * --slice: what the decoder needs is whole: Sends, and whatever moves the body of an RPC message (a
 * Position-Zero or Call chunk, a reply chunk; RFC 8166 section 3.5) or something unknown. The
 * bytes of data items, which are most of all bytes, are cut to their headers; these show how many
 * there were.
 *
 * --rpcrdma-only: packets of connections that are, or may still turn out to be, RPC-over-RDMA; what
 * sets up connections; and RDMA that could not be read. A connection that nothing has shown to be
 * RPC-over-RDMA for a second is left out until something does.
 */
#include "capture/select.h"

#include <string.h>

#include "capture/setups.h"
#include "capture/trigger.h"
#include "common/complain.h"
#include "flow/rpc.h"
#include "net/packet/payload.h"

enum { IWARP_TRAILER = 7, TCP = 6 }; /* of an FPDU: padding and CRC, at most */

static bool on_op(void *context, const struct rpcrdma_op *op)
{
    struct capture_select *select = context;

    if (select->setups)
        capture_setups_op(select->setups, op);
    select->any_op = true;
    select->data_item = false;
    return true;
}

static void on_repeated(void *context, const struct rpcrdma_repeated *repeated)
{
    struct capture_select *select = context;

    (void)repeated;
    select->repeated = true;
}

static void ask_trigger(struct capture_select *select, const struct rpcrdma_op *op)
{
    const struct rpcrdma_connection *of;

    if (op->kind >= RPCRDMA_OP_CONNECT && op->kind <= RPCRDMA_OP_RESET) {
        of = rpcrdma_flow_setup_connection(select->flow, op);
        if (of)
            capture_trigger_setup(select->trigger, of);
    } else if (op->kind == RPCRDMA_OP_NAK || select->repeated) {
        const struct rpcrdma_path *path = rpcrdma_flow_path(select->flow, op);

        of = rpcrdma_flow_connection(select->flow, op);
        if (of && op->kind == RPCRDMA_OP_NAK)
            capture_trigger_nak(select->trigger, of, (enum rpcrdma_nak)op->nak);
        else if (of && path)
            capture_trigger_path(select->trigger, of, path);
    }
    select->repeated = false;
}

static void on_op_done(void *context, const struct rpcrdma_op *op)
{
    struct capture_select *select = context;
    const struct rpcrdma_packet *packet = select->packet;
    uint32_t before, after;

    if (select->only && !select->ours)
        select->ours = op->connect || rpcrdma_flow_connection(select->flow, op) ||
                       rpcrdma_flow_undecided(select->flow, op);
    if (select->trigger)
        ask_trigger(select, op);
    /* an operation put together from several packets of TCP is not in this one */
    if (!select->slice || op->len == 0 || op->data < packet->data ||
        op->data >= packet->data + packet->caplen)
        return;
    before = (uint32_t)(op->data - packet->data);
    after = packet->caplen - before;
    if (op->carrier == RPCRDMA_CARRIER_IWARP && after > op->caplen + IWARP_TRAILER) {
        select->keep = packet->caplen; /* another one follows in this packet */
        return;
    }
    select->keep = select->data_item ? before : packet->caplen;
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct capture_select *select = context;

    select->messages++;
    if (select->trigger)
        capture_trigger_message(select->trigger, message);
}

static void on_credit_point(void *context, const struct rpcrdma_connection *connection, int end,
                            const struct rpcrdma_credit_point *point)
{
    struct capture_select *select = context;

    if (select->trigger)
        capture_trigger_credits(select->trigger, connection, end, point);
    if (!point->has_granted)
        return;
    select->now = (struct capture_credits){point->in_flight, point->granted};
    /* in_flight / granted, without the division */
    if (point->in_flight * select->most.granted >= select->most.in_flight * point->granted)
        select->most = select->now;
}

/* Called while the operation in hand is given to flow/; an operation that waited for others is of
 * an earlier frame. */
static void on_moved(void *context, const struct rpcrdma_data_transfer *moved)
{
    struct capture_select *select = context;

    select->data_item = moved->frame == select->packet->frame &&
                        moved->kind != RPCRDMA_OP_READ_REQUEST &&
                        (moved->chunk == RPCRDMA_CHUNK_WRITE ||
                         (moved->chunk == RPCRDMA_CHUNK_READ && moved->position != 0));
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct capture_select *select = context;

    if (select->trigger)
        capture_trigger_finding(select->trigger, connection, finding);
    select->memory_limit += finding->rule == RPCRDMA_RULE_MEMORY_LIMIT;
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    capture_trigger_stream(((struct capture_select *)context)->trigger, stream);
}

static void on_answered(void *context, const struct rpcrdma_transaction *transaction)
{
    capture_trigger_answered(((struct capture_select *)context)->trigger, transaction);
}

/* The end of a capture from devices is no time at which an answer was due. */
static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct capture_select *select = context;

    if (select->ending && select->options->n_devices > 0 && transaction->reply_frame == 0 &&
        !transaction->connection->closed)
        return;
    capture_trigger_transaction(select->trigger, transaction);
}

bool capture_select_start(struct capture_select *select)
{
    const struct options *options = select->options;
    struct rpcrdma_net_config net_config = {.size = sizeof(net_config),
                                            .max_memory = options_memory(options, MEMORY_NET)};
    struct rpcrdma_flow_sink flow_sink = {
        .size = sizeof(flow_sink),
        .message = on_message,
        .finding = on_finding,
        .credit_point = select->watch || select->trigger ? on_credit_point : NULL,
        .data_transfer = select->slice ? on_moved : NULL,
        .payload_stream = select->trigger ? on_payload_stream : NULL,
        .repeated = select->trigger ? on_repeated : NULL,
        .answered = select->trigger ? on_answered : NULL,
        .transaction = select->trigger ? on_transaction : NULL,
        .context = select,
    };
    struct rpcrdma_flow_config flow_config = options_flow(options);

    flow_config.credits = select->watch || select->trigger;
    flow_config.delivery = select->trigger;
    if (select->trigger) /* of a file, too: what is met is met when it happens */
        flow_config.linger_ns = OPTIONS_LINGER_NS;
    if (!select->slice && !select->only && !select->watch && !select->trigger)
        return true;
    select->analyzer = rpcrdma_analyzer_new(
        &(struct rpcrdma_analyzer_config){.size = sizeof(struct rpcrdma_analyzer_config),
                                          .net = &net_config,
                                          .flow = &flow_config},
        &(struct rpcrdma_analyzer_sink){.size = sizeof(struct rpcrdma_analyzer_sink),
                                        .flow = &flow_sink,
                                        .op = on_op,
                                        .op_done = on_op_done,
                                        .context = select});
    if (!select->analyzer) {
        complain("out of memory");
        return false;
    }
    select->net = rpcrdma_analyzer_net(select->analyzer);
    select->flow = rpcrdma_analyzer_flow(select->analyzer);
    if (select->trigger)
        select->trigger->flow = select->flow;
    return true;
}

static bool service_port(const struct capture_select *select, uint16_t port)
{
    const GArray *ports = select->options->ports;

    for (guint i = 0; i < ports->len; i++)
        if (g_array_index(ports, uint16_t, i) == port)
            return true;
    return ports->len == 0 && port == 20049;
}

/* TCP that makes no operation of its own: part of an FPDU, an ACK, the handshake. */
static bool tcp_of_ours(const struct capture_select *select, const struct rpcrdma_packet *packet)
{
    struct rpcrdma_net_payload payload;
    struct rpcrdma_op op = {.carrier = RPCRDMA_CARRIER_IWARP};

    if (!rpcrdma_net_payload(packet, &payload) || payload.caplen < 4 ||
        payload.checksum >= payload.len) /* neither TCP nor UDP */
        return false;
    op.src = payload.src;
    op.dst = payload.dst;
    op.src_port = (uint16_t)(payload.data[0] << 8 | payload.data[1]);
    op.dst_port = (uint16_t)(payload.data[2] << 8 | payload.data[3]);
    if (service_port(select, op.src_port) || service_port(select, op.dst_port))
        return true;
    for (int i = 0; i < 2; i++) {
        struct rpcrdma_op back = op;

        if (rpcrdma_flow_connection(select->flow, &op) || rpcrdma_flow_undecided(select->flow, &op))
            return true;
        back.src = op.dst;
        back.dst = op.src;
        back.src_port = op.dst_port;
        back.dst_port = op.src_port;
        op = back;
    }
    return false;
}

uint32_t capture_select_packet(struct capture_select *select, const struct rpcrdma_packet *packet)
{
    struct rpcrdma_net_stats before;
    const struct rpcrdma_net_stats *after;

    select->bytes_in += packet->caplen;
    if (!select->net || select->no_memory || !rpcrdma_net_link_known(packet->linktype)) {
        select->bytes_kept += packet->caplen;
        return packet->caplen;
    }
    before = *rpcrdma_net_stats(select->net);
    select->packet = packet;
    select->keep = packet->caplen;
    select->any_op = select->ours = false;
    if (select->trigger)
        capture_trigger_wait(select->trigger, packet->time_ns, true);
    if (rpcrdma_analyzer_packet(select->analyzer, packet) != RPCRDMA_ANALYZER_OK)
        select->no_memory = true;
    if (select->trigger)
        capture_trigger_packet(select->trigger, packet->time_ns);
    after = rpcrdma_net_stats(select->net);
    select->too_deep += after->too_deep - before.too_deep;
    select->memory_limit += after->memory_limit - before.memory_limit;
    if (select->only && !select->any_op)
        select->ours = after->fragments > before.fragments || after->truncated > before.truncated ||
                       after->too_deep > before.too_deep || (after->rdma > before.rdma) ||
                       tcp_of_ours(select, packet);
    if (select->only && !select->ours) {
        select->left_out++;
        return 0;
    }
    if (select->keep < packet->caplen)
        select->cut++;
    select->bytes_kept += select->keep;
    return select->keep;
}

void capture_select_time(struct capture_select *select, int64_t now_ns)
{
    if (!select->trigger || !select->flow || select->no_memory)
        return;
    capture_trigger_wait(select->trigger, now_ns, false);
    rpcrdma_flow_time(select->flow, now_ns);
    capture_trigger_time(select->trigger, now_ns);
}

void capture_select_last(struct capture_select *select)
{
    if (!select->trigger || !select->analyzer || select->no_memory)
        return;
    select->ending = true;
    select->no_memory = rpcrdma_analyzer_end(select->analyzer) == RPCRDMA_ANALYZER_NO_MEMORY;
}

void capture_select_end(struct capture_select *select)
{
    rpcrdma_analyzer_free(select->analyzer);
}
