/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plugin beside the one under test: what Analyze > Conversation Filter offers for each frame,
 * what Apply as Filter does in the tabs of Conversations and Endpoints, and what plugins add to the
 * menus, on standard output. tshark has no other way to it. */
#define WS_BUILD_DLL
#include "../../plugin/wireshark/compat.h"

#include <stdio.h>

#include <epan/conversation_filter.h>
#include <epan/conversation_table.h>
#include <epan/plugin_if.h>
#include <epan/tap.h>

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

static conv_hash_t conversations, endpoints;

static tap_packet_status on_conversation(void *table, packet_info *pinfo, epan_dissect_t *edt,
                                         const void *data, tap_flags_t flags)
{
    register_ct_t *tab = get_conversation_by_proto_id(proto_get_id_by_filter_name("rpcrdma"));

    return get_conversation_packet_func(tab)(table, pinfo, edt, data, flags);
}

static tap_packet_status on_endpoint(void *table, packet_info *pinfo, epan_dissect_t *edt,
                                     const void *data, tap_flags_t flags)
{
    register_ct_t *tab = get_conversation_by_proto_id(proto_get_id_by_filter_name("rpcrdma"));

    return get_endpoint_packet_func(tab)(table, pinfo, edt, data, flags);
}

static void print_tabs(void *table)
{
    GArray *items = ((conv_hash_t *)table)->conv_array;

    for (unsigned i = 0; items && i < items->len; i++) {
        char *text;

        if (table == &endpoints) {
            text = get_endpoint_filter(&g_array_index(items, endpoint_item_t, i));
            printf("endpoint\t%u\t%s\n", i, text);
            wmem_free(NULL, text);
            continue;
        }
        for (int way = CONV_DIR_A_TO_FROM_B; way <= CONV_DIR_ANY_FROM_B; way++) {
            text = get_conversation_filter(&g_array_index(items, conv_item_t, i),
                                           (conv_direction_e)way);
            printf("conversation\t%u\t%s\n", i, text);
            g_free(text);
        }
    }
}

static void register_handoff(void)
{
    GString *error = register_tap_listener("rpcrdma", &conversations, NULL, 0, NULL,
                                           on_conversation, print_tabs, NULL);

    if (!error)
        error = register_tap_listener("rpcrdma", &endpoints, NULL, 0, NULL, on_endpoint, print_tabs,
                                      NULL);
    if (error)
        g_error("%s", error->str);
}

void plugin_register(void)
{
    static proto_plugin plugin = {register_protocol, register_handoff};

    proto_register_plugin(&plugin);
}
