/* SPDX-License-Identifier: BSD-2-Clause */
/* Built without cairo. */
#include "plot.h"

static const char none[] = "this rpcrdma was built without cairo and draws nothing";

const char *plot_refuses(const char *file)
{
    (void)file;
    return none;
}

const char *plot_write(const struct plot *plot, const char *file)
{
    (void)plot;
    (void)file;
    return none;
}
