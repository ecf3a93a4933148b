/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_PREFS_H
#define RPCRDMA_PLUGIN_PREFS_H

/* What the user has set under Preferences, Protocols. */

#include "wireshark/compat.h"

struct settings {
    range_t *ports;         /* service ports */
    int dialect;            /* enum rpcrdma_dialect_id; RPCRDMA_DIALECT_COUNT: find out */
    ws_bool put_together;   /* chunks and continued messages into whole RPC messages */
    ws_bool leave_version1; /* to Wireshark's own dissector */
    ws_bool old_names;      /* its fields, too */
    int credits;            /* enum credit_accounting */
    unsigned memory_mib;
};

/* What is made of credits, and how version 2's rdma_credit is read. */
enum credit_accounting {
    CREDITS_FIND_OUT,
    CREDITS_AS_SENT,
    CREDITS_AS_RECEIVED,
    CREDITS_NONE,
};
extern struct settings settings;
void settings_register(void);

#endif
