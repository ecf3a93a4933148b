/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "wire/property.h"
#include "wire/xchar.h"

struct check {
    const struct rpcrdma_message *message;
    uint64_t frame;
    struct flow_findings *findings;
};

static void add(const struct check *c, enum rpcrdma_rule_id rule, uint32_t offset, const char *what,
                uint64_t arg0, uint64_t arg1)
{
    flow_finding_add(
        c->findings,
        &(struct rpcrdma_finding){
            .rule = rule, .frame = c->frame, .offset = offset, .arg = {arg0, arg1}, .what = what});
}

/* ietf-07 section 5.1, xcharext-01 section 2.1: too short or impossible is an error. Neither says
 * what too long is; the type's prefix is taken, with a warning. */
static void check_set(const struct check *c, const struct rpcrdma_propset *set, bool xchar)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(set, c->message->dialect, xchar);
    struct rpcrdma_property p;

    while (rpcrdma_property_next(&it, &p)) {
        if (p.state == RPCRDMA_PROPERTY_BAD)
            add(c, xchar ? RPCRDMA_RULE_XCHAR_BAD : RPCRDMA_RULE_PROPERTY_BAD, p.data.off,
                p.desc->name, p.id, p.data.len);
        else if (p.too_long)
            add(c, xchar ? RPCRDMA_RULE_XCHAR_LONG : RPCRDMA_RULE_PROPERTY_LONG, p.data.off,
                p.desc->name, p.id, p.data.len);
    }
}

static void check_xchar(const struct check *c)
{
    const struct rpcrdma_message *message = c->message;
    struct rpcrdma_xchar x;

    if (!rpcrdma_xchar_decode(message, &x))
        return;
    /* where the message itself failed, that was said */
    if (x.status == RPCRDMA_MALFORMED && message->status == RPCRDMA_OK)
        add(c, RPCRDMA_RULE_MALFORMED_XCHAR, x.error_off, x.what, 0, 0);
    if (x.noncanonical && !message->noncanonical)
        add(c, RPCRDMA_RULE_NONCANONICAL, message->optional.info.off, NULL, 0, 0);
    if (x.trailing)
        add(c, RPCRDMA_RULE_XCHAR_TRAILING, message->optional.info.off, rpcrdma_xchar_name(x.type),
            0, 0);
    check_set(c, &x.start, true);
    check_set(c, &x.want, true);
    check_set(c, &x.now, true);
}

void message_check_header(const struct rpcrdma_message *message, uint64_t frame,
                          struct flow_findings *findings)
{
    const struct check c = {message, frame, findings};

    if (message->trailing)
        add(&c, RPCRDMA_RULE_TRAILING, message->payload.off, NULL, message->payload.len, 0);
    if (message->present & RPCRDMA_HAS_PROPERTIES)
        check_set(&c, &message->properties, false);
    if (message->present & RPCRDMA_HAS_WANT)
        check_set(&c, &message->want, false);
    if (message->present & RPCRDMA_HAS_OTHER)
        check_set(&c, &message->other, false);
    if (message->present & RPCRDMA_HAS_NOW)
        check_set(&c, &message->now, false);
    if (message->present & RPCRDMA_HAS_OPTIONAL)
        check_xchar(&c);
}
