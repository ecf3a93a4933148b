/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lists.c takes for granted: the bytes that a reader calls a list's were captured. Each reader
 * starts here at the first byte; it knows no other but the cursor's. A Write list and a set of
 * properties reach from one place of the cursor to another, and the cursor stays within: `cursor`.
 */
#include "wire/message.c"

#include "proof.h"

int main(void)
{
    struct rpcrdma_words words;
    struct rpcrdma_span span;
    bool noncanonical;

    //@ loop unroll 100000;
    for (size_t caplen = PROOF_FIRST; caplen <= PROOF_LAST; caplen++) {
        uint8_t *data = any_bytes(caplen);
        const struct rpcrdma_cursor start = rpcrdma_cursor_init(data, caplen, any_length(caplen));
        struct rpcrdma_message m = {0};
        struct rpcrdma_cursor c = start;

        read_read_list(&c, &m, RPCRDMA_HAS_READ, &m.read, "Read list");
        //@ check read_list: m.read.count * 24 <= caplen;
        c = start;
        if (read_chunk(&c, &m.reply)) {
            //@ check chunk: 4 + m.reply.count * 16 <= caplen;
        }
        c = start;
        if (rpcrdma_read_words(&c, &words)) {
            //@ check words: 4 + words.count * 4 <= caplen;
        }
        c = start;
        if (rpcrdma_read_opaque(&c, &span, &noncanonical, "length", "bytes")) {
            //@ check opaque: 4 + span.caplen <= caplen;
        }
        //@ loop unroll 100000;
        for (size_t off = 0; off <= caplen; off++) {
            c = start;
            c.off = off;
            rpcrdma_cursor_take(&c, Frama_C_size_t_interval(0, SIZE_MAX), "anything");
            //@ check cursor: c.off <= caplen;
        }
        free(data);
    }
    return 0;
}
