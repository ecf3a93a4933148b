/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/calls_zlib.h"

static const struct zlib_calls calls = {ZLIB_CALLS(MODULE_ENTRY)};

MODULE(zlib, calls);
