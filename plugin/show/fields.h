/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_FIELDS_H
#define RPCRDMA_PLUGIN_FIELDS_H

#include "flow/flow.h"
#include "wire/field.h"
#include "wireshark/protocol.h"

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

#endif
