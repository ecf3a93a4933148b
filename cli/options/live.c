/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of commands that capture. */
#include <string.h>

#include "options/options.h"

enum { MIB = 1024 * 1024 };

/* 0 is the whole packet, as in tcpdump and dumpcap. */
static gboolean on_snaplen(const char *name, const char *text, gpointer data, GError **error)
{
    struct options *options = data;
    uint64_t number = DEVICE_SNAPLEN;

    if (strcmp(text, "0") != 0 && !options_number(name, text, DEVICE_SNAPLEN, &number, error))
        return FALSE;
    options->live.device.snaplen = (uint32_t)number;
    return TRUE;
}

static gboolean on_buffer(const char *name, const char *text, gpointer data, GError **error)
{
    struct options *options = data;

    if (!options_number(name, text, 65536, &options->live.device.buffer, error))
        return FALSE;
    options->live.device.buffer *= MIB;
    return TRUE;
}

void options_live(struct options *options, GOptionGroup *group)
{
    const gint flags = options->no_devices ? G_OPTION_FLAG_HIDDEN : 0;
    GOptionEntry entries[] = {
        {"interface", 'i', flags, G_OPTION_ARG_STRING_ARRAY, &options->devices,
         "Capture from this network interface or RDMA device; repeatable. rpcrdma capture -D lists "
         "them",
         "DEV"},
        {"filter", 'f', 0, G_OPTION_ARG_STRING, &options->filter,
         "Take only packets that match; see pcap-filter(7)", "FILTER"},
        {"snapshot-length", 's', flags, G_OPTION_ARG_CALLBACK, on_snaplen,
         "Capture at most N bytes of each packet; 0: all (-i)", "N"},
        {"buffer-size", 'B', flags, G_OPTION_ARG_CALLBACK, on_buffer,
         "Size of the buffer for captured packets (-i)", "MIB"},
        {"no-promiscuous-mode", 'p', flags, G_OPTION_ARG_NONE,
         &options->live.device.not_promiscuous, "Capture only packets from and to this host (-i)",
         NULL},
        G_OPTION_ENTRY_NULL,
    };

    g_option_group_add_entries(group, entries);
}
