/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/calls_xz.h"

static const struct xz_calls calls = {XZ_CALLS(MODULE_ENTRY)};

MODULE(xz, calls);
