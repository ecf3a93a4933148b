/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_SHOW_H
#define RPCRDMA_PLUGIN_SHOW_H

#include "show/fields.h"
#include "store/store.h"
#include "wire/walk.h"

/* message.c: all that is known of the frame, into tree and columns. raw is the frame's own
 * bytes. What its messages carry goes to the dissector "rpc". */
void show_frame(const struct frame_note *note, tvbuff_t *raw, packet_info *pinfo, proto_tree *tree);
/* Of an earlier frame, and without its RPC message. old_names: it did not show them. */
void show_earlier(const struct message_note *message_note, const struct frame_note *note,
                  bool old_names, tvbuff_t *raw, packet_info *pinfo, proto_tree *tree);

/* late.c: what late.h of feed/ has, in the frame in hand. */
void show_late(tvbuff_t *raw, packet_info *pinfo, proto_tree *tree);

/* findings.c: what was found of the frame itself, if anything. */
void show_findings(const struct frame_note *note, tvbuff_t *raw, packet_info *pinfo,
                   proto_tree *tree);
void put_finding(packet_info *pinfo, proto_tree *tree, tvbuff_t *tvb,
                 const struct rpcrdma_finding *finding);
/* In the packet's line, by the rule's name. */
void mention_finding(packet_info *pinfo, const struct rpcrdma_rule *rule);

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

#endif
