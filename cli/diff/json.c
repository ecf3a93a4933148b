/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows for programs, an object each. */
#include "diff/diff.h"

#include <string.h>

static void json_texts(struct json *json, const GPtrArray *texts)
{
    for (guint i = 0; i < texts->len && i < DIFF_PROBLEMS; i++) {
        const char *text = g_ptr_array_index(texts, i);

        json_string(json, text, strlen(text));
    }
}

static void json_problems(struct json *json, const struct diff_side sides[2])
{
    guint n = 0;

    for (int i = 0; i < 2; i++)
        n += sides[i].problems->len + sides[i].doubts->len;
    if (n == 0)
        return;
    json_key(json, KEY(problems));
    json_open(json, '[');
    for (int i = 0; i < 2; i++) {
        json_texts(json, sides[i].problems);
        json_texts(json, sides[i].doubts);
    }
    json_close(json, ']');
}

static void json_others(struct json *json, const struct diff_side sides[2])
{
    for (int i = 0; i < 2; i++)
        if (sides[i].groups->left_out > 0) {
            json_key(json, i == 0 ? KEY(summed_up_first) : KEY(summed_up_second));
            json_u64(json, sides[i].groups->left_out);
        }
}

static void json_row(struct out *out, const struct diff_side sides[2], const struct diff_row *row,
                     struct json_key by)
{
    const char *name = diff_either(row)->name;
    struct json json = {.out = out};

    json_open(&json, '{');
    if (strcmp(by.name, "connection") != 0)
        json_key(&json, by), json_string(&json, name, strlen(name));
    else if (g_ascii_isdigit(name[0])) /* not "(others)" */
        json_key(&json, by), json_u64(&json, g_ascii_strtoull(name, NULL, 10));
    json_key(&json, KEY(second_is)), json_plain(&json, diff_verdict_name(row->verdict));
    if (diff_comparable(row)) {
        json_key(&json, KEY(mean_difference_ns));
        json_i64(&json, latency_mean(&row->of[1]->latency) - latency_mean(&row->of[0]->latency));
    }
    for (int i = 0; i < 2; i++) {
        if (!row->of[i])
            continue;
        json_key(&json, i == 0 ? KEY(first) : KEY(second));
        json_open(&json, '{');
        json_key(&json, KEY(time_ns)), json_i64(&json, row->of[i]->time_ns);
        group_json(&json, row->of[i], sides[i].span_ns);
        json_close(&json, '}');
    }
    json_others(&json, sides);
    json_problems(&json, sides);
    json_close(&json, '}');
    json_end(&json);
}

void diff_json(struct out *out, const struct diff_side sides[2], const GArray *rows, guint most,
               struct json_key by)
{
    for (guint k = 0; k < rows->len && k < most; k++)
        json_row(out, sides, &g_array_index(rows, struct diff_row, k), by);
}
