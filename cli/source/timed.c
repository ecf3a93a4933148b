/* SPDX-License-Identifier: BSD-2-Clause */
/* Another source with the times that are written in its packets. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/plural.h"
#include "common/times.h"
#include "source/source.h"
#include "source/stamp.h"

struct timed {
    struct source source;
    struct source *from;
    enum stamp_kind kind;
    bool wanted, decided, say_none;
    int64_t apart; /* the last stamp less the capture's time */
    /* what the stamps say of the capture's clock */
    uint64_t stamped, missing, set_back;
    int64_t least, most, capture_ns, stamp_ns;
    double sum, moved;
    /* the difference, but for the steps where the capture's clock was set back */
    double back, against_least, against_most;
    int64_t first_ns; /* by the capture's clock */
    bool jumped;
    char error[128];
};

/* Whether the packets that have room for a stamp of this kind are half of all at least, and all
 * have one, and differ from the capture's clock by the same, give or take a second. A clock that
 * stands still while the capture's does not is none. */
static bool consistent(const struct source_packet *packets, size_t n, enum stamp_kind kind)
{
    int64_t ns, apart, least = INT64_MAX, most = INT64_MIN, first_ns = 0, first_stamp_ns = 0;
    bool still = true, moves = false;
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        if (!stamp_expected(&packets[i].packet, kind))
            continue;
        if (!stamp_read(&packets[i].packet, kind, &ns))
            return false;
        if (found == 0) {
            first_stamp_ns = ns;
            first_ns = packets[i].packet.time_ns;
        }
        still &= ns == first_stamp_ns;
        moves |= packets[i].packet.time_ns != first_ns;
        apart = ns - packets[i].packet.time_ns;
        least = apart < least ? apart : least;
        most = apart > most ? apart : most;
        found++;
    }
    return 2 * found >= n && most - least < SECOND && !(still && moves);
}

/* ERF's own files have these times anyway. */
static bool same_as_file(const struct source_packet *packets, size_t n)
{
    int64_t ns;

    for (size_t i = 0; i < n; i++)
        if (stamp_read(&packets[i].packet, STAMP_ERF, &ns) && ns != packets[i].packet.time_ns)
            return false;
    return true;
}

/* By the first packets: one clock for all of them. */
static void decide(struct timed *timed, const struct source_packet *packets, size_t n)
{
    int64_t ns;

    timed->decided = true;
    for (int kind = STAMP_NONE + 1; kind < STAMP_KINDS && timed->kind == STAMP_NONE; kind++)
        if (consistent(packets, n, (enum stamp_kind)kind))
            timed->kind = (enum stamp_kind)kind;
    if (timed->kind == STAMP_ERF && !timed->wanted && same_as_file(packets, n))
        timed->kind = STAMP_NONE;
    timed->say_none = timed->wanted && timed->kind == STAMP_NONE;
    for (size_t i = 0; i < n && timed->kind != STAMP_NONE; i++) {
        if (stamp_expected(&packets[i].packet, timed->kind) &&
            stamp_read(&packets[i].packet, timed->kind, &ns)) {
            timed->apart = ns - packets[i].packet.time_ns; /* for those before it */
            break;
        }
    }
}

/* No clock drifts by a thousandth of the time, nor by a second at once. */
static bool is_drift(double by_ns, int64_t from_ns, int64_t to_ns)
{
    return fabs(by_ns) < SECOND || fabs(by_ns) < fabs((double)to_ns - (double)from_ns) / 1000;
}

static void look_for_jump(struct timed *timed, int64_t capture_ns, int64_t apart, bool set_back)
{
    double step = (double)apart - (double)timed->apart, against;

    if (set_back)
        timed->back += step;
    else if (!is_drift(step, timed->capture_ns, capture_ns))
        timed->jumped = true;
    against = (double)apart - timed->back;
    if (against < timed->against_least)
        timed->against_least = against;
    if (against > timed->against_most)
        timed->against_most = against;
}

static void compare(struct timed *timed, int64_t capture_ns, int64_t stamp_ns)
{
    int64_t apart = stamp_ns - capture_ns;
    bool set_back = capture_ns < timed->capture_ns && stamp_ns >= timed->stamp_ns;

    if (timed->stamped++ == 0) {
        timed->least = timed->most = apart;
        timed->against_least = timed->against_most = (double)apart;
        timed->first_ns = capture_ns;
    } else {
        timed->moved += fabs((double)apart - (double)timed->apart);
        timed->set_back += set_back;
        look_for_jump(timed, capture_ns, apart, set_back);
    }
    timed->sum += (double)apart;
    timed->least = apart < timed->least ? apart : timed->least;
    timed->most = apart > timed->most ? apart : timed->most;
    timed->apart = apart;
    timed->capture_ns = capture_ns;
    timed->stamp_ns = stamp_ns;
}

static enum source_status next(struct source *source, struct source_packet *packets, size_t max,
                               size_t *n)
{
    struct timed *timed = (struct timed *)source;
    enum source_status status;
    int64_t ns;

    if (timed->say_none) {
        timed->say_none = false;
        source->error = timed->error;
        *n = 0;
        return SOURCE_ERROR;
    }
    status = source_next(timed->from, packets, max, n);
    source->error = timed->from->error;
    source->soon = timed->from->soon;
    source->soon_bytes = timed->from->soon_bytes;
    if (!timed->decided && status == SOURCE_OK && *n > 0)
        decide(timed, packets, *n);
    for (size_t i = 0; i < *n && timed->kind != STAMP_NONE; i++) {
        struct rpcrdma_packet *packet = &packets[i].packet;

        if (stamp_expected(packet, timed->kind) && stamp_read(packet, timed->kind, &ns)) {
            compare(timed, packet->time_ns, ns);
            packet->time_ns = ns;
        } else {
            timed->missing++;
            packet->time_ns += timed->apart;
        }
    }
    source->alike = timed->kind == STAMP_NONE ? timed->from->alike : 0;
    return status;
}

static bool interface(const struct source *source, uint32_t number, struct source_interface *out)
{
    return source_interface(((const struct timed *)source)->from, number, out);
}

static void stats(const struct source *source, struct source_stats *out)
{
    const struct timed *timed = (const struct timed *)source;
    double by_ns = timed->against_most - timed->against_least;

    source_stats(timed->from, out);
    out->end_known &= timed->stamped == 0; /* it is of another clock */
    if (timed->jumped || !is_drift(by_ns, timed->first_ns, timed->capture_ns))
        out->stamps_moved_ns = time_whole(by_ns);
}

static void report(const struct source *source, void (*line)(void *context, const char *text),
                   void *context)
{
    const struct timed *timed = (const struct timed *)source;
    const uint64_t n = timed->stamped;
    struct source_interface first;
    char text[512];

    source_report(timed->from, line, context);
    if (n == 0)
        return;
    snprintf(
        text, sizeof(text),
        "%s: times are those of %s in %" PRIu64 " packet%s: less the capture's own clock, %+.9f "
        "s on average, %+.9f to %+.9f s, from packet to packet by %.9f s; it was set back %" PRIu64
        " time%s",
        source_interface(timed->from, 0, &first) ? first.input : "", stamp_name(timed->kind), n,
        plural(n), timed->sum / (double)n / 1e9, (double)timed->least / 1e9,
        (double)timed->most / 1e9, n > 1 ? timed->moved / (double)(n - 1) / 1e9 : 0,
        timed->set_back, plural(timed->set_back));
    line(context, text);
    if (timed->missing == 0)
        return;
    snprintf(text, sizeof(text),
             "%" PRIu64
             " packet%s no such time: the capture's, with the difference of the one before",
             timed->missing, timed->missing == 1 ? " has" : "s have");
    line(context, text);
}

static void watch_ends(struct source *source, source_ended *ended, void *context)
{
    source_watch_ends(((const struct timed *)source)->from, ended, context);
}

static bool unrelated(const struct source *source, uint32_t a, uint32_t b)
{
    return source_unrelated(((const struct timed *)source)->from, a, b);
}

static void close_timed(struct source *source)
{
    source_close(((struct timed *)source)->from);
    free(source);
}

struct source *source_timed_open(struct source *from, bool wanted, char *error, size_t size)
{
    static const struct source_ops ops = {next,       interface, stats, report, close_timed,
                                          watch_ends, unrelated, NULL,  NULL}; /* of one file */
    struct timed *timed = calloc(1, sizeof(*timed));

    if (!timed) {
        snprintf(error, size, "out of memory");
        source_close(from);
        return NULL;
    }
    timed->source.ops = &ops;
    timed->source.live = from->live;
    timed->from = from;
    timed->wanted = wanted;
    snprintf(timed->error, sizeof(timed->error),
             "the first packets have no time of the hardware that is consistent: the capture's is "
             "used");
    return &timed->source;
}
