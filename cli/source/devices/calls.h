/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_DEVICES_CALLS_H
#define RPCRDMA_CLI_SOURCE_DEVICES_CALLS_H

/* All that uses libpcap (source/live) and libibverbs (source/verbs) is in the module: libibverbs'
 * header has functions of its own that call others. */

#include "module/module.h"
#include "source/devices/device.h"
#include "source/verbs/verbs.h"

#define DEVICES_CALLS_PCAP(CALL)                                                                   \
    CALL(live_open)                                                                                \
    CALL(live_list)

#define DEVICES_CALLS_FILTER(CALL)                                                                 \
    CALL(live_filter_new) CALL(live_filter_match) CALL(live_filter_free)

#define DEVICES_CALLS_VERBS(CALL) CALL(verbs_is_device) CALL(verbs_open) CALL(verbs_list)

/* NULL: built without. Filters are there, to say that they are not, if nothing else is. */
struct devices_calls {
    DEVICES_CALLS_FILTER(MODULE_CALL)
    DEVICES_CALLS_PCAP(MODULE_CALL)
    DEVICES_CALLS_VERBS(MODULE_CALL)
};

#endif
