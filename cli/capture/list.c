/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma capture -D: what can be captured from. */
#include <string.h>

#include "capture/list.h"
#include "common/columns.h"
#include "common/complain.h"
#include "common/escape.h"
#include "out/json_writer.h"
#include "output/finish.h"
#include "source/devices/device.h"

struct table {
    struct out *out;
    int rows;
    bool refused;                     /* somewhere: what to do about it is said once */
    char no_permission[DEVICE_ERROR]; /* with that */
};

static void put_column(struct out *out, const char *text, size_t width)
{
    const char *end = text + strlen(text);
    char piece[ESCAPE_MOST];
    size_t n = 0;

    while (text < end) {
        n += columns_of_text(piece, escape_next(&text, end, piece));
        out_text(out, piece);
    }
    out_blanks(out, (n < width ? width - n : 0) + 1);
}

static void put_row(struct out *out, const char *const columns[5])
{
    static const size_t widths[] = {16, 8, 10, 5, 9};

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
        put_column(out, columns[i], widths[i]);
}

static void on_text(void *context, const struct device_entry *entry)
{
    static const char *const titles[] = {"device", "kind", "link", "state", "speed"};
    struct table *table = context;
    struct out *out = table->out;
    bool refused = strcmp(entry->sniff, table->no_permission) == 0;
    const char *const columns[] = {entry->name, entry->rdma ? "RDMA" : "network", entry->link,
                                   entry->state, *entry->speed ? entry->speed : "-"};

    table->refused |= refused;
    if (++table->rows == 1) {
        put_row(out, titles);
        out_literal(out, "capture");
        out_line(out);
    }
    put_row(out, columns);
    out_foreign(out, refused ? "no permission" : entry->sniff);
    if (*entry->about) {
        out_literal(out, " (");
        out_foreign(out, entry->about);
        out_char(out, ')');
    }
    out_line(out);
}

static void key_text(struct json *json, struct json_key key, const char *text)
{
    if (*text)
        json_text(json, key, text);
}

static void on_json(void *context, const struct device_entry *entry)
{
    struct out *out = context;
    struct json json = {.out = out};

    json_open(&json, '{');
    key_text(&json, KEY(device), entry->name);
    key_text(&json, KEY(kind), entry->rdma ? "rdma" : "network");
    key_text(&json, KEY(link), entry->link);
    key_text(&json, KEY(state), entry->state);
    key_text(&json, KEY(speed), entry->speed);
    key_text(&json, KEY(capture), entry->sniff);
    key_text(&json, KEY(about), entry->about);
    json_close(&json, '}');
    json_end(&json);
}

int capture_list(const struct options *options)
{
    char error[DEVICE_ERROR];
    struct out out;
    struct table table = {.out = &out};
    int status = begin_output(options, &out);
    bool good;

    if (status != OPTIONS_GO_ON)
        return status;
    device_no_permission(NULL, table.no_permission, sizeof(table.no_permission));
    good = options->json ? device_list(true, on_json, &out, error, sizeof(error))
                         : device_list(true, on_text, &table, error, sizeof(error));
    status = end_output(&out, good ? EXIT_DONE : EXIT_UNUSABLE);
    if (table.refused)
        complain("%s", table.no_permission);
    if (!good)
        complain("%s", error);
    return status;
}
