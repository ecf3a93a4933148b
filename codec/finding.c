/* SPDX-License-Identifier: BSD-2-Clause */
#include "finding.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/dialect.h"

static const struct rpcrdma_rule rules[] = {
#define RULE(id, name, severity, section, text)                                                    \
    [RPCRDMA_RULE_##id] = {RPCRDMA_RULE_##id, name, severity, section, text},
#include "rule.def"
#undef RULE
};

static const struct rpcrdma_rule_help helps[RPCRDMA_RULE_COUNT] = {
#define CAPTURE RPCRDMA_CLASS_CAPTURE
#define HEADER RPCRDMA_CLASS_HEADER
#define CHUNK RPCRDMA_CLASS_CHUNK
#define RPC RPCRDMA_CLASS_RPC
#define CREDIT RPCRDMA_CLASS_CREDIT
#define TRANSPORT RPCRDMA_CLASS_TRANSPORT
#define UPPER RPCRDMA_CLASS_UPPER
#define SECURITY RPCRDMA_CLASS_SECURITY
#define SET_UP RPCRDMA_NEEDS_SET_UP
#define CALL RPCRDMA_NEEDS_CALL
#define BOTH RPCRDMA_NEEDS_BOTH
#define WHOLE RPCRDMA_NEEDS_WHOLE
#define EVERY RPCRDMA_NEEDS_EVERY
#define HELP(id, classes, needs, meaning, cause, action)                                           \
    [RPCRDMA_RULE_##id] = {classes, needs, meaning, cause, action},
#include "rule_help.def"
#undef HELP
#undef CAPTURE
#undef HEADER
#undef CHUNK
#undef RPC
#undef CREDIT
#undef TRANSPORT
#undef UPPER
#undef SECURITY
#undef SET_UP
#undef CALL
#undef BOTH
#undef WHOLE
#undef EVERY
};

const struct rpcrdma_rule *rpcrdma_rule(enum rpcrdma_rule_id id)
{
    assert((size_t)id < RPCRDMA_RULE_COUNT);
    return &rules[id];
}

const struct rpcrdma_rule_help *rpcrdma_rule_help(enum rpcrdma_rule_id id)
{
    assert((size_t)id < RPCRDMA_RULE_COUNT);
    return &helps[id];
}

const char *rpcrdma_class_name(unsigned bit)
{
    static const char *const names[RPCRDMA_CLASSES] = {
        "capture", "header", "chunk", "rpc", "credit", "transport", "upper", "security",
    };

    assert(bit < RPCRDMA_CLASSES);
    return names[bit];
}

const char *rpcrdma_needs_name(unsigned bit)
{
    static const char *const names[RPCRDMA_NEEDS] = {
        "set-up",
        "Call",
        "both directions",
        "whole messages",
        "every packet",
    };

    assert(bit < RPCRDMA_NEEDS);
    return names[bit];
}

const char *rpcrdma_severity_name(enum rpcrdma_severity severity)
{
    static const char *const names[] = {"note", "warning", "error"};

    assert((size_t)severity < sizeof(names) / sizeof(names[0]));
    return names[severity];
}

static void put(char *buf, size_t size, size_t *at, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++, (*at)++)
        if (*at + 1 < size)
            buf[*at] = text[i];
}

/* The names of a set of dialects: a bit per enum rpcrdma_dialect_id. */
static void put_dialects(char *buf, size_t size, size_t *at, uint64_t set)
{
    const char *between = "";

    for (int id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        if (!(set >> id & 1))
            continue;
        const char *name = rpcrdma_dialect((enum rpcrdma_dialect_id)id)->name;

        put(buf, size, at, between, strlen(between));
        put(buf, size, at, name, strlen(name));
        between = ", ";
    }
}

bool rpcrdma_finding_value(const struct rpcrdma_finding *finding, uint64_t *value)
{
    static const char which[] = "chunk "; /* its index: not what is wrong with it */
    const size_t n = sizeof(which) - 1;
    const char *text = rpcrdma_rule(finding->rule)->text, *p = text;

    for (; (p = strchr(p, '{')); p++) {
        if (p[1] < '0' || p[1] > '3' || ((size_t)(p - text) >= n && memcmp(p - n, which, n) == 0))
            continue;
        *value = finding->arg[p[1] - '0'];
        return true;
    }
    return false;
}

/* What stands between { and }: "0:byte|bytes", which is the first where that argument is 1. */
static void put_plural(char *buf, size_t size, size_t *at, const char *p, uint64_t arg)
{
    const char *one = p + 2, *many = strchr(one, '|') + 1;

    if (arg == 1)
        put(buf, size, at, one, (size_t)(many - one) - 1);
    else
        put(buf, size, at, many, (size_t)(strchr(many, '}') - many));
}

size_t rpcrdma_finding_text(const struct rpcrdma_finding *finding, char *buf, size_t size)
{
    const char *p = rpcrdma_rule(finding->rule)->text;
    size_t at = 0;

    while (*p) {
        char number[24];
        const char *text = number;
        uint64_t arg;

        if (*p != '{') {
            put(buf, size, &at, p++, 1);
            continue;
        }
        if (p[1] == 'd') {
            put_dialects(buf, size, &at, finding->arg[0]);
            text = "";
        } else if (p[1] == 's') {
            text = finding->what ? finding->what : "?";
        } else {
            assert(p[1] >= '0' && p[1] <= '3');
            arg = finding->arg[p[1] - '0'];
            if (p[2] == ':') {
                put_plural(buf, size, &at, p + 1, arg);
                text = "";
            } else if (p[2] == 'x') {
                snprintf(number, sizeof(number), "0x%08" PRIx64, arg);
            } else {
                snprintf(number, sizeof(number), "%" PRIu64, arg);
            }
        }
        put(buf, size, &at, text, strlen(text));
        p = strchr(p, '}') + 1;
    }
    if (size > 0)
        buf[at < size ? at : size - 1] = '\0';
    return at;
}
