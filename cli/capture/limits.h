/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_LIMITS_H
#define RPCRDMA_CLI_CAPTURE_LIMITS_H

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

#endif
