/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/devices/calls.h"

static const struct devices_calls calls = {DEVICES_CALLS_FILTER(MODULE_ENTRY)
#ifdef HAVE_PCAP
                                               DEVICES_CALLS_PCAP(MODULE_ENTRY)
#endif
#ifdef HAVE_VERBS
                                                   DEVICES_CALLS_VERBS(MODULE_ENTRY)
#endif
};

MODULE(devices, calls);
