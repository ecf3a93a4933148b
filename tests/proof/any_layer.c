/* SPDX-License-Identifier: BSD-2-Clause */
/* The layers that are in other files than the one that PROOF_OF_... names, and the sink. */
#include "layer.h"

#include "net/packet/damage.h"
#include "net/packet/vnet.h"

uint16_t rpcrdma_vnet_of(const struct rpcrdma_layer *l, const uint8_t *transport, size_t n, bool begins)
{
    (void)l;
    (void)begins;
    //@ assert n == 0 || \valid_read(transport + (0 .. n - 1));
    return (uint16_t)any_word();
}

static void on_finding(void *context, const struct rpcrdma_finding *finding)
{
    (void)context;
    //@ assert finding->frame >= 0 && finding->rule >= 0;
}

void on_op(void *context, const struct rpcrdma_op *op)
{
    (void)context;
    //@ assert op->caplen == 0 || \valid_read(op->data + (0 .. op->caplen - 1));
    if (op->connect) {
        const struct rpcrdma_op_connect *c = op->connect;

        //@ assert c->private_caplen == 0 || \valid_read(c->private_data + (0 .. c->private_caplen - 1));
    }
}

void layer_begin(struct layer_proof *p, const uint8_t *data, size_t caplen, size_t len)
{
    struct rpcrdma_layer *l = &p->layer;

    ANY(&p->net);
    p->net.sink = (struct rpcrdma_net_sink){
        .size = sizeof(p->net.sink), .op = on_op, .finding = maybe() ? on_finding : NULL};
    p->net.icrc = maybe() ? &p->crc : NULL;
    p->net.tcp = NULL;
    p->net.check_crc = maybe();
    p->net.give_icrc = maybe();
    p->net.icrc_on_request = maybe();
    p->net.headers_only = maybe();
    p->net.in_hand = NULL;
    p->net.icrc_true = maybe();
    p->net.icrc_false = maybe();
    p->net.replays = maybe();
    p->net.failed = maybe();
    p->net.told_truncated = maybe();
    p->net.told_ip_length = maybe();
    p->net.told_depth = maybe();
    p->net.unreachables.n = (uint32_t)Frama_C_interval(0, RPCRDMA_UNREACHABLES);
    p->net.neighbours.n = (uint32_t)Frama_C_interval(0, RPCRDMA_NEIGHBOURS);
    //@ loop unroll RPCRDMA_NEIGHBOURS;
    for (uint32_t i = 0; i < RPCRDMA_NEIGHBOURS; i++)
        p->net.neighbours.entry[i].answered = maybe();
    p->net.claims.n = (uint32_t)Frama_C_interval(0, RPCRDMA_CLAIMERS);
    p->net.claims.n_changes = (uint32_t)Frama_C_interval(0, RPCRDMA_CLAIMS);
    p->net.op.data = NULL;
    p->net.op.connect = NULL;
    ANY(&p->packet);
    p->packet.data = data;
    p->packet.caplen = (uint32_t)caplen;
    p->packet.len = (uint32_t)len;
    ANY(&p->lrh);
    ANY(&p->udp);
    ANY(&p->ipv4);
    ANY(&p->ipv6);
    ANY(&p->address);
    ANY(l);
    l->net = &p->net;
    l->packet = &p->packet;
    l->c = rpcrdma_cursor_init(data, caplen, len);
    l->c.status = (enum rpcrdma_status)Frama_C_interval(RPCRDMA_OK, RPCRDMA_MALFORMED);
    l->network = maybe() ? NULL : maybe() ? p->ipv4 : p->ipv6;
    l->lrh = maybe() ? NULL : p->lrh;
    l->udp = maybe() ? NULL : p->udp;
    l->src = l->dst = p->address;
}

enum rpcrdma_verdict any_layer(struct rpcrdma_layer *l)
{
    //@ assert l->network == \null || \valid_read(l->network + (0 .. 19));
    //@ assert l->lrh == \null || \valid_read(l->lrh + (0 .. 7));
    //@ assert l->udp == \null || \valid_read(l->udp + (0 .. 7));
    return (enum rpcrdma_verdict)Frama_C_interval(0, 5);
}

/* And for the BTH, which reads addresses. */
static enum rpcrdma_verdict any_bth(struct rpcrdma_layer *l)
{
    if (l->family == RPCRDMA_ADDRESS_IPV4) {
        //@ assert \valid_read(l->src + (0 .. 3)) && \valid_read(l->dst + (0 .. 3));
    } else if (l->family == RPCRDMA_ADDRESS_IPV6) {
        //@ assert \valid_read(l->src + (0 .. 15)) && \valid_read(l->dst + (0 .. 15));
        //@ assert \valid_read(l->network + (0 .. 39));
    } else {
        //@ assert \valid_read(l->src + (0 .. 1)) && \valid_read(l->dst + (0 .. 1));
    }
    return any_layer(l);
}

#define ENTRY(name)                                                                                \
    enum rpcrdma_verdict name(struct rpcrdma_layer *l)                                             \
    {                                                                                              \
        return any_layer(l);                                                                       \
    }

#ifndef PROOF_OF_link
ENTRY(rpcrdma_layer_ethernet)
enum rpcrdma_verdict rpcrdma_layer_ethertype(struct rpcrdma_layer *l, uint16_t type)
{
    (void)type;
    return any_layer(l);
}
#endif
#ifndef PROOF_OF_ip
ENTRY(rpcrdma_layer_ip)
enum rpcrdma_verdict rpcrdma_layer_grh(struct rpcrdma_layer *l)
{
    //@ assert l->carrier != RPCRDMA_CARRIER_ROCEV2;
    return any_layer(l);
}
bool rpcrdma_layer_deeper(struct rpcrdma_layer *l)
{
    l->depth++;
    return maybe();
}
#endif
#ifndef PROOF_OF_unreachable
void rpcrdma_unreachable_note(struct rpcrdma_layer *l)
{
    (void)any_layer(l);
}
#endif
#ifndef PROOF_OF_neighbour
void rpcrdma_neighbour_note(struct rpcrdma_layer *l)
{
    (void)any_layer(l);
}
void rpcrdma_neighbour_note_ipv6(struct rpcrdma_layer *l)
{
    (void)any_layer(l);
}
#endif
#ifndef PROOF_OF_tunnel
ENTRY(rpcrdma_layer_vxlan)
ENTRY(rpcrdma_layer_geneve)
ENTRY(rpcrdma_layer_gre)
ENTRY(rpcrdma_layer_mpls)
ENTRY(rpcrdma_layer_pppoe)
ENTRY(rpcrdma_layer_pbb)
ENTRY(rpcrdma_layer_gtp)
ENTRY(rpcrdma_layer_fabricpath)
ENTRY(rpcrdma_layer_vxlan_gpe)
ENTRY(rpcrdma_layer_tzsp)
ENTRY(rpcrdma_layer_l2tp_ip)
ENTRY(rpcrdma_layer_l2tp_udp)
#endif
#ifndef PROOF_OF_ib
ENTRY(rpcrdma_layer_infiniband)
ENTRY(rpcrdma_layer_erf)
#endif
#ifndef PROOF_OF_bth
enum rpcrdma_verdict rpcrdma_layer_bth(struct rpcrdma_layer *l)
{
    //@ assert l->carrier != RPCRDMA_CARRIER_ROCEV2 || l->udp != \null;
    return any_bth(l);
}
#endif
#ifndef PROOF_OF_cm
enum rpcrdma_verdict rpcrdma_layer_cm(struct rpcrdma_layer *l, struct rpcrdma_op *op)
{
    //@ assert \valid(op);
    return any_layer(l);
}
#endif
/* The checksum's own way through the packet is not looked at: it follows pointers that other layers kept. */
bool rpcrdma_layer_icrc_good(const struct rpcrdma_layer *l, const uint8_t *bth, const uint8_t *end)
{
    (void)l;
    //@ assert \valid_read(bth + (0 .. 11)) && \valid_read(end + (-4 .. -1));
    return maybe();
}

bool rpcrdma_layer_icrc_damaged(struct rpcrdma_layer *l, bool *good)
{
    //@ assert \valid_read(l->bth + (0 .. 11)) && \valid_read(l->end + (-4 .. -1));
    *good = maybe();
    return !*good && maybe();
}

bool rpcrdma_layer_misfit_damaged(struct rpcrdma_layer *l, size_t bth)
{
#ifndef PROOF_OF_ip /* the other cursor has no places */
    //@ assert bth <= l->c.len && l->c.caplen <= l->c.len;
#endif
    return maybe();
}

/* Nor is how many of a source's were right. */
bool rpcrdma_layer_damaged(const struct rpcrdma_layer *l, uint8_t checked, bool right)
{
    (void)checked;
    //@ assert \valid_read(l);
    return maybe() && !right;
}
