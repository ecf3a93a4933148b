/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/calls_zstd.h"

static const struct zstd_calls calls = {ZSTD_CALLS(MODULE_ENTRY)};

MODULE(zstd, calls);
