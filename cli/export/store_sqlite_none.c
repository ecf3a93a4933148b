/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/stores.h"

#ifndef HAVE_SQLITE

bool store_sqlite_built(void)
{
    return false;
}

bool store_sqlite_prepare(char *error, size_t size)
{
    (void)error;
    (void)size;
    return false;
}

struct store *store_sqlite(const struct database_name *name, size_t bytes, bool quiet, bool shared)
{
    (void)name;
    (void)bytes;
    (void)quiet;
    (void)shared;
    return NULL;
}

int store_sqlite_finish(const struct database_name *name, size_t bytes, bool quiet)
{
    (void)name;
    (void)bytes;
    (void)quiet;
    return EXIT_UNUSABLE;
}

#endif
