/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/stats.h"

#include <stdio.h>

#include <epan/stat_tap_ui.h>
#include <epan/stats_tree_priv.h>
#include <wsutil/report_message.h>

#include "feed/feed.h"

/*
 * Each is a stats_tree, which Wireshark lists in its menu, and tshark as -z rpcrdma_credits,tree.
 * Beside that, tshark -z rpcrdma,credits: there, in one pass, what was held back at the end of the
 * file is counted, too.
 */

#define STATS_PATH(name) "RPC-over-RDMA" STATS_TREE_MENU_SEPARATOR name

static void credits_roots(stats_tree *st);
static void types_roots(stats_tree *st);
static void chunks_roots(stats_tree *st);
static void times_roots(stats_tree *st);

static const struct statistic {
    const char *abbr, *path;
    const char *option; /* of tshark -z; NULL: another shows it */
    enum tap tap;
    stat_tree_packet_cb packet;
    stat_tree_init_cb init;
    const char *roots[3]; /* its topmost nodes: see make_roots */
} statistics[] = {
    {"rpcrdma_credits",
     STATS_PATH("Credits"),
     "rpcrdma,credits",
     TAP_CREDITS,
     stats_credits,
     credits_roots,
     {STATS_CREDITS}},
    {"rpcrdma_types",
     STATS_PATH("Message types"),
     "rpcrdma,types",
     TAP_MESSAGES,
     stats_types,
     types_roots,
     {STATS_MESSAGES, STATS_CONNECTIONS}},
    {"rpcrdma_chunks",
     STATS_PATH("Chunks"),
     "rpcrdma,chunks",
     TAP_MESSAGES,
     stats_chunks,
     chunks_roots,
     {STATS_OF_CALLS, STATS_OF_REPLIES, STATS_OF_OTHERS}},
    {"rpcrdma_times",
     STATS_PATH("Service response time"),
     NULL,
     TAP_TRANSACTIONS,
     stats_times,
     times_roots,
     {STATS_OPERATION_TIMES, STATS_CONNECTION_TIMES}},
};

/* Wireshark's window calls this, without asking whether there is one, whenever it forgets what it
 * shows: nodes that were there before are not to be found again then. */
static void make_roots(stats_tree *st, stat_tree_init_cb init)
{
    const struct statistic *of = statistics;

    while (of->init != init)
        of++;
    for (size_t i = 0; i < G_N_ELEMENTS(of->roots) && of->roots[i]; i++)
        stats_tree_create_node(st, of->roots[i], 0, STAT_DT_INT, TRUE);
}

static void credits_roots(stats_tree *st)
{
    make_roots(st, credits_roots);
}

static void types_roots(stats_tree *st)
{
    make_roots(st, types_roots);
}

static void chunks_roots(stats_tree *st)
{
    make_roots(st, chunks_roots);
}

static void times_roots(stats_tree *st)
{
    make_roots(st, times_roots);
}

/* What tshark was asked for. */
struct listener {
    const struct statistic *of;
    stats_tree *tree;
    bool filtered, finished;
};

static void on_reset(void *data)
{
    struct listener *listener = data;

    stats_tree_reset(listener->tree);
    listener->finished = false;
}

static tap_packet_status on_packet(void *data, packet_info *pinfo, epan_dissect_t *edt,
                                   const void *what, tap_flags_t flags)
{
    struct listener *listener = data;

    return stats_tree_packet(listener->tree, pinfo, edt, what, flags);
}

/* A filter is for frames: what no frame brought cannot be asked. */
static void finish(struct listener *listener)
{
    const GPtrArray *left = taps_left(listener->of->tap);

    if (listener->finished || listener->filtered)
        return;
    listener->finished = true;
    for (unsigned i = 0; i < left->len; i++)
        listener->of->packet(listener->tree, NULL, NULL, left->pdata[i], 0);
}

static void on_draw(void *data)
{
    struct listener *listener = data;
    GString *text;

    feed_finish();
    finish(listener);
    text = stats_tree_format_as_str(listener->tree, ST_FORMAT_PLAIN,
                                    stats_tree_get_default_sort_col(listener->tree),
                                    stats_tree_is_default_sort_DESC(listener->tree));
    fputs(text->str, stdout);
    g_string_free(text, TRUE);
}

static stat_tap_result listen(const char *argument, void *data)
{
    const struct statistic *of = data;
    const char *filter = argument + strlen(of->option);
    struct listener *listener = g_new0(struct listener, 1);
    GString *error;

    if (*filter != '\0' && *filter != ',') { /* tshark asks for the beginning alone */
        report_failure("-z %s: there is no such statistic; %s[,FILTER] is one", argument,
                       of->option);
        g_free(listener);
        return STAT_TAP_FAILED;
    }
    filter = *filter == ',' ? filter + 1 : NULL;
    listener->of = of;
    listener->filtered = filter != NULL;
    listener->tree = stats_tree_new(stats_tree_get_cfg_by_abbr(of->abbr), NULL, filter);
    error = register_tap_listener(tap_name(of->tap), listener, filter, 0, on_reset, on_packet,
                                  on_draw, NULL);
    if (error) {
        report_failure("%s: %s", argument, error->str);
        g_string_free(error, TRUE);
        stats_tree_free(listener->tree);
        g_free(listener);
        return STAT_TAP_FAILED;
    }
    return STAT_TAP_DONE;
}

static void register_option(const struct statistic *of)
{
    stat_tap_ui ui = {.group = REGISTER_STAT_GROUP_GENERIC,
                      .title = NULL,
                      .cli_string = of->option,
                      .tap_init_cb = listen};

    register_stat_tap_ui(&ui, (void *)(uintptr_t)of);
}

void stats_register(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(statistics); i++) {
        const struct statistic *of = &statistics[i];

        stats_tree_register_plugin(tap_name(of->tap), of->abbr, of->path, 0, of->packet, of->init,
                                   NULL);
        if (of->option)
            register_option(of);
    }
    srt_register();
}
