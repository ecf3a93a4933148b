/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/calls_sqlite.h"

static const struct sqlite_calls calls = {SQLITE_CALLS(MODULE_ENTRY)};

MODULE(sqlite, calls);
