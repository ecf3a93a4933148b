/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_PLUGIN_H
#define RPCRDMA_PLUGIN_PLUGIN_H

/*
 * RPC-over-RDMA in Wireshark, and the way of a packet through the plugin:
 *
 *   dissect.c   the hooks: post-dissector, heuristics, Decode As
 *   decode_as.c what the user says is RPC-over-RDMA
 *   feed.c      first visit of a frame: raw bytes -> net/ -> flow/, once
 *   keep.c, keep_*.c  what came out -> store: messages, Calls out of turn, whole RPC messages,
 *               links
 *   store.c     kept per frame: later passes only read it
 *   once.c      in one pass there are none: what ended is given back
 *   timing.c    where the time of an RPC went, in few bytes
 *   late.c      in one pass: messages that are known once their frame was dissected
 *   dissect_message.c  a frame's messages -> tree, columns, expert items
 *   connections.c  which connection a frame is of; conversation filters
 *   repeats.c   packets retransmitted, doubled or late
 *   credits.c   how a frame leaves the credits
 *   transactions.c  Calls with what answers them -> store
 *   titles.c    what they are called
 *   taps.c      what statistics are given
 *   stats.c, stats_trees.c, srt.c  statistics
 *   export.c, export_nfs.c, export_file.c  File > Export Objects
 *   links.c     what belongs together: Calls, Replies, chunk packets
 *   tree.c      what codec/wire/walk.h emits -> protocol items
 *   fields.c    codec/wire/field.def and rule.def -> hf, ett, ei
 *   assemble.c  the bytes of an RPC message
 *   handover.c  whole RPC messages -> the dissector "rpc"
 *   sliced.c    packets cut short, which the InfiniBand dissector refuses
 *   roce.c      a shorter way from UDP to the InfiniBand dissector
 *   builtin.c   precedence over the dissector that Wireshark brings along
 *   old_names.c the built-in dissector's fields
 *   conversations.c  tabs of Conversations and Endpoints
 *   menu.c      Tools > RPC-over-RDMA > Report
 *   prefs.c     preferences
 *
 * A frame is shown by whichever hook comes first: a heuristic, asked by the dissector of what
 * carries it; or the post-dissector, the one hook that every frame passes, cut short or not, in a
 * tunnel or not, and whatever the dissectors below made of it.
 */

#include "compat.h"

#include "flow/flow.h"
#include "flow/rpc.h"
#include "wire/field.h"

/* plugin.c */
extern int proto_rpcrdma;
extern dissector_handle_t rpcrdma_handle; /* for Decode As */

/* prefs.c */
struct settings {
    range_t *ports;         /* service ports */
    int dialect;            /* enum rpcrdma_dialect_id; RPCRDMA_DIALECT_COUNT: find out */
    ws_bool put_together;   /* chunks and continued messages into whole RPC messages */
    ws_bool leave_version1; /* to Wireshark's own dissector */
    ws_bool old_names;      /* its fields, too */
    int credits;            /* enum credit_accounting */
    unsigned memory_mib;
};

/* What is made of credits, and how version 2's rdma_credit is read. */
enum credit_accounting {
    CREDITS_FIND_OUT,
    CREDITS_AS_SENT,
    CREDITS_AS_RECEIVED,
    CREDITS_NONE,
};
extern struct settings settings;
void settings_register(void);

/* fields.c */
/* What Wireshark has beside the table's fields. */
enum beside {
    BESIDE_ADDR, /* of either end, as ip.addr */
    BESIDE_ADDR_IPV6,
    BESIDE_PORT,
    BESIDE_SRC_IPV6,
    BESIDE_DST_IPV6,
    BESIDE_SRC_LID,
    BESIDE_DST_LID,
    BESIDE_RPC_OPERATION,
    BESIDE_TRANSACTION, /* subtrees */
    BESIDE_CREDIT_STATE,
    BESIDE_DATA_FRAMES,
    BESIDE_DATA_OPERATION,
    BESIDE_READ_CHUNKS, /* how many there are */
    BESIDE_READ_SEGMENTS,
    BESIDE_WRITE_CHUNKS,
    BESIDE_WRITE_SEGMENTS,
    BESIDE_REPLY_SEGMENTS,
    BESIDE_DATA_REPLY_FRAME, /* links */
    BESIDE_ORIGINAL_FRAME,
    BESIDE_AGAIN_FRAME,
    BESIDE_RPC_ORIGINAL_FRAME,
    BESIDE_RPC_AGAIN_FRAME,
    BESIDE_MESSAGE_FRAME,
    BESIDES
};
int beside_hf(enum beside which);
void fields_register(void);
int field_hf(enum rpcrdma_field_id id);
int record_hf(enum rpcrdma_record_id id);
int record_ett(enum rpcrdma_record_id id);
/* An item's finding, to the expert information. */
void field_expert(packet_info *pinfo, proto_item *item, const struct rpcrdma_finding *finding,
                  const char *text);
void repeat_expert(packet_info *pinfo, proto_item *item, enum rpcrdma_repeat repeat);

/* builtin.c */
void builtin_register(void);                    /* in the handoff, after our heuristics */
void builtin_file(void);                        /* a file is opened */
bool builtin_claimed(const packet_info *pinfo); /* what the frame in hand carries */

/* roce.c */
void roce_register(void);
void roce_file(void);                  /* a file is opened */
void roce_claimed(packet_info *pinfo); /* by the heuristic in hand */

/* menu.c */
void menu_register(void);

/* dissect.c */
void dissect_register(void);
void dissect_handoff(void);
/* Whether the frame in hand is left to the dissector that Wireshark brings along. */
bool dissect_leaves(packet_info *pinfo);

#endif
