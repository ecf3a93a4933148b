/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The independent judge: the XDR of one wire format, as published, compiled by rpcgen, against our
 * codec. Built once per format; the format's family says what rpcgen calls things.
 *
 *     ours -> theirs   our encoder's bytes, decoded by rpcgen's code, say what was encoded
 *     theirs -> ours   rpcgen's bytes, decoded by us, say what was encoded, and are our bytes
 *     both verdicts    bytes with a word changed are right or wrong by both
 *
 * RPCRDMA_JUDGE_CASES and RPCRDMA_JUDGE_SEED (environment) override how many and which.
 */
#include "judge.h" /* rpcgen's */

#include "map.h"
#include "random.h"
#include "vectors.h"

#include JUDGE_FAMILY

enum { SIZE = 65536 };

static uint8_t ours[SIZE], theirs[SIZE];
static struct random_message r;
static struct map map;
static char context[160];

__attribute__((noreturn)) static void broken(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", context, what, why);
    exit(1);
}

/* rpcgen's bytes of a message; the payload behind the first word is not XDR's. */
static size_t encode_theirs(const struct rpcrdma_message *m, uint8_t *buf)
{
    judge_header x;
    XDR xdrs;
    size_t n, words = judge_has_first_word(m->type) ? 4 : 0;

    memset(&x, 0, sizeof(x));
    map_start(&map, m, true);
    map_header(&map, &x);
    xdrmem_create(&xdrs, (char *)buf, SIZE, XDR_ENCODE);
    if (!judge_code(&xdrs, &x))
        broken("theirs", "does not encode");
    n = xdr_getpos(&xdrs);
    if (m->payload.len > words)
        memcpy(buf + n, m->payload.data + words, m->payload.len - words);
    return n + (m->payload.len > words ? m->payload.len - words : 0);
}

/* Whether rpcgen's code decodes the bytes; if so, checks that they say what m says. */
static bool decode_theirs(const uint8_t *buf, size_t len, const struct rpcrdma_message *m,
                          size_t *header_length)
{
    judge_header x;
    XDR xdrs;
    bool ok;

    memset(&x, 0, sizeof(x));
    xdrmem_create(&xdrs, (char *)(uintptr_t)buf, (unsigned)len, XDR_DECODE);
    ok = judge_code(&xdrs, &x);
    if (ok && m) {
        *header_length = xdr_getpos(&xdrs) - (judge_has_first_word(m->type) ? 4 : 0);
        map_start(&map, m, false);
        map_header(&map, &x);
        if (map.differs)
            broken("the two differ", map.why);
    }
    xdr_free((xdrproc_t)judge_code, &x);
    return ok;
}

static void decode_ours(const uint8_t *buf, size_t len, struct rpcrdma_message *m)
{
    if (rpcrdma_message_decode(rpcrdma_dialect(JUDGE_DIALECT), buf, len, len, m) != RPCRDMA_OK)
        broken("ours does not decode", m->what);
    if (m->noncanonical)
        broken("ours", "not canonical");
}

/* Both ways, for a message that was built. Leaves its bytes in `ours`; returns how many. */
static size_t judge(const struct rpcrdma_message *m)
{
    struct rpcrdma_message decoded;
    size_t n, n_theirs, header_length = 0;

    if (rpcrdma_message_encode(m, ours, SIZE, &n) != RPCRDMA_OK)
        broken("ours", "does not encode");
    if (!decode_theirs(ours, n, m, &header_length))
        broken("theirs", "does not decode what we encode");
    n_theirs = encode_theirs(m, theirs);
    if (n != n_theirs || memcmp(ours, theirs, n) != 0)
        broken("bytes", "ours and theirs differ");
    decode_ours(theirs, n_theirs, &decoded);
    decode_theirs(theirs, n_theirs, &decoded, &header_length);
    if (decoded.header_length != header_length)
        broken("header length", "ours and theirs differ");
    if (decoded.payload.len != m->payload.len ||
        (m->payload.len > 0 && memcmp(decoded.payload.data, m->payload.data, m->payload.len) != 0))
        broken("payload", "not what was encoded");
    return n;
}

/* What the XDR cannot say no to, or cannot say: then the verdicts need not agree. */
static bool beyond_xdr(const uint8_t *buf, size_t len, const struct rpcrdma_message *m)
{
    if (m->version != rpcrdma_dialect(JUDGE_DIALECT)->version)
        return true;             /* rpcgen's code does not look at the version */
    if (m->status != RPCRDMA_OK) /* libtirpc takes any number for an enum */
        return strcmp(m->what, "direction") == 0 || map_too_large(buf, len, m->error_off);
    if (JUDGE_CLOSED_ERRORS && m->kind == RPCRDMA_KIND_ERROR &&
        !rpcrdma_dialect_error(m->dialect, m->error.code))
        return true; /* a union without default */
    if (judge_has_first_word(m->type) && m->payload.len < 4)
        return true; /* the XDR wants the payload's first word */
    /* an error of a version 1 peer, which has no flags word */
    return m->dialect->family == RPCRDMA_FAMILY_FLAGS && m->kind == RPCRDMA_KIND_ERROR &&
           !(m->present & RPCRDMA_HAS_FLAGS) && len == 28;
}

/* The bytes of a good message with a word changed or the end cut off. */
static void verdicts(size_t n)
{
    struct rpcrdma_message m;
    size_t header_length = 0;
    uint8_t *p = ours + random_below((uint32_t)n / 4) * 4;
    bool ok;

    if (random_below(4) == 0) {
        n = random_below((uint32_t)n + 1);
    } else {
        p[0] = p[1] = p[2] = 0;
        p[3] = (uint8_t)random_below(16);
        if (random_below(4) == 0)
            p[2] = (uint8_t)random_below(16);
    }
    rpcrdma_message_decode(rpcrdma_dialect(JUDGE_DIALECT), ours, n, n, &m);
    if (beyond_xdr(ours, n, &m))
        return;
    ok = decode_theirs(ours, n, m.status == RPCRDMA_OK ? &m : NULL, &header_length);
    if (ok != (m.status == RPCRDMA_OK))
        broken("verdict", ok ? m.what : "theirs does not decode");
    if (ok && m.header_length != header_length)
        broken("header length of changed bytes", "ours and theirs differ");
}

static void random_cases(uint64_t cases)
{
    const struct rpcrdma_dialect *dialect = rpcrdma_dialect(JUDGE_DIALECT);

    for (uint64_t i = 0; i < cases; i++) {
        const struct rpcrdma_type_desc *type =
            &dialect->types[random_below((uint32_t)dialect->n_types)];

        snprintf(context, sizeof(context), "random case %llu, %s", (unsigned long long)i,
                 type->name);
        random_message(&r, dialect, type, JUDGE_CLOSED_ERRORS, judge_has_first_word(type->value));
        verdicts(judge(&r.m));
    }
}

/* The vectors of the unit tests: bytes and structs written by hand. */
static unsigned table_cases(void)
{
    unsigned judged = 0;

    for (const struct vector_table *const *t = vector_tables(); *t; t++)
        for (size_t i = 0; i < (*t)->count; i++) {
            const struct vector *v = &(*t)->vectors[i];
            struct rpcrdma_message m = v->want;
            size_t len;
            uint8_t *bytes;

            m.dialect = rpcrdma_dialect(v->dialect);
            m.present = RPCRDMA_HAS_VERSION;
            if (v->dialect != JUDGE_DIALECT || v->without_flags ||
                beyond_xdr(NULL, 0, &m)) /* rpcgen cannot say it */
                continue;
            m.present = 0;
            snprintf(context, sizeof(context), "%s", v->name);
            bytes = unhex(v->hex, &len);
            if (judge(&m) != len || memcmp(ours, bytes, len) != 0)
                broken("bytes", "not those of the table");
            free(bytes);
            judged++;
        }
    return judged;
}

/* Every constant of the XDR, by name: constants.h is made from it by constants.sh. */
static const struct {
    const char *name;
    uint32_t value;
} constants[] = {
#define CONSTANT(name) {#name, name},
#include "constants.h"
#undef CONSTANT
};

enum role { TYPE, CODE, PROPERTY, FLAG, LEVEL };

static enum role role_of(const char *name)
{
    if (strstr(name, "RVRSDIR") || strstr(name, "REQSUP"))
        return LEVEL;
    if (strstr(name, "PROPID"))
        return PROPERTY;
    if (strstr(name, "_F_"))
        return FLAG;
    return strstr(name, "ERR_") ? CODE : TYPE;
}

/* What our tables call the constant's value; NULL: nothing. */
static const char *our_name(enum role role, uint32_t value)
{
    const struct rpcrdma_dialect *d = rpcrdma_dialect(JUDGE_DIALECT);
    const struct rpcrdma_type_desc *type = rpcrdma_dialect_type(d, value);
    const struct rpcrdma_error_desc *error = rpcrdma_dialect_error(d, value);
    const struct rpcrdma_property_desc *property = rpcrdma_dialect_property(d, value);

    if (role == TYPE)
        return type ? type->name : NULL;
    if (role == CODE)
        return error ? error->name : NULL;
    return property ? property->xdr : NULL;
}

static uint32_t our_flag(const char *name)
{
    const struct rpcrdma_dialect *d = rpcrdma_dialect(JUDGE_DIALECT);

    if (strstr(name, "_F_RESPONSE"))
        return d->flag_response;
    return strstr(name, "_F_TPMORE") ? d->flag_tpmore : d->flag_more;
}

static void names_and_numbers(void)
{
    const struct rpcrdma_dialect *d = rpcrdma_dialect(JUDGE_DIALECT);
    size_t seen[LEVEL + 1] = {0}, flags;
    uint32_t level = 0;

    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        enum role role = role_of(constants[i].name);
        const char *name;

        snprintf(context, sizeof(context), "constant %s", constants[i].name);
        seen[role]++;
        if (role == LEVEL) {
            level = constants[i].value > level ? constants[i].value : level;
        } else if (role == FLAG) {
            if (our_flag(constants[i].name) != constants[i].value)
                broken("value", "not ours");
        } else {
            name = our_name(role, constants[i].value);
            if (!name || strcmp(name, constants[i].name) != 0)
                broken("name", name ? name : "ours has none");
        }
    }
    snprintf(context, sizeof(context), "constants");
    flags = (size_t)(d->flag_response != 0) + (size_t)(d->flag_more != 0) +
            (size_t)(d->flag_tpmore != 0);
    if (seen[TYPE] != d->n_types || seen[CODE] != d->n_errors ||
        seen[PROPERTY] != d->n_properties || seen[FLAG] != flags)
        broken("count", "ours has more than the XDR");
    for (size_t i = 0; i < d->n_properties; i++)
        if (d->properties[i].kind == RPCRDMA_PROPERTY_BRS &&
            d->properties[i].type == RPCRDMA_PROPERTY_TYPE_ENUM && d->properties[i].max != level)
            broken("reverse-direction levels", "not as many");
}

int main(void)
{
    const char *cases = getenv("RPCRDMA_JUDGE_CASES"), *seed = getenv("RPCRDMA_JUDGE_SEED");
    uint64_t n = cases ? strtoull(cases, NULL, 0) : JUDGE_CASES;
    uint64_t s = seed ? strtoull(seed, NULL, 0) : UINT64_C(0x9e3779b97f4a7c15) + JUDGE_DIALECT;
    unsigned judged;

    printf("%s: seed %#llx\n", rpcrdma_dialect(JUDGE_DIALECT)->name, (unsigned long long)s);
    random_seed(s);
    names_and_numbers();
    judged = table_cases();
    random_cases(n);
    printf("%u cases of the table, %llu random ones: equal\n", judged, (unsigned long long)n);
    return judged < 4; /* the table knows each format */
}
