/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed.h"
#include "store.h"

/*
 * The InfiniBand dissector refuses packets whose payload was not captured whole ("Invalid Packet
 * Length"), with all their headers. A packet of ours that was cut short is given to it as one whose
 * payload ends where the capture does; its CRC lies behind that end, so that what it says is right:
 * "Packet size limited during capture".
 */

enum { CRC = 4 };

struct hook {
    const char *table;
    dissector_handle_t original, ours;
};

static struct hook hooks[] = {{.table = "udp.port"}, {.table = "ethertype"}};

static int proto_infiniband;

static bool cut(tvbuff_t *tvb)
{
    return tvb_captured_length(tvb) < tvb_reported_length(tvb);
}

static int dissect(const struct hook *hook, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    const struct frame_note *note;

    if (cut(tvb) && proto_is_protocol_enabled(find_protocol_by_id(proto_rpcrdma))) {
        feed_frame(pinfo);
        note = store_find(pinfo->num);
        if (note && note->ours) {
            int captured = (int)tvb_captured_length(tvb);

            tvb = tvb_new_subset_length_caplen(tvb, 0, captured, captured + CRC);
        }
    }
    return call_dissector_only(hook->original, tvb, pinfo, tree, NULL);
}

static int dissect_udp(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    (void)data;
    return dissect(&hooks[0], tvb, pinfo, tree);
}

static int dissect_ethertype(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    (void)data;
    return dissect(&hooks[1], tvb, pinfo, tree);
}

void sliced_register(void)
{
    int name;

    proto_infiniband = proto_get_id_by_filter_name("infiniband");
    if (proto_infiniband < 0)
        return;
    /* in name only: no layer of its own, and enabled as InfiniBand is */
    name = proto_register_protocol_in_name_only("InfiniBand packets, cut short or not", "RoCE",
                                                "rpcrdma.roce", proto_infiniband, FT_PROTOCOL);
    hooks[0].ours = create_dissector_handle(dissect_udp, name);
    hooks[1].ours = create_dissector_handle(dissect_ethertype, name);
}

struct entry {
    dissector_handle_t handle; /* NULL: not found */
    uint32_t value;
};

static void find(const char *table, ftenum_t type, void *key, void *value, void *context)
{
    struct entry *entry = context;
    dissector_handle_t handle = dtbl_entry_get_handle(value);

    (void)table;
    (void)type;
    if (!handle || dissector_handle_get_protocol_index(handle) != proto_infiniband)
        return;
    entry->handle = handle;
    entry->value = GPOINTER_TO_UINT(key);
}

/* The InfiniBand dissector registers itself anew whenever its preferences change; so this is done
 * for each file. What the user decoded as something else is left alone. */
void sliced_take_over(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(hooks); i++) {
        struct entry entry = {0};

        if (!hooks[i].ours || !find_dissector_table(hooks[i].table))
            continue;
        dissector_table_foreach(hooks[i].table, find, &entry);
        if (!entry.handle)
            continue;
        hooks[i].original = entry.handle;
        dissector_add_uint(hooks[i].table, entry.value, hooks[i].ours);
    }
}
