/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/copies.h"

#include <stdlib.h>

#include <glib.h>

#include "common/times.h"
#include "source/merge/fingerprint.h"

enum {
    FIRST = 2048,        /* packets of which each is looked at; */
    AGAIN = 16,          /* packets that are sent again make it look at */
    MOST = 1 << 18,      /* so many more */
    BYTES = 64,          /* of the payload that a packet is known by */
    FEW_SEEN = 1 << 13,  /* that can be known again: 192 KiB; */
    SEEN = 1 << 16,      /* once many were sent again: 1.5 MiB */
    TIMES = 1 << 13,     /* that are enough */
    TIMES_LEAST = 32,    /* and that are needed */
    SPREAD_PART = 8,     /* of the time between, by which it may differ */
    DIRECTION_PART = 20, /* that is of either direction */
    LAST_PART = 8,       /* of those that came again, at the end, those may */
    ALONE_PART = 4,      /* that may not come again */
    DIRECTIONS = 256     /* of those that share a place some counts that was not sent again */
};

static const uint32_t ID_STEP = 0x9e3779b1;
static const int64_t APART_LEAST_NS = 1000000, SPREAD_NS = 2000000;
/* Of several interfaces packets that are in two count once, unless they are so far apart. */
static const int64_t APART_LEAST_SEVERAL_NS = 1000000000;

struct pipeline_copies {
    struct pipeline *pipeline;
    struct seen {
        uint64_t key;
        int64_t time_ns;
        uint32_t place; /* % places is where it stands: the latest of each place does */
        uint16_t id;    /* IPv4's: what is sent again has another one, or none */
    } * seen;
    size_t places;
    uint64_t left;               /* packets that it still wants */
    uint64_t again;              /* growths of `resent`, until there are AGAIN */
    uint64_t kept;               /* in `seen`, since fewer are, for none of them came again */
    unsigned thinned;            /* of the packets one of 2^thinned, by their keys */
    uint64_t n, forward;         /* that came again; of these: of the one direction */
    int64_t *times;              /* between; as `seen`, NULL where nothing is looked for */
    int64_t since_ns, latest_ns; /* each was looked at */
    uint32_t interface;          /* of the first */
    bool any, several;           /* interfaces */
    uint64_t resent[DIRECTIONS]; /* packets, so far */
};

static void let_go(struct pipeline_copies *copies)
{
    g_clear_pointer(&copies->seen, g_free);
    g_clear_pointer(&copies->times, g_free);
    copies->places = 0;
}

/* What was seen before may come again yet. */
static void begin(struct pipeline_copies *copies, size_t places)
{
    struct seen *before = copies->seen;

    copies->seen = g_new0(struct seen, places);
    for (size_t i = 0; i < copies->places; i++)
        if (before[i].key != 0)
            copies->seen[before[i].place % places] = before[i];
    g_free(before);
    if (!copies->times)
        copies->times = g_new(int64_t, TIMES);
    copies->places = places;
    copies->kept = copies->n = copies->forward = 0;
}

struct pipeline_copies *pipeline_copies_new(struct pipeline *pipeline)
{
    struct pipeline_copies *copies = g_new0(struct pipeline_copies, 1);

    copies->pipeline = pipeline;
    pipeline->passes_unlike = false;
    copies->left = FIRST;
    begin(copies, FEW_SEEN);
    return copies;
}

void pipeline_copies_free(struct pipeline_copies *copies)
{
    if (copies)
        let_go(copies);
    g_free(copies);
}

static void forget(struct pipeline_copies *copies)
{
    copies->kept = 0;
    for (size_t i = 0; i < copies->places; i++)
        copies->seen[i] = (struct seen){0};
}

static void note(struct pipeline_copies *copies, const struct fingerprint *print, int64_t time_ns)
{
    /* what is sent again with another id is not to take the place of the one before */
    uint32_t place = (uint32_t)print->low + print->id * ID_STEP;
    struct seen *seen = &copies->seen[place % copies->places];

    if (seen->key != print->high || seen->id != print->id) {
        *seen = (struct seen){print->high, time_ns, place, print->id};
        if (++copies->kept >= copies->places &&
            copies->n == 0) { /* they come again later than that many */
            copies->thinned++;
            forget(copies);
        }
        return;
    }
    copies->forward += print->forward;
    copies->times[copies->n++] = time_less(time_ns, seen->time_ns);
    seen->key = 0;
}

static void look(struct pipeline_copies *copies, const struct source_packet *one)
{
    struct fingerprint print;

    copies->several |= copies->any && one->interface != copies->interface;
    copies->interface = one->interface;
    if (!copies->any)
        copies->since_ns = one->packet.time_ns;
    copies->any = true;
    copies->latest_ns = one->packet.time_ns;
    copies->left--;
    if (fingerprint(&one->packet, BYTES, &print) &&
        (print.low >> 32 & ((UINT64_C(1) << copies->thinned) - 1)) == 0)
        note(copies, &print, one->packet.time_ns);
    if (copies->n == TIMES)
        copies->left = 0;
}

void pipeline_copies_passes(void *context, const struct source_packet *one)
{
    struct pipeline_copies *copies = context;

    if (copies->pipeline->passes_unlike)
        return;
    if (!one->replayed && copies->left > 0)
        look(copies, one);
    copies->pipeline->passes_unlike = copies->left == 0;
}

static void look_again(struct pipeline_copies *copies)
{
    if (copies->n == TIMES)
        return;
    if (copies->left == 0) { /* others passed since: those that are alone count from the next on */
        begin(copies, SEEN);
        copies->any = false;
    }
    copies->left += MOST;
    copies->pipeline->passes_unlike = false;
}

void pipeline_copies_op(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path)
{
    struct pipeline_copies *copies = context;
    const struct rpcrdma_connection *connection;
    uint64_t *resent;

    if (!path || path->retransmitted == 0 || copies->again == AGAIN)
        return;
    connection = pipeline_connection(copies->pipeline, op);
    if (!connection)
        return;
    resent =
        &copies->resent[(connection->number * 31 + op->dst_qpn * 7 + op->dst_port) % DIRECTIONS];
    if (path->retransmitted > *resent && ++copies->again == AGAIN)
        look_again(copies);
    *resent = path->retransmitted;
}

static int by_length(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* They are no copies, which would have come again by now, nor copies of what was not looked at.
 * `last`: those that may come again yet. */
static uint64_t alone(const struct pipeline_copies *copies, int64_t apart_ns, uint64_t *last)
{
    int64_t from_ns = time_plus(copies->since_ns, apart_ns);
    int64_t until_ns = time_less(copies->latest_ns, time_plus(apart_ns, apart_ns / SPREAD_PART));
    uint64_t n = 0;

    *last = 0;
    for (size_t i = 0; i < copies->places; i++) {
        const struct seen *one = &copies->seen[i];

        if (one->key == 0 || one->time_ns < from_ns)
            continue;
        n += one->time_ns < until_ns;
        *last += one->time_ns >= until_ns;
    }
    return n;
}

int64_t pipeline_copies_judge(struct pipeline_copies *copies)
{
    const uint64_t n = copies->n;
    uint64_t last, once;
    int64_t spread_ns, apart_ns;

    if (n < TIMES_LEAST || copies->forward * DIRECTION_PART < n ||
        (n - copies->forward) * DIRECTION_PART < n)
        return 0;
    qsort(copies->times, n, sizeof(copies->times[0]), by_length);
    apart_ns = copies->times[n / 2];
    once = alone(copies, apart_ns, &last);
    spread_ns = time_less(copies->times[n - 1 - n / 4], copies->times[n / 4]);
    return apart_ns >= (copies->several ? APART_LEAST_SEVERAL_NS : APART_LEAST_NS) &&
                   once * ALONE_PART <= n && last <= n * LAST_PART &&
                   spread_ns <= MAX(SPREAD_NS, apart_ns / SPREAD_PART)
               ? apart_ns
               : 0;
}
