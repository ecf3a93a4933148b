/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rpc/handover.h"

#include <epan/conversation.h>
#include <epan/dissectors/packet-rpc.h>
#include <epan/epan.h>
#include <epan/epan_dissect.h>
#include <epan/exceptions.h>
#include <epan/prefs-int.h>
#include <epan/show_exception.h>

#include "wireshark/address.h"
#include "wireshark/protocol.h"

/*
 * The dissector "rpc" pairs Calls and Replies by conversation and XID. It is given a conversation
 * of our own: one per stream of Calls, by its number, not by addresses and ports. So Calls
 * pair although their sender's QP number is not known yet, Calls of both directions of RPC may have
 * the same XID, and a QP number used again, or in a capture of several hosts at once, is another
 * conversation.
 */

static dissector_handle_t rpc_handle;
static pref_t *unknown_programs; /* whether "rpc" takes programs that no dissector knows */

void handover_register(void)
{
    module_t *module = prefs_find_module("rpc");

    rpc_handle = find_dissector_add_dependency("rpc", proto_rpcrdma);
    unknown_programs = module ? prefs_find_preference(module, "dissect_unknown_programs") : NULL;
}

/* The Call of a Reply. NULL: no frame has it. */
static const struct message_note *call_of(const struct message_note *message_note)
{
    const struct frame_note *note = store_find(message_note->frame);

    for (const struct transacted *t = note ? note->transacted : NULL; t;
         t = transacted_next(t, message_note->frame)) {
        const struct frame_note *call;
        const struct message_note *its;

        if (t->xid != message_note->xid || t->reply_frame != message_note->frame ||
            t->call_frame == 0)
            continue;
        call = store_find(t->call_frame);
        its = call ? store_message_note(call, false, message_note->xid, 0) : NULL;
        if (its)
            return its;
    }
    return NULL;
}

/* Whether "rpc" has seen the Call of a Reply with this XID, its own, which may be another than the
 * header's. Where it has not it makes one up, of program 0, which the Call of that XID is a
 * retransmission of, should it come. */
static bool call_was_taken(const struct message_note *message_note, uint32_t xid)
{
    const struct message_note *call = call_of(message_note);

    if (!call)
        return message_note->kind->has_call && xid == message_note->xid;
    return call->taken && xid == (call->xid ^ note_extra(call)->other_xid);
}

/* The latest streams that have a conversation, by number. */
static struct {
    uint64_t stream;
    bool known;
} opened[64];

void handover_file(void)
{
    memset(opened, 0, sizeof(opened));
}

/* The conversation of a stream: of no addresses, and its number for ports. */
static const address nobody = ADDRESS_INIT_NONE;

static uint32_t high(uint64_t stream)
{
    return (uint32_t)(stream >> 32);
}

/* Whose XID is another than the header's has one beside the stream's, where it can be that of
 * another Call. */
static uint64_t conversation_of(const struct message_note *message_note, tvbuff_t *rpc)
{
    const uint64_t beside = UINT64_C(1) << 63;

    return message_note->path->stream ^ (tvb_get_ntohl(rpc, 0) != message_note->xid ? beside : 0);
}

/* A Call's: "rpc" finds it, and would make one of other ends. From the first frame on, as a Reply
 * may have been captured before its Call. */
static void open_conversation(const struct message_note *message_note, uint64_t stream)
{
    const uint32_t first = 1;
    size_t at = stream % G_N_ELEMENTS(opened);

    if (message_note->kind->direction != RPCRDMA_DIRECTION_CALL ||
        (opened[at].known && opened[at].stream == stream))
        return;
    opened[at].stream = stream;
    opened[at].known = true;
    if (!find_conversation(first, &nobody, &nobody, CONVERSATION_IBQP, high(stream),
                           (uint32_t)stream, 0))
        conversation_new(first, &nobody, &nobody, CONVERSATION_IBQP, high(stream), (uint32_t)stream,
                         0);
}

/* Whether "rpc" will know it for what it is: else it says "Continuation", and our line says more.
 */
static bool acceptable(const struct message_note *message_note, tvbuff_t *rpc)
{
    enum { TYPE = 4, RPC_VERSION = 8, PROGRAM = 12, CALL_LEAST = 24, REPLY_LEAST = 12 };
    uint32_t type;

    if (tvb_captured_length(rpc) < REPLY_LEAST)
        return false;
    type = tvb_get_ntohl(rpc, TYPE);
    if (message_note->kind->direction == RPCRDMA_DIRECTION_REPLY)
        return type == RPCRDMA_RPC_REPLY && call_was_taken(message_note, tvb_get_ntohl(rpc, 0));
    return message_note->kind->direction == RPCRDMA_DIRECTION_CALL && type == RPCRDMA_RPC_CALL &&
           tvb_captured_length(rpc) >= CALL_LEAST && tvb_get_ntohl(rpc, RPC_VERSION) == 2 &&
           (strcmp(rpc_prog_name(tvb_get_ntohl(rpc, PROGRAM)), "Unknown") != 0 ||
            (unknown_programs && prefs_get_bool_value(unknown_programs, pref_current)));
}

static bool call_rpc(tvbuff_t *rpc, packet_info *pinfo, proto_tree *tree)
{
    volatile int taken = 1;

    TRY
    {
        taken = call_dissector_only(rpc_handle, rpc, pinfo, tree, NULL);
    }
    CATCH_BOUNDS_AND_DISSECTOR_ERRORS
    {
        show_exception(rpc, pinfo, tree, EXCEPT_CODE, GET_MESSAGE);
    }
    ENDTRY;
    return taken != 0;
}

/* Gives a field of bytes another value: the first `known` of its own. */
#if WIRESHARK_VERSION_MAJOR == 4 && WIRESHARK_VERSION_MINOR == 2
/* 4.2 has functions for that and keeps them to itself: the value changes places with that of a
 * field made for it, in a tree of its own. */
static void set_value(field_info *info, const uint8_t *data, uint32_t known, tvbuff_t *tvb,
                      const packet_info *pinfo)
{
    epan_dissect_t *aside = epan_dissect_new(pinfo->epan, TRUE, TRUE);
    field_info *other = PITEM_FINFO(proto_tree_add_bytes_with_length(
        aside->tree, info->hfinfo->id, tvb, info->start, (int)known, data, (int)known));
    fvalue_t *value = info->value;

    info->value = other->value;
    other->value = value;
    epan_dissect_free(aside);
}
#else
static void set_value(field_info *info, const uint8_t *data, uint32_t known,
                      tvbuff_t *tvb G_GNUC_UNUSED, const packet_info *pinfo G_GNUC_UNUSED)
{
    GByteArray *bytes = g_byte_array_new();

    /* where nothing is left it has no data either, not just no length: what prints fields would
     * fall over it */
    if (known > 0)
        g_byte_array_append(bytes, data, known);
#if WIRESHARK_AT_LEAST(4, 4)
    fvalue_set_byte_array(info->value, bytes);
#else
    g_byte_array_free(info->value.value.bytes, TRUE);
    info->value.value.bytes = bytes;
#endif
}
#endif

/* Cuts a value at its first byte that is not known. */
static void cut(field_info *info, uint32_t known, tvbuff_t *tvb, const packet_info *pinfo)
{
    const uint8_t *data = known > 0 ? tvb_get_ptr(tvb, info->start, (int)known) : NULL;

    set_value(info, data, known, tvb, pinfo);
    info->length = (int)known;
}

struct blanks {
    const struct rpc_bytes *rpc;
    const packet_info *pinfo;
};

static void blank_item(proto_node *node, void *context)
{
    const struct blanks *blanks = context;
    const struct rpc_bytes *rpc = blanks->rpc;
    field_info *info = PNODE_FINFO(node);
    uint32_t from, to;

    proto_tree_children_foreach(node, blank_item, context);
    if (!info || !info->hfinfo || info->hfinfo->type != FT_BYTES || info->ds_tvb != rpc->tvb ||
        info->length <= 0)
        return;
    from = (uint32_t)info->start;
    to = from + (uint32_t)info->length;
    for (unsigned i = 0; i < rpc->n_blanks; i++) {
        const struct blank *blank = &rpc->blanks[i];

        if (to <= blank->from || from >= ((blank->to + 3) & ~3u)) /* its padding is no more known */
            continue;
        cut(info, blank->from > from ? blank->from - from : 0, rpc->tvb, blanks->pinfo);
        proto_item_set_text(node, "%s: <%d bytes, then %s>", info->hfinfo->name, info->length,
                            rpc->later ? "in later frames" : "not known");
        return;
    }
}

static void take(struct message_note *message_note, uint32_t xid)
{
    message_note->taken = true;
    if (xid != message_note->xid)
        store_extra(message_note)->other_xid = xid ^ message_note->xid;
}

bool handover(struct message_note *message_note, const struct rpc_bytes *rpc, packet_info *pinfo,
              proto_tree *tree)
{
    uint64_t stream;
    address src = pinfo->src, dst = pinfo->dst;
    port_type ptype = pinfo->ptype;
    ws_bool use_endpoints = pinfo->use_conv_addr_port_endpoints;
    struct conversation_addr_port_endpoints *ends = pinfo->conv_addr_port_endpoints;
    address none = nobody;
    const char *proto = pinfo->current_proto;
    bool taken;

    if (!rpc_handle || !acceptable(message_note, rpc->tvb))
        return false;
    stream = conversation_of(message_note, rpc->tvb);
    take(message_note, tvb_get_ntohl(rpc->tvb, 0));
    /* what the packet's own are worth depends on how far it was dissected */
    address_set(&pinfo->src, &message_note->path->src->address);
    address_set(&pinfo->dst, &message_note->path->dst->address);
    pinfo->ptype = PT_IBQP;
    conversation_set_conv_addr_port_endpoints(pinfo, &none, &none, CONVERSATION_IBQP, high(stream),
                                              (uint32_t)stream);
    open_conversation(message_note, stream);
    taken = call_rpc(rpc->tvb, pinfo, tree);
    if (tree && rpc->n_blanks > 0)
        proto_tree_children_foreach(tree, blank_item, &(struct blanks){rpc, pinfo});
    pinfo->src = src;
    pinfo->dst = dst;
    pinfo->ptype = ptype;
    pinfo->use_conv_addr_port_endpoints = use_endpoints;
    pinfo->conv_addr_port_endpoints = ends;
    pinfo->current_proto = proto;
    return taken;
}
