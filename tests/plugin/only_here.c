/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded behind libasan: what Wireshark starts (dumpcap, extcap) goes without, as some of it
 * never ends with it. */
#include <stdlib.h>

__attribute__((constructor)) static void only_here(void)
{
    unsetenv("LD_PRELOAD");
}
