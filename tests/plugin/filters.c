/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plugin beside the one under test: what Analyze > Conversation Filter offers for each frame, and
 * what plugins add to the menus, on standard output. tshark has no other way to it. */
#define WS_BUILD_DLL
#include "../../plugin/compat.h"

#include <stdio.h>

#include <epan/conversation_filter.h>
#include <epan/plugin_if.h>

WS_DLL_PUBLIC_DEF const char plugin_version[] = "0";
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC void plugin_register(void);

static int proto_filters = -1;

static void print_menus(GList *items)
{
    for (GList *item = items; item; item = item->next) {
        const ext_menu_t *entry = item->data;

        printf("menu\t%s\t%s\n", entry->parent_menu ? entry->parent_menu : "", entry->label);
        print_menus(entry->children);
    }
}

static int ask(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    (void)tree;
    (void)data;
    if (pinfo->num == 1)
        print_menus(ext_menubar_get_entries());
    for (GList *item = packet_conv_filter_list; item && pinfo->fd->visited; item = item->next) {
        const conversation_filter_t *filter = item->data;
        char *text;

        if (strcmp(filter->proto_name, "rpcrdma") != 0 ||
            !filter->is_filter_valid(pinfo AND_NO_USER_DATA))
            continue;
        text = filter->build_filter_string(pinfo AND_NO_USER_DATA);
        printf("filter\t%u\t%s\t%s\n", pinfo->num, filter->display_name, text);
        g_free(text);
    }
    return (int)tvb_captured_length(tvb);
}

static void register_protocol(void)
{
    proto_filters = proto_register_protocol("Conversation filters", "filters", "filters");
    register_postdissector(create_dissector_handle(ask, proto_filters));
}

static void register_handoff(void)
{
}

void plugin_register(void)
{
    static proto_plugin plugin = {register_protocol, register_handoff};

    proto_register_plugin(&plugin);
}
