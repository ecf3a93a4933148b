/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run says of its input on stderr: what could not be used, and what is missing. */
#include "common/complain.h"
#include "pipeline/private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/plural.h"
#include "out/address.h"

void pipeline_unusable(struct pipeline *pipeline, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    complain("%s", text);
    pipeline->unread++;
    if (pipeline->problems && pipeline->problems->len < PIPELINE_PROBLEMS)
        g_ptr_array_add(pipeline->problems, text);
    else
        g_free(text);
    pipeline->own->status = EXIT_UNUSABLE;
}

void say_nothing_found(const struct options *options, const struct others *others)
{
    const struct rpcrdma_net_stats *stats = &others->stats;
    char *text, cut[80] = "";

    if (stats->packets == 0 && options->filter && options->filter[0]) {
        complain("%s%s: no packet matches the filter \"%s\"", options_said(options),
                 options_and_others(options), options->filter);
        return;
    }
    if (others_cut_to(others) > 0)
        snprintf(cut, sizeof(cut), "; %s %" PRIu32 " bytes, which may be too few",
                 others->snaplen > 0 ? "captured with a snap length of" : "packets were cut to",
                 others_cut_to(others));
    text = others_text(others);
    complain("%s%s: no RPC-over-RDMA: %" PRIu64 " packet%s, %" PRIu64 " of them RDMA%s%s%s%s",
             options_said(options), options_and_others(options), stats->packets,
             plural(stats->packets), stats->rdma,
             stats->rdma > 0 ? "; --port or --qpn can say which connections carry it" : "", cut,
             text[0] ? "; not RDMA: " : "", text);
    g_free(text);
}

/* What a file says; NULL: nothing. */
static char *lost(const struct options *options, const struct source_stats *stats)
{
    if (!stats->dropped_known || stats->dropped == 0 || options->n_devices > 0)
        return NULL;
    return g_strdup_printf("%" PRIu64 " packet%s", stats->dropped, plural_lost(stats->dropped));
}

void say_lost(const struct options *options, const struct source_stats *stats)
{
    char *text = lost(options, stats);

    if (text)
        complain("%s%s: %s", options_said(options), options_and_others(options), text);
    g_free(text);
}

void say_texts_left_out(const struct options *options, uint64_t texts)
{
    if (texts > 0)
        complain("%s%s: %" PRIu64
                 " name%s of interfaces %s left out, or cut: too many, or too long",
                 options_said(options), options_and_others(options), texts,
                 texts == 1 ? " or comment" : "s and comments", texts == 1 ? "is" : "are");
}

void pipeline_say_nothing_found(const struct pipeline *pipeline)
{
    if (!pipeline->found && !pipeline->options->quiet && pipeline->own->status == EXIT_DONE)
        say_nothing_found(pipeline->options, &pipeline->others);
}

/* `to`: of the command, which may ask for nothing. */
__attribute__((format(printf, 3, 4))) static void doubt(const struct pipeline *pipeline,
                                                        GPtrArray *to, const char *format, ...)
{
    const struct options *options = pipeline->options;
    va_list args;
    char *what, *text;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    text = g_strconcat(options_said(options), options_and_others(options), ": ", what, NULL);
    g_free(what);
    if (!options->quiet)
        complain("%s", text);
    if (to)
        g_ptr_array_add(to, text);
    else
        g_free(text);
}

static bool early(const struct pipeline *pipeline)
{
    return pipeline->early_acks + pipeline->early_replies + pipeline->apart.packets > 0;
}

static void doubt_clocks(const struct pipeline *pipeline)
{
    char *const *inputs = pipeline->own->files->inputs;
    char apart[96] = "nothing tells how far their clocks are apart; unless they are one host's,";

    if (early(pipeline))
        snprintf(apart, sizeof(apart),
                 "Acks that pass early show clocks %.3f ms or more apart, and",
                 (double)pipeline->early_ns / 1e6);
    doubt(pipeline, pipeline->doubts,
          "packets of one connection are in %s and in %s, and none is in both: %s lengths of time "
          "are wrong by that",
          inputs[0], inputs[1], apart);
}

/* Files of one host, one after the other, or of two places by clocks that are far apart. */
static void doubt_alike(struct pipeline *pipeline, const struct source_alike *alike)
{
    int64_t ns = alike->apart_ns;
    char others[64] = "";

    if (alike->pairs > 1)
        snprintf(others, sizeof(others), " (and so have %" PRIu64 " more pairs of files)",
                 alike->pairs - 1);
    doubt(pipeline, pipeline->doubts,
          "%s and %s, of which one ends before the other begins, have %" PRIu64
          " packets alike, %.3f s apart%s: either they were sent again, or the clocks of the files "
          "differ by that, and they count twice",
          alike->first, alike->second, alike->packets, (ns < 0 ? -1.0 : 1.0) * (double)ns / 1e9,
          others);
}

/* What somebody put one behind the other. Of files of their own, packets that are in two count
 * once, and all are put in order. */
static void doubt_parts(const struct pipeline *pipeline)
{
    const struct pipeline_parts *parts = &pipeline->own->parts;
    const char *what = parts->sections ? "section" : "interface";
    bool several = pipeline->options->n_files > 1 && parts->input;

    doubt(pipeline, pipeline->doubts,
          "the clock of the capture was set back where %" PRIu64 " %s%s%s%s begin%s, by up to "
          "%.3f s: packets that are there twice count twice, and lengths of time across that are "
          "wrong, or left out; give each %s as a file of its own",
          parts->back, what, plural(parts->back), several ? " of " : "",
          several ? parts->input : "", parts->back == 1 ? "s" : "", (double)parts->back_ns / 1e9,
          what);
}

/* So far that nothing is put in order. */
static void doubt_all(const struct pipeline *pipeline)
{
    const struct rpcrdma_apart *apart = &pipeline->apart;
    char late[ADDRESS_SIZE + 1], early_to[ADDRESS_SIZE + 1];

    late[address_format(&apart->late, late)] = '\0';
    early_to[address_format(&apart->early, early_to)] = '\0';
    doubt(
        pipeline, pipeline->doubts,
        "%s answers what %s sends %.3f ms before it passes, or earlier: the clocks of the two "
        "directions, from two ports or hosts, differ by that and more. What depends on which was "
        "first is wrong, or left out; make the times of %s's packets earlier by that (editcap -t) "
        "and merge the two again",
        early_to, late, (double)apart->ns / 1e6, late);
}

/* Each of two ports or hosts captured one. */
static void doubt_directions(const struct pipeline *pipeline)
{
    uint64_t acks = pipeline->early_acks, replies = pipeline->early_replies;
    char of_acks[40] = "", of_replies[40] = "";

    if (pipeline->apart.too_far) {
        doubt_all(pipeline);
        return;
    }
    if (acks + replies == 0) /* of TCP, whose acknowledgements are in other packets */
        acks = pipeline->apart.packets;
    if (acks > 0)
        snprintf(of_acks, sizeof(of_acks), "%" PRIu64 " Ack%s", acks, plural(acks));
    if (replies > 0)
        snprintf(of_replies, sizeof(of_replies), "%" PRIu64 " Repl%s", replies, plural_y(replies));
    doubt(pipeline, pipeline->doubts,
          "%s%s%s pass%s before what %s, by up to %.3f ms: the clocks of the two directions, from "
          "two ports or hosts, differ by that and more, and lengths of time from one to the other "
          "are wrong by it, or left out",
          of_acks, acks > 0 && replies > 0 ? " and " : "", of_replies,
          acks + replies == 1 ? "es" : "", acks + replies == 1 ? "it answers" : "they answer",
          (double)pipeline->early_ns / 1e6);
}

/* Of what takes less nothing is known, and nothing is told. Packets without times were told of. */
static void doubt_steps(const struct pipeline *pipeline, const struct source_stats *stats)
{
    bool measures = pipeline->delivery || pipeline->credits;

    if (pipeline->step_ns == 0 || !measures || !pipeline->found || stats->untimed > 0)
        return;
    if (pipeline->step_ns == INT64_MAX)
        doubt(pipeline, pipeline->doubts,
              "all packets have the same time: how long anything took is not known");
    else
        doubt(pipeline, pipeline->doubts,
              "the times of packets have steps of %.6g ms and more, and many have that of the one "
              "before: each length of time may be wrong by that, and shorter ones are not known",
              (double)pipeline->step_ns / 1e6);
}

/* As far apart as packets of one queue that a host takes at once, the next ones are in order. */
#define DISORDER_NS INT64_C(50000)
enum { DISORDER_PACKETS = 5 }; /* of fewer little can come */

void pipeline_tell_doubts(struct pipeline *pipeline)
{
    const struct pipeline_private *own = pipeline->own;
    uint64_t too_deep =
        own->analyzer ? rpcrdma_net_stats(rpcrdma_analyzer_net(own->analyzer))->too_deep : 0;
    struct source_stats stats = {0};

    source_stats(own->source, &stats);
    if (stats.untimed > 0)
        doubt(pipeline, pipeline->doubts,
              "%" PRIu64 " packet%s no time (pcapng's simple packet blocks): lengths of time "
              "from and to %s are wrong",
              stats.untimed, stats.untimed == 1 ? " has" : "s have",
              stats.untimed == 1 ? "it" : "them");
    if (stats.said_micro)
        doubt(pipeline, pipeline->doubts,
              "the file says that its times are in microseconds, and the first packet's is in "
              "nanoseconds: all are read as nanoseconds");
    if (stats.stamps_moved_ns > 0)
        doubt(pipeline, pipeline->doubts,
              "the times that hardware wrote into packets and the capture's own moved against each "
              "other by %.3f s: one of the two clocks was set, or stood still, and lengths of time "
              "may be wrong; --time-source capture takes the other",
              (double)stats.stamps_moved_ns / 1e9);
    doubt_steps(pipeline, &stats);
    if (own->set_back > 0)
        doubt(pipeline, pipeline->doubts,
              "the clock of the capture was set back %" PRIu64 " time%s, by up to %.3f s, first at "
              "packet %" PRIu64
              ": lengths of time across that are wrong, or left out; or packets are "
              "not in the order of time (files put one behind the other), and reordercap (of "
              "Wireshark) puts them in order",
              own->set_back, plural(own->set_back), (double)own->set_back_ns / 1e9,
              pipeline->back_frame);
    if (stats.alike.pairs > 0)
        doubt_alike(pipeline, &stats.alike);
    if (own->parts.back > 0)
        doubt_parts(pipeline);
    if (early(pipeline) && !(own->files && own->files->inputs[0]))
        doubt_directions(pipeline);
    if (own->disorder >= DISORDER_PACKETS && own->disorder_ns >= DISORDER_NS) {
        pipeline->disordered = own->disorder;
        doubt(pipeline, pipeline->doubts,
              "%" PRIu64
              " packets stand behind a later one, by up to %.3f ms: what seems to be lost, "
              "sent twice or slow may come from that; reordercap (of Wireshark) puts a file in "
              "order",
              own->disorder, (double)own->disorder_ns / 1e6);
    }
    if (own->files && own->files->inputs[0])
        doubt_clocks(pipeline);
    if (too_deep > 0) {
        doubt(pipeline, pipeline->doubts ? pipeline->problems : NULL,
              "%" PRIu64
              " packet%s not decoded: too many Ethernet and IP headers within each other",
              too_deep, too_deep == 1 ? " was" : "s were");
        pipeline->unread += pipeline->doubts != NULL;
    }
}

void pipeline_tell_missing(const struct pipeline *pipeline)
{
    struct source_stats stats = {0};
    char *text;

    source_stats(pipeline->own->source, &stats);
    if (!pipeline->options->quiet)
        say_texts_left_out(pipeline->options, stats.texts_left_out);
    text = lost(pipeline->options, &stats);
    if (text)
        doubt(pipeline, pipeline->missing, "%s", text);
    g_free(text);
    if (pipeline->memory_limit > 0)
        doubt(pipeline, pipeline->missing,
              "--max-memory (%zu MiB) was reached %" PRIu64
              " time%s: some of what was outstanding is left out",
              options_max_memory(pipeline->options) >> 20, pipeline->memory_limit,
              plural(pipeline->memory_limit));
}
