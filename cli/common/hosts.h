/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_HOSTS_H
#define RPCRDMA_CLI_COMMON_HOSTS_H

/*
 * Names of hosts, as the captures that are read have them (pcapng's name resolution blocks); nobody
 * is asked. For text that people read: JSON, tables and expressions have addresses.
 */

#include <stdbool.h>
#include <stddef.h>

#include "op.h"

enum {
    HOST_NAME = 47,    /* bytes of a name that are shown; a longer one ends in "..." */
    HOSTS_MOST = 4096, /* further ones are not known */
};

/* The first name of an address is its name. One that is no name of a host (letters, digits, '-',
 * '_' and '.', RFC 952) is none. */
void hosts_learn(const struct rpcrdma_address *address, const char *name, size_t length);

/* NULL: not known, or names are not to be shown. */
const char *hosts_name(const struct rpcrdma_address *address);

void hosts_show(bool show); /* true at first */

#endif
