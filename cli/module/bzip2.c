/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/calls_bzip2.h"

static const struct bzip2_calls calls = {BZIP2_CALLS(MODULE_ENTRY)};

MODULE(bzip2, calls);
