/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iWARP's DDP and RDMAP headers: whether an FPDU can begin with any bytes of each length, and the operation of one that
 * can. mpa.c's part is played here: it gives what is plausible, as much of the ULPDU as was captured, and its length.
 */
#include "net/iwarp/tcp.h"
#include "proof.h"

static void on_op(void *context, const struct rpcrdma_op *op)
{
    (void)context;
    //@ assert op->caplen == 0 || \valid_read(op->data + (0 .. op->caplen - 1));
}

void rpcrdma_tcp_finding(struct rpcrdma_tcp *tcp, const struct rpcrdma_stream *s, enum rpcrdma_rule_id rule,
                         const char *what, uint64_t arg0, uint64_t arg1)
{
    //@ assert \valid_read(s);
}

static void one(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, const uint8_t *fpdu, uint32_t caplen)
{
    enum rpcrdma_plausible plausible = rpcrdma_ddp_plausible(fpdu, caplen);
    uint32_t length = rpcrdma_get_be16(fpdu), captured = caplen - 2;

    if (plausible == RPCRDMA_PLAUSIBLE_NO)
        return;
    for (int end = 0; end < 2; end++) {
        struct rpcrdma_stream *s = &c->stream[end];

        s->tagged_open[0] = maybe();
        s->tagged_open[1] = maybe();
        s->send_known = maybe();
        s->send_msn = any_word();
        s->send_offset = any_word();
    }
    rpcrdma_ddp(tcp, c, maybe(),
                &(struct rpcrdma_ulpdu){any_word(), any_word(), fpdu + 2, captured < length ? captured : length,
                                        length});
}

int main(void)
{
    static struct rpcrdma_tcp_connection c;
    static struct rpcrdma_tcp tcp;
    static struct rpcrdma_net net;

    net.sink.op = on_op;
    tcp.net = &net;
    //@ loop unroll 100000;
    for (size_t caplen = PROOF_FIRST; caplen <= PROOF_LAST; caplen++) {
        uint8_t *fpdu = any_bytes(caplen);

        rpcrdma_ddp_plausible(fpdu, caplen);
        rpcrdma_ddp_header_bytes(fpdu, caplen);
        if (caplen < 4)
            rpcrdma_ddp(&tcp, &c, maybe(),
                        &(struct rpcrdma_ulpdu){any_word(), any_word(), fpdu,
                                                Frama_C_interval(0, caplen < 2 ? 0 : 1), any_word()});
        /* the version of RDMAP, and each opcode there could be */
        //@ loop unroll 16;
        for (uint8_t opcode = 0; caplen >= 4 && opcode < 16; opcode++) {
            fpdu[3] = 0x40 | opcode;
            one(&tcp, &c, fpdu, (uint32_t)caplen);
        }
        free(fpdu);
    }
    return 0;
}
