/* SPDX-License-Identifier: BSD-2-Clause */
/* The judge of the xchar messages: as judge.c, for what RDMA2_OPTIONAL of cel-01 carries. */
#include "judge.h" /* rpcgen's */

#define JUDGE_DIALECT RPCRDMA_CEL_01

#include "map.h"
#include "random.h"

enum { SIZE = 65536, INFO_OFF = 28 /* of optinfo in its message */ };

typedef struct {
    uint32_t type; /* opttype */
    union {
        optinfo_initxch init;
        optinfo_reqxch req;
        optinfo_respxch resp;
        optinfo_updxch upd;
    } body;
} judge_optinfo;

static struct map map;

__attribute__((noreturn)) static void broken(const char *what, const char *why)
{
    fprintf(stderr, "xchar: %s: %s\n", what, why);
    exit(1);
}

static bool_t judge_code(XDR *xdrs, judge_optinfo *x)
{
    switch (x->type) {
    case ROPT_INITXCH:
        return xdr_optinfo_initxch(xdrs, &x->body.init);
    case ROPT_REQXCH:
        return xdr_optinfo_reqxch(xdrs, &x->body.req);
    case ROPT_RESPXCH:
        return xdr_optinfo_respxch(xdrs, &x->body.resp);
    case ROPT_UPDXCH:
        return xdr_optinfo_updxch(xdrs, &x->body.upd);
    default:
        return FALSE;
    }
}

#define MAP_SPEC(map, x, set)                                                                      \
    MAP_SET(map, (x).xcharspec_len, (x).xcharspec_val, xchv_which, xchv_data, set, true)
#define MAP_SUBSET(map, x, words) map_words(map, &(x).xcharsubset_len, &(x).xcharsubset_val, words)

static void map_now(const struct rpcrdma_xchar *ours, optinfo_updxch *x)
{
    struct rpcrdma_property_iter it =
        rpcrdma_property_begin(&ours->now, rpcrdma_dialect(JUDGE_DIALECT), true);
    struct rpcrdma_property p;

    if (!rpcrdma_property_next(&it, &p))
        broken("ours", "UPD_XCHAR without a characteristic");
    MAP_PROPERTY(&map, x->optuxc_now, xchv_which, xchv_data, &p);
    SAME(&map, x->optuxc_pendclr, ours->pendclr);
}

static void map_optinfo(const struct rpcrdma_xchar *ours, judge_optinfo *x)
{
    SAME(&map, x->type, ours->type);
    switch (ours->type) {
    case ROPT_INITXCH:
        MAP_SPEC(&map, x->body.init.optixc_start, &ours->start);
        MAP_SUBSET(&map, x->body.init.optixc_nochg, &ours->nochg);
        break;
    case ROPT_REQXCH:
        MAP_SPEC(&map, x->body.req.optrqxc_want, &ours->want);
        break;
    case ROPT_RESPXCH:
        MAP_SUBSET(&map, x->body.resp.optrsxc_done, &ours->done);
        MAP_SUBSET(&map, x->body.resp.optrsxc_rej, &ours->rej);
        MAP_SUBSET(&map, x->body.resp.optrsxc_pend, &ours->pend);
        break;
    case ROPT_UPDXCH:
        map_now(ours, &x->body.upd);
        break;
    }
}

static size_t encode_theirs(const struct rpcrdma_xchar *ours, uint8_t *buf)
{
    judge_optinfo x;
    XDR xdrs;

    memset(&x, 0, sizeof(x));
    map_start(&map, NULL, true);
    map_optinfo(ours, &x);
    xdrmem_create(&xdrs, (char *)buf, SIZE, XDR_ENCODE);
    if (!judge_code(&xdrs, &x))
        broken("theirs", "does not encode");
    return xdr_getpos(&xdrs);
}

/* Whether rpcgen's code takes exactly the bytes; checks them against `ours` if given. */
static bool decode_theirs(const uint8_t *buf, size_t n, uint32_t type,
                          const struct rpcrdma_xchar *ours)
{
    judge_optinfo x;
    XDR xdrs;
    bool ok;

    memset(&x, 0, sizeof(x));
    x.type = type;
    xdrmem_create(&xdrs, (char *)(uintptr_t)buf, (unsigned)n, XDR_DECODE);
    ok = judge_code(&xdrs, &x) && xdr_getpos(&xdrs) == n;
    if (ok && ours) {
        map_start(&map, NULL, false);
        map_optinfo(ours, &x);
        if (map.differs)
            broken("the two differ", map.why);
    }
    xdr_free((xdrproc_t)judge_code, &x);
    return ok;
}

/* As it comes off the wire: inside a whole message. */
static bool decode_ours(uint32_t type, const uint8_t *info, size_t n, uint8_t *buf,
                        struct rpcrdma_xchar *x)
{
    struct rpcrdma_message m = {
        .dialect = rpcrdma_dialect(JUDGE_DIALECT),
        .version = 2,
        .type = 5, /* RDMA2_OPTIONAL */
        .optional = {.type = type,
                     .info = {.data = info, .caplen = (uint32_t)n, .len = (uint32_t)n}}};
    struct rpcrdma_message decoded;
    size_t written;

    if (rpcrdma_message_encode(&m, buf, SIZE, &written) != RPCRDMA_OK ||
        rpcrdma_message_decode(m.dialect, buf, written, written, &decoded) != RPCRDMA_OK)
        broken("message", "does not pass");
    if (!rpcrdma_xchar_decode(&decoded, x))
        broken("ours", "not taken for an xchar message");
    return x->status == RPCRDMA_OK && !x->trailing;
}

static void judge(const struct rpcrdma_xchar *x)
{
    static uint8_t ours[SIZE], theirs[SIZE], message[SIZE];
    struct rpcrdma_xchar decoded;
    size_t n, n_theirs;
    bool ok;

    if (rpcrdma_xchar_encode(x, ours, SIZE, &n) != RPCRDMA_OK)
        broken("ours", "does not encode");
    if (!decode_theirs(ours, n, x->type, x))
        broken("theirs", "does not decode what we encode");
    n_theirs = encode_theirs(x, theirs);
    if (n != n_theirs || memcmp(ours, theirs, n) != 0)
        broken("bytes", "ours and theirs differ");
    if (!decode_ours(x->type, theirs, n, message, &decoded) || decoded.noncanonical)
        broken("ours", "does not decode what rpcgen encodes");
    decode_theirs(theirs, n, x->type, &decoded);

    /* a word changed, or the end cut off: the verdicts agree */
    if (random_below(4) == 0) {
        n = random_below((uint32_t)n / 4 + 1) * 4;
    } else {
        uint8_t *p = theirs + random_below((uint32_t)n / 4) * 4;

        p[0] = p[1] = p[2] = 0;
        p[3] = (uint8_t)random_below(32);
    }
    ok = decode_ours(x->type, theirs, n, message, &decoded);
    if (!ok && map_too_large(theirs, n, decoded.error_off - INFO_OFF))
        return;
    if (decode_theirs(theirs, n, x->type, ok ? &decoded : NULL) != ok)
        broken("verdict", ok ? "theirs does not decode" : decoded.what);
}

/* The draft's constants against our tables. */
static void names_and_numbers(void)
{
    static const struct {
        const char *name;
        uint32_t id;
        enum rpcrdma_property_kind kind;
        enum rpcrdma_property_type type;
    } ids[] = {
        {"XCHAR_RBSIZ", XCHAR_RBSIZ, RPCRDMA_PROPERTY_RBSIZ, RPCRDMA_PROPERTY_TYPE_UINT32},
        {"XCHAR_RQREMINV", XCHAR_RQREMINV, RPCRDMA_PROPERTY_RRI, RPCRDMA_PROPERTY_TYPE_BOOL},
        {"XCHAR_BRS", XCHAR_BRS, RPCRDMA_PROPERTY_BRS, RPCRDMA_PROPERTY_TYPE_ENUM},
    };

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        const struct rpcrdma_property_desc *d = rpcrdma_xchar_property(ids[i].id);

        if (!d || strcmp(d->xdr, ids[i].name) != 0 || d->kind != ids[i].kind ||
            d->type != ids[i].type)
            broken("characteristic", ids[i].name);
        if (d->kind == RPCRDMA_PROPERTY_BRS && d->max != BKRQSUP_GENL)
            broken("characteristic", "levels");
    }
    if (RPCRDMA_XCHAR_INIT != ROPT_INITXCH || RPCRDMA_XCHAR_REQ != ROPT_REQXCH ||
        RPCRDMA_XCHAR_RESP != ROPT_RESPXCH || RPCRDMA_XCHAR_UPD != ROPT_UPDXCH)
        broken("opttype", "not the draft's");
    for (uint32_t t = 1; t <= 4; t++)
        if (!rpcrdma_xchar_name(t))
            broken("opttype", "no name");
}

int main(void)
{
    static struct random_message r;
    const char *cases = getenv("RPCRDMA_JUDGE_CASES"), *seed = getenv("RPCRDMA_JUDGE_SEED");
    uint64_t n = cases ? strtoull(cases, NULL, 0) : JUDGE_CASES;
    uint64_t s = seed ? strtoull(seed, NULL, 0) : 0x9e3779b97f4a7c15;
    struct rpcrdma_xchar x;

    printf("xchar: seed %#llx\n", (unsigned long long)s);
    random_seed(s);
    names_and_numbers();
    for (uint64_t i = 0; i < n; i++) {
        random_xchar(&r, 1 + random_below(4), &x);
        judge(&x);
    }
    printf("%llu random cases: equal\n", (unsigned long long)n);
    return 0;
}
