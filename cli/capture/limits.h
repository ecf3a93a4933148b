/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_LIMITS_H
#define RPCRDMA_CLI_CAPTURE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* When to begin another file, and when to end. 0: never. */
struct capture_limits {
    uint64_t bytes;
    uint64_t files;
    int64_t duration_ns;
};

/* "duration:60", "filesize:1000" (kilobytes of 1000), "files:10", as tshark has them. False with
 * *error set. */
gboolean capture_limit_parse(const char *name, const char *text, struct capture_limits *limits,
                             GError **error);

/* Of packets that are read from a file: whether so much time lies between *since_ns, that of the
 * first, and now_ns. A clock that was set back begins anew. */
bool capture_limit_passed(int64_t *since_ns, int64_t now_ns, int64_t duration_ns);

#endif
