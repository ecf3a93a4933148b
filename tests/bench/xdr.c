/* SPDX-License-Identifier: BSD-2-Clause */

/* How long decoding a header takes us, and how long it takes rpcgen's code with libtirpc, on the
 * same bytes in the same run. Built once per wire format, as tests/xdr/judge.c is. What the XDR
 * routines allocate they must free again: that is in their time. Build with optimisation. */

#include "judge.h" /* rpcgen's */

#include "map.h"
#include "sample.h"

#include JUDGE_FAMILY

enum { ROUNDS = 100000, TRIES = 20, WANTED = 20 };

static double ours(struct sample *s, const struct rpcrdma_dialect *dialect)
{
    double start = now_ns();

    for (int i = 0; i < ROUNDS; i++)
        if (rpcrdma_message_decode(dialect, s->buf, s->len, s->len, &s->message) != RPCRDMA_OK)
            abort();
    return (now_ns() - start) / ROUNDS;
}

static bool decode_theirs(struct sample *s, judge_header *x, unsigned *at)
{
    XDR xdrs;
    bool ok;

    memset(x, 0, sizeof(*x)); /* a pointer that is not NULL would be memory to decode into */
    xdrmem_create(&xdrs, (char *)s->buf, (unsigned)s->len, XDR_DECODE);
    ok = judge_code(&xdrs, x);
    *at = xdr_getpos(&xdrs);
    return ok;
}

static double theirs(struct sample *s)
{
    double start = now_ns();
    judge_header x;
    unsigned at;

    for (int i = 0; i < ROUNDS; i++) {
        if (!decode_theirs(s, &x, &at))
            abort();
        xdr_free((xdrproc_t)judge_code, &x);
    }
    return (now_ns() - start) / ROUNDS;
}

/* Both say the same, or there is nothing to compare. */
static void check(struct sample *s, const struct rpcrdma_dialect *dialect)
{
    static struct map map;
    const struct rpcrdma_message *m = &s->message;
    judge_header x;
    unsigned at;

    if (rpcrdma_message_decode(dialect, s->buf, s->len, s->len, &s->message) != RPCRDMA_OK ||
        !decode_theirs(s, &x, &at))
        abort();
    map_start(&map, m, false);
    map_header(&map, &x);
    if (map.differs || at != m->header_length + (judge_has_first_word(m->type) ? 4 : 0))
        abort();
    xdr_free((xdrproc_t)judge_code, &x);
}

int main(void)
{
    const struct rpcrdma_dialect *dialect = rpcrdma_dialect(JUDGE_DIALECT);
    uint32_t type = dialect->family == RPCRDMA_FAMILY_HTYPE ? 10 /* RDMA2_CALL_INLINE */ : 0;
    static const uint32_t segments[] = {0, 2, 8}; /* Linux sends 1 MiB over soft RoCE in 8 */
    static struct sample s;
    int slow = 0;

    for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++) {
        double best[2] = {1e9, 1e9};

        sample_build(&s, dialect, type, segments[i]);
        check(&s, dialect);
        for (int try = 0; try < TRIES; try++) {
            double a = ours(&s, dialect), b = theirs(&s);

            best[0] = a < best[0] ? a : best[0];
            best[1] = b < best[1] ? b : best[1];
        }
        printf("%-8s %-18s %u segments a chunk: %5.1f ns, rpcgen %6.1f ns: %5.1f times\n",
               dialect->name, rpcrdma_dialect_type(dialect, type)->name, segments[i], best[0],
               best[1], best[1] / best[0]);
        slow |= segments[i] > 0 && best[1] < WANTED * best[0];
    }
    return slow;
}
