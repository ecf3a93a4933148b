/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Wireshark loads. docs/architecture.md says what is in which folder. */
#define WS_BUILD_DLL
#include "wireshark/protocol.h"

#include "hooks/hooks.h"
#include "menu.h"
#include "show/fields.h"
#include "stats/conversations.h"
#include "version.h"
#include "wireshark/prefs.h"

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

static void register_protocol(void)
{
    protocol_register();
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
