/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_DISSECT_MESSAGE_H
#define RPCRDMA_PLUGIN_DISSECT_MESSAGE_H

#include "store.h"
#include "wire/walk.h"

/* dissect_message.c: all that is known of the frame, into tree and columns. raw is the frame's own
 * bytes. What its messages carry goes to the dissector "rpc". */
void show_frame(const struct frame_note *note, tvbuff_t *raw, packet_info *pinfo, proto_tree *tree);
/* What was found of the frame itself, if anything. */
void show_findings(const struct frame_note *note, tvbuff_t *raw, packet_info *pinfo,
                   proto_tree *tree);
/* Of an earlier frame, and without its RPC message. old_names: it did not show them. */
void show_earlier(const struct message_note *message_note, const struct frame_note *note,
                  bool old_names, tvbuff_t *raw, packet_info *pinfo, proto_tree *tree);

/* tree.c: a visitor for codec/wire/walk.h that draws. */
enum { DRAWING_DEPTH = 12 };
struct drawing {
    wmem_allocator_t *scope;
    tvbuff_t *tvb;  /* offsets are from its beginning */
    uint32_t shift; /* added to each offset */
    proto_tree *tree[DRAWING_DEPTH];
    proto_item *item[DRAWING_DEPTH]; /* of the record at this depth */
    unsigned number[DRAWING_DEPTH];  /* of the next element; 0: elements are not counted */
    bool empty[DRAWING_DEPTH];
    bool nothing; /* the record in hand is a list without entries, and not drawn */
    int depth;
};
struct rpcrdma_visitor drawing_visitor(struct drawing *drawing, wmem_allocator_t *scope,
                                       tvbuff_t *tvb, proto_tree *tree);

/* links.c: where the rest of it is. */
void put_links(const struct message_note *message_note, const struct frame_note *note,
               tvbuff_t *tvb, proto_tree *tree);
void show_carried(const struct carried *carried, tvbuff_t *raw, packet_info *pinfo,
                  proto_tree *tree);

/* old_names.c: the built-in dissector's fields, hidden, where they are asked for. */
void old_names_find(void); /* in the handoff */
void put_old_names(const struct message_note *message_note, const struct rpcrdma_message *m,
                   const struct frame_note *note, tvbuff_t *tvb, proto_tree *tree);

/* credits.c */
void credits_file(void); /* a file is opened */
void put_credits(const struct frame_note *note, tvbuff_t *tvb, proto_tree *tree);
void show_credits(const struct frame_note *note, tvbuff_t *raw, proto_tree *tree);

/* repeats.c: a packet that was sent before, or is retransmitted later. */
void show_repeats(const struct repeats *repeats, tvbuff_t *raw, packet_info *pinfo,
                  proto_tree *tree);

/* sliced.c: a packet that was cut short, and is called malformed for it. */
void show_sliced(const struct frame_note *note, packet_info *pinfo);

/* summary.c: a message in a line, and its RPC. */
const char *summary_message(wmem_allocator_t *scope, const struct message_note *message_note,
                            const struct rpcrdma_message *m);
const char *summary_completed(wmem_allocator_t *scope, const struct message_note *message_note);
/* to borrows from's bytes; false and unchanged: it has none. */
bool summary_set_address(address *to, const struct rpcrdma_address *from);
const char *summary_address(wmem_allocator_t *scope, const struct rpcrdma_address *address);

/* assemble.c: the bytes of an RPC message. */
struct blank {
    uint32_t from, to;
};
struct rpc_bytes {
    tvbuff_t *tvb;
    /* data items in chunks that are not known: zeros stand there, which nobody must see */
    struct blank *blanks;
    unsigned n_blanks;
    bool later; /* they are not known yet */
};
/* raw: the frame's bytes; m and tvb: the message's, NULL and raw where it was in an earlier frame.
 * False: there is nothing that could be shown. */
bool rpc_open(struct rpc_bytes *out, const struct message_note *message_note,
              const struct rpcrdma_message *m, tvbuff_t *raw, tvbuff_t *tvb, packet_info *pinfo);
void rpc_frame(void);     /* a frame is shown */
uint64_t rpc_limit(void); /* bytes: no message longer than that is laid out */

/* handover.c */
void handover_register(void);
void handover_file(void); /* a file is opened, or closed */
/* Gives the RPC message to Wireshark's dissector, in the conversation of its Calls' stream. False:
 * that would not have it. */
bool handover(struct message_note *message_note, const struct rpc_bytes *rpc, packet_info *pinfo,
              proto_tree *tree);

#endif
