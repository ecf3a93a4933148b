/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_XDR_GRAMMAR_TEXT_H
#define RPCRDMA_UPPER_XDR_GRAMMAR_TEXT_H

/*
 * Finding one's way in the text of a grammar (upper/xdr_grammar.h), whatever is done with the items
 * that it describes: xdr_grammar.c steps over them, the command's sanitize replaces them. The text
 * is a table's, never the input's: one that is not well formed is an assertion.
 */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number at *g; moves *g past it. */
static inline uint32_t rpcrdma_grammar_number(const char **g)
{
    uint32_t n = 0;

    assert(**g >= '0' && **g <= '9');
    while (**g >= '0' && **g <= '9')
        n = n * 10 + (uint32_t)(*(*g)++ - '0');
    return n;
}

/* From anywhere in a group to the character that ends it. */
static inline const char *rpcrdma_grammar_end(const char *g)
{
    for (int depth = 0;; g++) {
        if (*g == '[' || *g == '{' || *g == '<')
            depth++;
        else if (depth == 0 && (*g == ']' || *g == '}' || *g == '>' || *g == ';' || *g == '\0'))
            return g;
        else if (*g == ']' || *g == '}' || *g == '>')
            depth--;
        assert(*g != '\0');
    }
}

/* The arm of a union for this value, NULL where it has none; *g, at its first value, moves past the
 * union. */
static inline const char *rpcrdma_grammar_arm(const char **g, uint32_t value)
{
    const char *at = *g, *arm = NULL;

    for (;; at++) {
        bool mine = false;

        for (;; at++) {
            if (*at == '*') {
                at++;
                mine = mine || !arm;
            } else if (rpcrdma_grammar_number(&at) == value) {
                mine = true;
            }
            if (*at != ',')
                break;
        }
        assert(*at == ':');
        at++;
        if (mine)
            arm = at;
        at = rpcrdma_grammar_end(at);
        if (*at == '>')
            break;
        assert(*at == ';');
    }
    *g = at + 1;
    return arm;
}

#endif
