/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma capture -D: what can be captured from. */
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "out/json_writer.h"
#include "source/device.h"

struct table {
    int rows;
    bool refused;                     /* somewhere: what to do about it is said once */
    char no_permission[DEVICE_ERROR]; /* with that */
};

static void on_text(void *context, const struct device_entry *entry)
{
    struct table *table = context;
    bool refused = strcmp(entry->sniff, table->no_permission) == 0;

    table->refused |= refused;
    if (++table->rows == 1)
        printf("%-16s %-8s %-10s %-5s %-9s %s\n", "device", "kind", "link", "state", "speed",
               "capture");
    printf("%-16s %-8s %-10s %-5s %-9s %s%s%s%s\n", entry->name, entry->rdma ? "RDMA" : "network",
           entry->link, entry->state, *entry->speed ? entry->speed : "-",
           refused ? "no permission" : entry->sniff, *entry->about ? " (" : "", entry->about,
           *entry->about ? ")" : "");
}

static void key_text(struct json *json, const char *key, const char *text)
{
    if (!*text)
        return;
    json_key(json, key);
    json_string(json, text, strlen(text));
}

static void on_json(void *context, const struct device_entry *entry)
{
    struct out *out = context;
    struct json json = {.out = out};

    json_open(&json, '{');
    key_text(&json, "device", entry->name);
    key_text(&json, "kind", entry->rdma ? "rdma" : "network");
    key_text(&json, "link", entry->link);
    key_text(&json, "state", entry->state);
    key_text(&json, "speed", entry->speed);
    key_text(&json, "capture", entry->sniff);
    key_text(&json, "about", entry->about);
    json_close(&json, '}');
    json_end(&json);
}

int capture_list(bool json)
{
    char error[DEVICE_ERROR];
    struct out out;
    struct table table = {0};
    bool good;

    if (!json) {
        device_no_permission(NULL, table.no_permission, sizeof(table.no_permission));
        good = device_list(true, on_text, &table, error, sizeof(error));
        fflush(stdout);
        if (table.refused)
            complain("%s", table.no_permission);
    } else {
        if (!out_open(&out, 1)) {
            complain("out of memory");
            return EXIT_UNUSABLE;
        }
        good = device_list(true, on_json, &out, error, sizeof(error));
        out_close(&out);
    }
    if (good)
        return EXIT_DONE;
    complain("%s", error);
    return EXIT_UNUSABLE;
}
