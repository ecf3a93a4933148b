/* SPDX-License-Identifier: GPL-2.0-or-later */
#define WS_BUILD_DLL
#include "plugin.h"

#include "conversations.h"
#include "version.h"

WS_DLL_PUBLIC_DEF const char plugin_version[] = RPCRDMA_VERSION;
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC void plugin_register(void);
#if WIRESHARK_AT_LEAST(4, 4)
#include <wsutil/plugins.h>
WS_DLL_PUBLIC uint32_t plugin_describe(void);

uint32_t plugin_describe(void)
{
    return WS_PLUGIN_DESC_DISSECTOR;
}
#endif

int proto_rpcrdma = -1;

static void register_protocol(void)
{
    proto_rpcrdma = proto_register_protocol("RPC-over-RDMA", "RPC-over-RDMA", "rpcrdma");
    fields_register();
    settings_register();
    dissect_register();
    conversations_register();
    menu_register();
}

static void register_handoff(void)
{
    dissect_handoff();
}

void plugin_register(void)
{
    static proto_plugin plugin = {register_protocol, register_handoff};

    proto_register_plugin(&plugin);
}
