/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The encoders: any message, RPC header and characteristics, into a buffer of each size. PROOF_LIST
 * says which. Runs of bytes have one length here; `opaque` writes any, anywhere in the buffer.
 */
#include "proof.h"
#include "wire/message.h"
#include "wire/property.h"
#include "wire/rpc.h"
#include "wire/writer.h"
#include "wire/xchar.h"

static const uint8_t bytes[5]; /* an odd length for the padding */
static struct rpcrdma_property one_property;

/* Bytes, or none. */
static void any_span(struct rpcrdma_span *span, _Bool filled)
{
    *span = (struct rpcrdma_span){.data = filled ? bytes : NULL, .off = any_word()};
    span->caplen = span->len = filled ? sizeof(bytes) : 0;
}

/* From the wire, or an array. */
static void any_set(struct rpcrdma_propset *set)
{
    ANY(set);
    set->wire.data = maybe() ? bytes : NULL;
    set->properties = &one_property;
    set->count = Frama_C_unsigned_int_interval(0, 1);
}

static void any_property(_Bool filled)
{
    ANY(&one_property);
    one_property.state = Frama_C_interval(RPCRDMA_PROPERTY_VALUE, RPCRDMA_PROPERTY_BAD);
    any_span(&one_property.data, filled);
}

static void message(uint8_t *buf, size_t size, _Bool filled)
{
    static struct rpcrdma_message m;
    size_t written;

    ANY(&m);
    m.dialect = rpcrdma_dialect(RPCRDMA_V1);
    m.reply_present = maybe();
    any_span(&m.payload, filled);
    any_span(&m.optional.info, filled);
    any_set(&m.properties);
    any_set(&m.want);
    any_set(&m.other);
    any_set(&m.now);
    rpcrdma_message_encode(&m, buf, size, &written);
}

static void rpc(uint8_t *buf, size_t size, _Bool filled)
{
    static struct rpcrdma_rpc r;
    size_t written;

    ANY(&r);
    any_span(&r.cred, filled);
    any_span(&r.verf, filled);
    rpcrdma_rpc_encode(&r, buf, size, &written);
}

static void xchar(uint8_t *buf, size_t size, _Bool filled)
{
    static struct rpcrdma_xchar x;
    size_t written;

    ANY(&x);
    x.pendclr = maybe();
    any_set(&x.start);
    any_set(&x.want);
    any_set(&x.now);
    x.now.count = 1;
    rpcrdma_xchar_encode(&x, buf, size, &written);
}

static void opaque(uint8_t *buf, size_t size, _Bool filled)
{
    //@ loop unroll 100000;
    for (size_t off = 0; off <= size + 1; off++) {
        //@ loop unroll 100000;
        for (uint32_t n = 0; n <= size + 1; n++) {
            struct rpcrdma_writer w = {.buf = buf, .size = size, .off = off};
            uint8_t *data = any_bytes(n);

            rpcrdma_writer_opaque(&w, data, n);
            free(data);
        }
    }
}

int main(void)
{
    //@ loop unroll 100000;
    for (size_t size = PROOF_FIRST; size <= PROOF_LAST; size++) {
        uint8_t *buf = any_bytes(size);

        any_property(false);
        PROOF_LIST(buf, size, false);
        any_property(true);
        PROOF_LIST(buf, size, true);
        free(buf);
    }
    return 0;
}
