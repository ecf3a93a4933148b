/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/layer.h"

/*
 * Tags end with the Ethertype of what follows them, so most are a matter of their length.
 */

/* Arista's: subtype 16 | version 16 | and, of subtype 1, a time stamp of 64 bits (versions ..1x) or
 * 48 bits (..2x); 0x01xx is UTC, 0x00xx TAI. 0: none of these. */
static size_t arista_bytes(const struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_peek(&l->c, 4);

    if (!p)
        return 4;
    if (rpcrdma_get_be16(p) != 1 || p[2] > 1)
        return 0;
    switch (p[3] >> 4) {
    case 1:
        return 4 + 8 + 2;
    case 2:
        return 4 + 6 + 2;
    default:
        return 0;
    }
}

/* 802.1AE section 9.3: TCI 6 (V, ES, SC, SCB, E, C) | AN 2 | short length 8 | PN 32 | SCI 64, if
 * SC. Where neither E nor C is set, what follows is as it was; behind it is the integrity check
 * value, which the lengths of IP and GRH leave out. */
static size_t macsec_bytes(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_peek(&l->c, 1);

    if (!p)
        return 6 + 2;
    if (p[0] & 0x0c) {
        rpcrdma_layer_other(l, RPCRDMA_OTHER_ENCRYPTED, RPCRDMA_ETHERTYPE_MACSEC);
        return 0;
    }
    if (p[0] & 0x80) /* version: only 0 exists */
        return 0;
    return 6 + (p[0] & 0x20 ? 8u : 0) + 2;
}

/* 802.1Q section 9.6: ID 0 is none, the tag says the priority. */
static void vlan(struct rpcrdma_layer *l, uint16_t id)
{
    if (id == 0)
        return;
    if (l->outer_vlan == 0)
        l->outer_vlan = l->vlan;
    l->vlan = id;
}

bool rpcrdma_layer_tag(struct rpcrdma_layer *l, uint16_t *type, enum rpcrdma_verdict *verdict)
{
    const uint8_t *tag;
    size_t bytes;
    bool is_vlan = false;

    rpcrdma_layer_other(l, RPCRDMA_OTHER_ETHERTYPE, *type < 0x600 ? 0 : *type);
    switch (*type) {
    case RPCRDMA_ETHERTYPE_VLAN:
    case RPCRDMA_ETHERTYPE_QINQ:
    case RPCRDMA_ETHERTYPE_QINQ_OLD:
        bytes = 2 + 2;
        is_vlan = true;
        break;
    case RPCRDMA_ETHERTYPE_VN_TAG: /* direction, pointer, destination | looped, reserved, source */
    case RPCRDMA_ETHERTYPE_R_TAG:  /* reserved 16 | sequence number 16 */
    case RPCRDMA_ETHERTYPE_HSR:    /* path 4 | LSDU size 12 | sequence number 16 */
        bytes = 4 + 2;
        break;
    case RPCRDMA_ETHERTYPE_CMD: /* version 8 | length 8 | option 16 | security group 16 */
        bytes = 6 + 2;
        break;
    case RPCRDMA_ETHERTYPE_ARISTA:
        bytes = arista_bytes(l);
        break;
    case RPCRDMA_ETHERTYPE_MACSEC:
        bytes = macsec_bytes(l);
        break;
    default:
        bytes = 0;
        break;
    }
    if (bytes == 0) {
        *verdict = RPCRDMA_IS_OTHER;
        return false;
    }
    tag = rpcrdma_cursor_take(&l->c, bytes, "tag");
    if (!tag) {
        *verdict = rpcrdma_layer_failed(l, false);
        return false;
    }
    if (is_vlan)
        vlan(l, rpcrdma_get_be16(tag) & 0x0fff);
    *type = rpcrdma_get_be16(tag + bytes - 2);
    return true;
}
