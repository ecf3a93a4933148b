/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin.h"

/*
 * Wireshark brings a dissector for version 1 along. It claims whatever has 1, 3 or 4 in the fourth
 * word, so it must not be asked while ours is in charge. To disable it for good would end up in the
 * user's saved settings; so it is disabled from when our heuristic has declined a payload, which
 * comes first, until the frame is done. Who disables our heuristic has the built-in one back.
 */

static struct {
    const char *name;
    heur_dtbl_entry_t *entry;
    bool hushed;
} builtin[] = {{"rpcrdma_infiniband", NULL, false}, {"rpcrdma_iwarp", NULL, false}};

static int proto_rpcordma;

enum { BUILTINS = sizeof(builtin) / sizeof(builtin[0]) };

void builtin_find(void)
{
    proto_rpcordma = proto_get_id_by_filter_name("rpcordma");
    for (int i = 0; i < BUILTINS; i++)
        builtin[i].entry = find_heur_dissector_by_unique_short_name(builtin[i].name);
}

void builtin_hush(void)
{
    for (int i = 0; i < BUILTINS; i++) {
        if (!builtin[i].entry || !builtin[i].entry->enabled)
            continue;
        builtin[i].entry->enabled = FALSE;
        builtin[i].hushed = true;
    }
}

void builtin_restore(void)
{
    for (int i = 0; i < BUILTINS; i++) {
        if (!builtin[i].hushed)
            continue;
        builtin[i].entry->enabled = TRUE;
        builtin[i].hushed = false;
    }
}

/* Where the user disabled our heuristic and not the protocol. */
bool builtin_claimed(const packet_info *pinfo)
{
    /* by number: proto_is_frame_protocol() compares names */
    for (wmem_list_frame_t *layer = wmem_list_head(pinfo->layers); layer;
         layer = wmem_list_frame_next(layer))
        if (GPOINTER_TO_INT(wmem_list_frame_data(layer)) == proto_rpcordma)
            return true;
    return false;
}
