/* SPDX-License-Identifier: BSD-2-Clause */
/* The grammar tables of NFSv4 against values that the RFCs' own XDR describes. */
#include "test.h"

#include "upper/nfs4.h"
#include "upper/private.h"
#include "upper/xdr_grammar_text.h"

enum what { arguments, results };

struct vector {
    const struct rpcrdma_nfs4_operation *(*table)(uint32_t number);
    uint32_t number;
    enum what what;
    const char *hex;
};

static const struct vector vectors[] = {
#define operation rpcrdma_nfs4_operation
#define callback rpcrdma_nfs4_callback
#define VECTOR(table, number, what, hex) {table, number, what, hex},
#include "nfs4_vectors.def"
#undef VECTOR
#undef operation
#undef callback
};

enum { N_VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

static uint8_t nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    return n;
}

static const char *grammar(const struct vector *v)
{
    const struct rpcrdma_nfs4_operation *op = v->table(v->number);

    assert_non_null(op);
    assert_int_equal(op->number, v->number);
    return v->what == arguments ? op->arguments : op->results;
}

/* Steps over `caplen` bytes of `len` in a block of their own. */
static struct rpcrdma_cursor step(const char *g, const uint8_t *data, size_t caplen, size_t len)
{
    uint8_t *copy = heap_copy(data, caplen);
    struct rpcrdma_xdr x = {.in = rpcrdma_cursor_init(copy, caplen, len)};

    rpcrdma_xdr_step(&x, g);
    free(copy);
    return x.in;
}

static void every_value_is_stepped_over_to_its_end(void **state)
{
    uint8_t data[4096];

    (void)state;
    assert_true(N_VECTORS > 400);
    for (size_t i = 0; i < N_VECTORS; i++) {
        size_t n = from_hex(vectors[i].hex, data);
        struct rpcrdma_cursor in = step(grammar(&vectors[i]), data, n, n);

        if (in.status != RPCRDMA_OK || in.off != n)
            fail_msg("vector %zu, operation %u: status %d at %zu of %zu", i,
                     (unsigned)vectors[i].number, (int)in.status, in.off, n);
    }
}

static void a_cut_is_truncated_or_malformed(void **state)
{
    uint8_t data[4096];

    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        size_t n = from_hex(vectors[i].hex, data);

        for (size_t cut = 0; cut < n; cut++) {
            const char *g = grammar(&vectors[i]);
            struct rpcrdma_cursor in = step(g, data, cut, n);

            assert_int_equal(in.status, RPCRDMA_TRUNCATED);
            assert_true(in.off <= cut);
            assert_int_equal(step(g, data, cut, cut).status, RPCRDMA_MALFORMED);
        }
    }
}

static void every_number_has_vectors(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 11000; number++) {
        size_t of_operation = 0, of_callback = 0;

        for (size_t i = 0; i < N_VECTORS; i++)
            if (vectors[i].number == number) {
                of_operation += vectors[i].table == rpcrdma_nfs4_operation;
                of_callback += vectors[i].table == rpcrdma_nfs4_callback;
            }
        assert_int_equal(of_operation > 0, rpcrdma_nfs4_operation(number) != NULL);
        assert_int_equal(of_callback > 0, rpcrdma_nfs4_callback(number) != NULL);
    }
}

/* Well-formedness, without input: every arm is looked at. */
static const char *valid_group(const char *g)
{
    for (;;) {
        switch (*g) {
        case 'u':
        case 'h':
        case 's':
        case 'd':
            g++;
            break;
        case 'x':
            g++;
            if (*g < '1' || *g > '9' || rpcrdma_grammar_number(&g) % 4 != 0)
                return NULL;
            break;
        case '[':
        case '{': {
            char close = *g == '[' ? ']' : '}';

            if (g[1] == close)
                return NULL;
            g = valid_group(g + 1);
            if (!g || *g != close)
                return NULL;
            g++;
            break;
        }
        case '<':
            do {
                do {
                    g++;
                    if (*g == '*')
                        g++;
                    else if (*g >= '0' && *g <= '9')
                        rpcrdma_grammar_number(&g);
                    else
                        return NULL;
                } while (*g == ',');
                if (*g != ':')
                    return NULL;
                g = valid_group(g + 1);
            } while (g && *g == ';');
            if (!g || *g != '>')
                return NULL;
            g++;
            break;
        default:
            return g;
        }
    }
}

static bool valid(const char *grammar)
{
    const char *end = valid_group(grammar);

    return end && *end == '\0';
}

static void check_entry(const struct rpcrdma_nfs4_operation *op, uint32_t number)
{
    if (!op)
        return;
    assert_int_equal(op->number, number);
    assert_true(valid(op->arguments));
    assert_true(valid(op->results));
}

static void every_grammar_is_well_formed(void **state)
{
    static const char *const bad[] = {"]",   "[",    "[]",   "[u",    "<",       "<>",  "<0>",
                                      "<0:", "<0;>", "x",    "x3",    "x0",      "q",   "u;",
                                      "{}",  "{u]",  "<u:>", "<0,:>", "<0:u;;>", "u u", "<*:x7>"};

    (void)state;
    for (uint32_t number = 0; number < 11000; number++) {
        check_entry(rpcrdma_nfs4_operation(number), number);
        check_entry(rpcrdma_nfs4_callback(number), number);
    }
    assert_null(rpcrdma_nfs4_operation(UINT32_MAX));
    assert_null(rpcrdma_nfs4_callback(16));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (valid(bad[i]))
            fail_msg("taken as a grammar: %s", bad[i]);
}

/* Counts near 2^32 and arrays longer than what is there: refused at the count, nothing loops. */
static void impossible_counts_are_malformed_at_once(void **state)
{
    static const uint8_t ones[64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const char *const counted[] = {"s", "d", "[u]", "[s]", "[<0:;*:>]"};

    (void)state;
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
        for (size_t n = 4; n <= sizeof(ones); n++) {
            struct rpcrdma_cursor in = step(counted[i], ones, n, n);

            assert_int_equal(in.status, RPCRDMA_MALFORMED);
            assert_int_equal(in.error_off, 0);
        }
}

static void a_value_without_an_arm_is_malformed(void **state)
{
    static const uint8_t two[4] = {0, 0, 0, 2};

    (void)state;
    assert_int_equal(step("<0:;1:u>", two, 4, 4).status, RPCRDMA_MALFORMED);
    assert_int_equal(step("<0:;1:u;*:>", two, 4, 4).status, RPCRDMA_OK);
    assert_int_equal(step("<*:h;2:>", two, 4, 4).status, RPCRDMA_OK);
    assert_int_equal(step("<0,2:;*:h>", two, 4, 4).status, RPCRDMA_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_grammar_is_well_formed),
        cmocka_unit_test(every_number_has_vectors),
        cmocka_unit_test(every_value_is_stepped_over_to_its_end),
        cmocka_unit_test(a_cut_is_truncated_or_malformed),
        cmocka_unit_test(impossible_counts_are_malformed_at_once),
        cmocka_unit_test(a_value_without_an_arm_is_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
