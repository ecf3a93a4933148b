/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/calls_lz4.h"

static const struct lz4_calls calls = {LZ4_CALLS(MODULE_ENTRY)};

MODULE(lz4, calls);
