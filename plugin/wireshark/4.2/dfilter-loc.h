/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wireshark 4.2's epan/dfilter/dfilter.h includes this file, and Ubuntu's wireshark-dev 4.2.2 does not have
 * it: without it nothing that includes plugin_if.h compiles. Where it is missing this one is found. The
 * plugin uses nothing of display filters' places: the type has to be there, and no object of it is.
 */
#ifndef RPCRDMA_PLUGIN_DFILTER_LOC_H
#define RPCRDMA_PLUGIN_DFILTER_LOC_H

#include <stddef.h>

typedef struct {
    long column;
    size_t length;
} df_loc_t;

#endif
