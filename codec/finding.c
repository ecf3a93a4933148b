/* SPDX-License-Identifier: BSD-2-Clause */
#include "finding.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "each.h"
#include "rule_version.h"
#include "wire/dialect.h"

static const struct rpcrdma_rule rules[] = {
#define RULE(id, name, severity, section, text)                                                    \
    [RPCRDMA_RULE_##id] = {RPCRDMA_RULE_##id, name, severity, section, text},
#define RULE_2(id, name, severity, section, text) RULE(id##_2, name, severity, section, text)
#include "rule.def"
#undef RULE
#undef RULE_2
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
    return &helps[rule_of_version(id, 1)];
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
        "set-up", "Call", "both directions", "whole messages", "every packet",
    };

    assert(bit < RPCRDMA_NEEDS);
    return names[bit];
}

const char *rpcrdma_severity_name(enum rpcrdma_severity severity)
{
    static const char *const names[] = {"note", "warning", "error"};
    RPCRDMA_EACH(names, RPCRDMA_SEVERITY_COUNT);

    assert((size_t)severity < sizeof(names) / sizeof(names[0]));
    return names[severity];
}

/* The names of a set of dialects: a bit per enum rpcrdma_dialect_id. */
static void add_dialects(struct rpcrdma_text *to, uint64_t set)
{
    const char *between = "";

    for (int id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        if (!(set >> id & 1))
            continue;
        const char *name = rpcrdma_dialect((enum rpcrdma_dialect_id)id)->name;

        rpcrdma_text_add(to, between);
        rpcrdma_text_add(to, name);
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
static void add_plural(struct rpcrdma_text *to, const char *p, uint64_t arg)
{
    const char *one = p + 2, *many = strchr(one, '|') + 1;

    if (arg == 1)
        rpcrdma_text_add_n(to, one, (size_t)(many - one) - 1);
    else
        rpcrdma_text_add_n(to, many, (size_t)(strchr(many, '}') - many));
}

size_t rpcrdma_finding_text(const struct rpcrdma_finding *finding, char *buf, size_t size)
{
    const char *p = rpcrdma_rule(finding->rule)->text;
    struct rpcrdma_text to = {buf, size, 0};

    while (*p) {
        uint64_t arg;

        if (*p != '{') {
            rpcrdma_text_add_n(&to, p++, 1);
            continue;
        }
        if (p[1] == 'd') {
            add_dialects(&to, finding->arg[0]);
        } else if (p[1] == 's') {
            rpcrdma_text_add(&to, finding->what ? finding->what : "?");
        } else {
            assert(p[1] >= '0' && p[1] <= '3');
            arg = finding->arg[p[1] - '0'];
            if (p[2] == ':')
                add_plural(&to, p + 1, arg);
            else if (p[2] == 'x')
                rpcrdma_text_format(&to, "0x%08" PRIx64, arg);
            else
                rpcrdma_text_number(&to, arg);
        }
        p = strchr(p, '}') + 1;
    }
    return rpcrdma_text_end(&to);
}
