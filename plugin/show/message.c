/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include <epan/column-utils.h>

#include "connections/connections.h"
#include "rpc/handover.h"
#include "upper/names.h"
#include "wire/chunk.h"
#include "wire/message.h"
#include "wireshark/address.h"
#include "wireshark/numbers.h"

static const char protocol_column[] = "RPC-over-RDMA";

static tvbuff_t *open_place(const struct place *place, const uint8_t *copy, tvbuff_t *raw,
                            packet_info *pinfo, const char *name)
{
    tvbuff_t *tvb;

    if (!copy)
        return tvb_new_subset_length_caplen(raw, (int)place->off, (int)place->caplen,
                                            (int)place->len);
    tvb = tvb_new_child_real_data(raw, copy, place->caplen, (int)MIN(place->len, INT_MAX));
    add_new_data_source(pinfo, tvb, name);
    return tvb;
}

struct end_fields {
    enum rpcrdma_field_id ipv4, qpn, port;
    enum beside ipv6, lid;
};

/* Addresses are of the types that filters know subnets of. */
static void put_address(tvbuff_t *tvb, proto_tree *tree, const struct rpcrdma_address *address,
                        const struct end_fields *fields)
{
    proto_item *item = NULL, *either = NULL;
    ws_in4_addr ipv4;
    ws_in6_addr ipv6;

    switch (address->family) {
    case RPCRDMA_ADDRESS_IPV4:
        memcpy(&ipv4, address->bytes, sizeof(ipv4));
        item = proto_tree_add_ipv4(tree, field_hf(fields->ipv4), tvb, 0, 0, ipv4);
        either = proto_tree_add_ipv4(tree, beside_hf(BESIDE_ADDR), tvb, 0, 0, ipv4);
        break;
    case RPCRDMA_ADDRESS_IPV6:
        memcpy(&ipv6, address->bytes, sizeof(ipv6));
        item = proto_tree_add_ipv6(tree, beside_hf(fields->ipv6), tvb, 0, 0, &ipv6);
        either = proto_tree_add_ipv6(tree, beside_hf(BESIDE_ADDR_IPV6), tvb, 0, 0, &ipv6);
        break;
    case RPCRDMA_ADDRESS_LID:
        item = proto_tree_add_uint(tree, beside_hf(fields->lid), tvb, 0, 0,
                                   (unsigned)address->bytes[0] << 8 | address->bytes[1]);
        break;
    default:
        break;
    }
    proto_item_set_generated(item);
    proto_item_set_hidden(either);
}

static void put_port(const struct rpcrdma_visitor *visitor, enum rpcrdma_field_id field,
                     uint16_t port, tvbuff_t *tvb, proto_tree *tree)
{
    rpcrdma_visit_number(visitor, field, port);
    proto_item_set_hidden(proto_tree_add_uint(tree, beside_hf(BESIDE_PORT), tvb, 0, 0, port));
}

static void put_end(const struct rpcrdma_visitor *visitor, const struct message_note *message_note,
                    const struct rpcrdma_endpoint *end, const struct end_fields *fields,
                    tvbuff_t *tvb, proto_tree *tree)
{
    put_address(tvb, tree, &end->address, fields);
    if (message_note->path->carrier == RPCRDMA_CARRIER_IWARP)
        put_port(visitor, fields->port, end->port, tvb, tree);
    else if (end->has_qpn)
        rpcrdma_visit_number(visitor, fields->qpn, end->qpn);
}

static int direction(const struct message_note *message_note)
{
    return message_note->kind->direction == RPCRDMA_DIRECTION_CALL    ? RPCRDMA_RPC_CALL
           : message_note->kind->direction == RPCRDMA_DIRECTION_REPLY ? RPCRDMA_RPC_REPLY
                                                                      : -1;
}

/* What the header does not say: who sent it, and what it is about. */
static void put_context(const struct message_note *message_note,
                        const struct rpcrdma_visitor *visitor, tvbuff_t *tvb, proto_tree *tree)
{
    static const struct end_fields src = {RPCRDMA_FIELD_SRC, RPCRDMA_FIELD_SRC_QPN,
                                          RPCRDMA_FIELD_SRC_PORT, BESIDE_SRC_IPV6, BESIDE_SRC_LID},
                                   dst = {RPCRDMA_FIELD_DST, RPCRDMA_FIELD_DST_QPN,
                                          RPCRDMA_FIELD_DST_PORT, BESIDE_DST_IPV6, BESIDE_DST_LID};
    struct rpcrdma_rpc call = {.present = RPCRDMA_RPC_HAS_PROGRAM | RPCRDMA_RPC_HAS_TYPE,
                               .program = message_note->kind->program,
                               .version = message_note->kind->version,
                               .procedure = message_note->kind->procedure};

    if (message_note->has_invalidate)
        rpcrdma_visit_number(visitor, RPCRDMA_FIELD_INVALIDATE,
                             note_extra(message_note)->invalidate);
    if (message_note->path->connection)
        rpcrdma_visit_number(visitor, RPCRDMA_FIELD_CONNECTION, message_note->path->connection);
    rpcrdma_visit_number(visitor, RPCRDMA_FIELD_SENDER, message_note->path->sender);
    put_end(visitor, message_note, message_note->path->src, &src, tvb, tree);
    put_end(visitor, message_note, message_note->path->dst, &dst, tvb, tree);
    if (message_note->has_type)
        rpcrdma_walk_rpc(
            direction(message_note), message_note->kind->has_call ? &call : NULL,
            message_note->kind->has_call
                ? rpcrdma_procedure_name(message_note->kind->program, message_note->kind->version,
                                         message_note->kind->procedure, message_note->kind->reverse)
                : NULL,
            visitor);
}

static void put_blanks(const struct rpc_bytes *rpc, tvbuff_t *tvb, proto_tree *tree)
{
    uint64_t n = 0;
    proto_item *item;

    for (unsigned i = 0; i < rpc->n_blanks; i++)
        n += rpc->blanks[i].to - rpc->blanks[i].from;
    if (n == 0)
        return;
    item = proto_tree_add_item(tree, record_hf(RPCRDMA_RECORD_RPC), tvb, 0, 0, ENC_NA);
    proto_item_set_generated(item);
    proto_item_set_text(item, "%" PRIu64 " bytes of its chunks %s, and are left blank", n,
                        rpc->later ? "come in later frames" : "are not known");
}

static void begin_info(packet_info *pinfo, bool first)
{
    col_set_str(pinfo->cinfo, COL_PROTOCOL, protocol_column);
    if (first) {
        col_clear_fence(pinfo->cinfo, COL_INFO);
        col_clear(pinfo->cinfo, COL_INFO);
    } else {
        col_append_str(pinfo->cinfo, COL_INFO, " | ");
        col_set_fence(pinfo->cinfo, COL_INFO);
    }
}

/* Hands it over, if there is anything of it to show; what the dissector of RPC makes of it is then
 * the packet's line in the list, too. */
static bool show_rpc(struct message_note *message_note, const struct rpcrdma_message *m,
                     tvbuff_t *raw, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                     proto_tree *sub)
{
    struct rpc_bytes rpc;

    if (message_note->rpc_frame != numbers_fed(pinfo) ||
        (message_note->later_visits && !pinfo->fd->visited))
        return false;
    if (!rpc_open(&rpc, message_note, m, raw, tvb, pinfo))
        return false;
    put_blanks(&rpc, tvb, sub);
    return handover(message_note, &rpc, pinfo, tree);
}

static struct rpcrdma_message decode(const struct message_note *message_note, tvbuff_t *tvb)
{
    struct rpcrdma_message m;
    uint32_t caplen = tvb_captured_length(tvb);

    rpcrdma_message_decode(message_note->kind->dialect,
                           caplen > 0 ? tvb_get_ptr(tvb, 0, (int)caplen) : NULL, caplen,
                           message_note->place.len, &m);
    return m;
}

/* Its line in the tree: words only where somebody looks at them. */
static proto_tree *add_item(proto_tree *tree, tvbuff_t *tvb, int length, const char *line)
{
    proto_item *item = line ? proto_tree_add_protocol_format(tree, proto_rpcrdma, tvb, 0, length,
                                                             "RPC-over-RDMA, %s", line)
                            : proto_tree_add_item(tree, proto_rpcrdma, tvb, 0, length, ENC_NA);

    return proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_MESSAGE));
}

/* One message in the frame: what there is to be said of the frame is said of it. */
static bool only(const struct frame_note *note)
{
    return note->messages && !note->messages->next;
}

static void put_count(proto_tree *tree, enum beside which, tvbuff_t *tvb, uint32_t count)
{
    if (count > 0)
        proto_item_set_generated(proto_tree_add_uint(tree, beside_hf(which), tvb, 0, 0, count));
}

/* How many chunks and segments each list has; of a cut Read list, how many were captured. */
static void put_counts(const struct rpcrdma_message *m, tvbuff_t *tvb, proto_tree *tree)
{
    struct rpcrdma_read_totals reads = rpcrdma_read_sum(&m->read);
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk;
    uint32_t segments = 0;

    while (rpcrdma_write_next(&it, &chunk))
        segments += chunk.declared;
    put_count(tree, BESIDE_READ_CHUNKS, tvb, reads.chunks);
    put_count(tree, BESIDE_READ_SEGMENTS, tvb, reads.segments);
    put_count(tree, BESIDE_WRITE_CHUNKS, tvb, m->write.count);
    put_count(tree, BESIDE_WRITE_SEGMENTS, tvb, segments);
    if (m->present & RPCRDMA_HAS_REPLY && m->reply_present)
        put_count(tree, BESIDE_REPLY_SEGMENTS, tvb, m->reply.declared);
}

static void put_tree(const struct message_note *message_note, const struct rpcrdma_message *m,
                     const struct frame_note *note, tvbuff_t *tvb, packet_info *pinfo,
                     proto_tree *tree)
{
    struct drawing drawing;
    struct rpcrdma_visitor visitor = drawing_visitor(&drawing, pinfo->pool, tvb, tree);

    rpcrdma_walk_message(m, direction(message_note), &visitor);
    put_context(message_note, &visitor, tvb, tree);
    put_counts(m, tvb, tree);
    put_links(message_note, note, tvb, tree);
    if (only(note))
        put_credits(note, tvb, tree);
}

/* A message as it is drawn. */
struct drawn {
    tvbuff_t *tvb;
    struct rpcrdma_message m;
    const char *line; /* NULL: nobody looks at it */
    proto_tree *tree;
};

/* Of another frame: which. */
static void put_message_frame(struct drawn *d, uint32_t frame, wmem_allocator_t *scope,
                              proto_tree *tree, int length)
{
    uint32_t number = numbers_shown(frame);

    d->tree =
        add_item(tree, d->tvb, length,
                 d->line ? wmem_strdup_printf(scope, "of frame %u, %s", number, d->line) : NULL);
    if (d->line && number != 0)
        proto_item_set_generated(
            proto_tree_add_uint(d->tree, beside_hf(BESIDE_MESSAGE_FRAME), d->tvb, 0, 0, number));
}

static struct drawn draw_message(const struct message_note *message_note,
                                 const struct frame_note *note, tvbuff_t *raw, packet_info *pinfo,
                                 proto_tree *tree, bool earlier)
{
    const struct extra *extra = note_extra(message_note);
    struct drawn d = {
        .tvb = open_place(&message_note->place, extra->copy, raw, pinfo, "RPC-over-RDMA message")};
    int length;

    d.m = decode(message_note, d.tvb);
    length = d.m.present & RPCRDMA_HAS_HEADER_LENGTH ? (int)d.m.header_length : -1;
    length = MIN(length, (int)tvb_captured_length(d.tvb));
    if (proto_field_is_referenced(tree, proto_rpcrdma))
        d.line = summary_message(pinfo->pool, message_note, &d.m);
    if (earlier)
        put_message_frame(&d, message_note->frame, pinfo->pool, tree, length);
    else
        d.tree = add_item(tree, d.tvb, length, d.line);
    if (d.line)
        put_tree(message_note, &d.m, note, d.tvb, pinfo, d.tree);
    for (uint32_t i = 0; i < extra->n_findings; i++)
        put_finding(pinfo, d.tree, d.tvb, &extra->findings[i]);
    return d;
}

static void show_message(struct message_note *message_note, const struct frame_note *note,
                         tvbuff_t *raw, packet_info *pinfo, proto_tree *tree, bool first)
{
    struct drawn d = draw_message(message_note, note, raw, pinfo, tree, false);

    put_old_names(message_note, &d.m, note, d.tvb, tree);
    begin_info(pinfo, first);
    if (!show_rpc(message_note, &d.m, raw, d.tvb, pinfo, tree, d.tree) &&
        col_get_writable(pinfo->cinfo, COL_INFO))
        col_append_str(pinfo->cinfo, COL_INFO,
                       d.line ? d.line : summary_message(pinfo->pool, message_note, &d.m));
    for (uint32_t i = 0; i < note_extra(message_note)->n_findings; i++)
        mention_finding(pinfo, rpcrdma_rule(note_extra(message_note)->findings[i].rule));
}

void show_earlier(const struct message_note *message_note, const struct frame_note *note,
                  bool old_names, tvbuff_t *raw, packet_info *pinfo, proto_tree *tree)
{
    struct drawn d = draw_message(message_note, note, raw, pinfo, tree, true);

    if (old_names)
        put_old_names(message_note, &d.m, note, d.tvb, tree);
    /* of several: of the frame, once */
    if (!only(note) && !message_note->next)
        show_credits(note, raw, tree);
}

/* The frame that brought the last byte of an RPC message, or of what had to be there before it. */
static void show_completed(struct message_note *message_note, tvbuff_t *raw, packet_info *pinfo,
                           proto_tree *tree, bool first)
{
    const char *line = summary_completed(pinfo->pool, message_note);
    proto_tree *sub = add_item(tree, raw, 0, line);
    uint32_t number = numbers_shown(message_note->frame);
    proto_item *item =
        number != 0 ? proto_tree_add_uint(sub, field_hf(RPCRDMA_FIELD_FRAME), raw, 0, 0, number)
                    : NULL;
    const struct rpcrdma_message *inside = NULL;
    struct rpcrdma_message m;
    tvbuff_t *tvb = raw;

    proto_item_set_generated(item);
    proto_item_set_text(item, "Its RPC-over-RDMA message is in frame %u", number);
    begin_info(pinfo, first);
    if (!note_extra(message_note)->whole && note_extra(message_note)->copy) {
        tvb = open_place(&message_note->place, note_extra(message_note)->copy, raw, pinfo,
                         "RPC-over-RDMA message");
        m = decode(message_note, tvb);
        inside = &m;
    }
    if (!show_rpc(message_note, inside, raw, tvb, pinfo, tree, sub))
        col_append_str(pinfo->cinfo, COL_INFO, line);
}

static void show_set_up(const struct set_up *set_up, tvbuff_t *raw, packet_info *pinfo,
                        proto_tree *tree)
{
    tvbuff_t *tvb = open_place(&set_up->place, set_up->copy, raw, pinfo, "Private data");
    uint32_t off = set_up->private_data.off, captured = tvb_captured_length(tvb);
    struct drawing drawing;
    struct rpcrdma_visitor visitor;
    proto_item *item;

    off = MIN(off, captured);
    item = proto_tree_add_protocol_format(tree, proto_rpcrdma, tvb, (int)off,
                                          (int)MIN(RPCRDMA_PRIVATE_DATA_SIZE, captured - off),
                                          "RPC-over-RDMA, private data");
    visitor =
        drawing_visitor(&drawing, pinfo->pool, tvb,
                        proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_PRIVATE_DATA)));
    rpcrdma_walk_private_data(&set_up->private_data, 0, &visitor);
    /* the InfiniBand dissector shows the LIDs of the path, which on Ethernet are none */
    if (set_up->src.family != RPCRDMA_ADDRESS_LID) {
        address_set(&pinfo->src, &set_up->src);
        address_set(&pinfo->dst, &set_up->dst);
    }
}

void show_frame(const struct frame_note *note, tvbuff_t *raw, packet_info *pinfo, proto_tree *tree)
{
    const struct frame_more *more = note_more(note);
    bool first = true;

    rpc_frame();
    show_sliced(note, pinfo);
    if (more->set_up)
        show_set_up(more->set_up, raw, pinfo, tree);
    if (more->carried)
        show_carried(more->carried, raw, pinfo, tree);
    for (struct message_note *message_note = note->messages; message_note;
         message_note = message_note->next) {
        if (store_left_alone(message_note))
            continue;
        show_message(message_note, note, raw, pinfo, tree, first);
        first = false;
    }
    for (const struct completed *c = more->completed; c; c = c->next) {
        if (store_left_alone(c->message_note))
            continue;
        show_completed(c->message_note, raw, pinfo, tree, first);
        first = false;
    }
    if (!only(note))
        show_credits(note, raw, tree);
    /* what comes again is told of before it is known what it is */
    if (more->repeats && (note->ours || connections_of(numbers_fed(pinfo)) != 0))
        show_repeats(more->repeats, raw, pinfo, tree);
    show_findings(note, raw, pinfo, tree);
}
