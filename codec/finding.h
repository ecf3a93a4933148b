/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FINDING_H
#define RPCRDMA_FINDING_H

/*
 * Findings: what is wrong, missing or worth knowing. Every rule of every part stands in one table,
 * rule.def. A finding holds a rule and numbers; its text is made only when somebody prints it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"

RPCRDMA_BEGIN_DECLS

enum rpcrdma_severity {
    RPCRDMA_NOTE,          /* something was not seen: truncated, not captured, not decided */
    RPCRDMA_WARNING,       /* a rule of the protocol was broken, or data was lost */
    RPCRDMA_ERROR,         /* malformed */
    RPCRDMA_SEVERITY_COUNT /* how many there are */
};

/* Several may have one name. A rule of both versions of RPC-over-RDMA has an id for each, that of
 * version 2 ends in _2: by name it is the same rule, and each cites its own version's text. */
enum rpcrdma_rule_id {
#define RULE_NUMBER(number, id) RPCRDMA_RULE_##id = (number),
#include "rule_number.def"
#undef RULE_NUMBER
    RPCRDMA_RULE_COUNT /* one more than the highest number */
};

struct rpcrdma_rule {
    enum rpcrdma_rule_id id;
    const char *name; /* "truncated", "read-list-order": the JSON key `rule` */
    enum rpcrdma_severity severity;
    const char *section; /* "RFC 8166 section 3.3.1", or NULL */
    const char *text;    /* with {0} {1} {2} {3}: decimal arguments; {0x} 0x%08x; {0:byte|bytes}
                          * the first where argument 0 is 1, else the second; {s} what; {d} the
                          * dialects whose bits are set in argument 0 */
};

/* What kind of rule it is: a set. */
enum {
    RPCRDMA_CLASS_CAPTURE = 1u << 0,   /* of the capture, not of what was sent */
    RPCRDMA_CLASS_HEADER = 1u << 1,    /* transport header, set-up */
    RPCRDMA_CLASS_CHUNK = 1u << 2,     /* chunk lists, and the RDMA to them */
    RPCRDMA_CLASS_RPC = 1u << 3,       /* RPC messages and transactions */
    RPCRDMA_CLASS_CREDIT = 1u << 4,    /* credits, inline thresholds */
    RPCRDMA_CLASS_TRANSPORT = 1u << 5, /* RDMA, TCP, IP */
    RPCRDMA_CLASS_UPPER = 1u << 6,     /* NFS and the programs beside it */
    RPCRDMA_CLASS_SECURITY = 1u << 7,  /* a mark of what peers were found to mishandle */
};
enum { RPCRDMA_CLASSES = 8 };

/* What must have been captured for a rule to be checked: a set. */
enum {
    RPCRDMA_NEEDS_SET_UP = 1u << 0, /* CM or MPA exchange */
    RPCRDMA_NEEDS_CALL = 1u << 1,
    RPCRDMA_NEEDS_BOTH = 1u << 2,  /* directions */
    RPCRDMA_NEEDS_WHOLE = 1u << 3, /* messages that the snap length did not cut */
    RPCRDMA_NEEDS_EVERY = 1u << 4, /* packet: none is missing so far */
};
enum { RPCRDMA_NEEDS = 5 };

/* What to say of a rule: rule_help.def. */
struct rpcrdma_rule_help {
    unsigned classes, needs;
    const char *meaning, *cause, *action; /* sentences */
};

struct rpcrdma_finding {
    enum rpcrdma_rule_id rule;
    uint64_t frame; /* 0: belongs to no frame */
    int64_t offset; /* in the message; -1: no place in it */
    uint64_t arg[4];
    const char *what; /* static text for {s}, or NULL */
    uint32_t transmission,
        transmissions; /* of what it is about: which one, of how many; 0: not known */
    bool has_time;     /* of `frame`: given where that may be another packet than the one in hand */
    int64_t time_ns;   /* since the epoch */
};

/* The rule, and what to say of it. Static storage; never NULL for a valid id. */
RPCRDMA_API const struct rpcrdma_rule *rpcrdma_rule(enum rpcrdma_rule_id id);
RPCRDMA_API const struct rpcrdma_rule_help *rpcrdma_rule_help(enum rpcrdma_rule_id id);

/* "security" of RPCRDMA_CLASS_SECURITY, "set-up" of RPCRDMA_NEEDS_SET_UP: by the number of the bit,
 * less than RPCRDMA_CLASSES and RPCRDMA_NEEDS. */
RPCRDMA_API const char *rpcrdma_class_name(unsigned bit);
RPCRDMA_API const char *rpcrdma_needs_name(unsigned bit);

/* "note", "warning", "error". */
RPCRDMA_API const char *rpcrdma_severity_name(enum rpcrdma_severity severity);

/* The value that is wrong, or that the finding is about: the first number of its text that is no
 * chunk's index. False: it has none, and *value is left as it is. */
RPCRDMA_API bool rpcrdma_finding_value(const struct rpcrdma_finding *finding, uint64_t *value);

/* Writes the finding's text, NUL-terminated and cut to size. Returns the length it would have. */
RPCRDMA_API size_t rpcrdma_finding_text(const struct rpcrdma_finding *finding, char *buf,
                                        size_t size);

RPCRDMA_END_DECLS

#endif
