/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that were retransmitted, and those that hosts send alike again and again, are equal too,
 * one in each file: they are few among all that both could have, and their times are not equally
 * far apart. What was retransmitted has another IPv4 identification, where hosts set one.
 *
 * Files that do not overlap by their own clocks may be one host's, one after the other, with
 * packets that were retransmitted across the seam: that is what most of them are, so that a clock
 * which is far off takes more to be believed.
 */
#include "source/merge/alike.h"

#include "common/times.h"

enum {
    MANY = 16,
    SHARE_LEAST = 8,       /* an eighth of what one of them has in the time of both */
    SHARE_LEAST_APART = 3, /* a third, of files that do not overlap by their clocks; */
    REPEATED_MOST = 3,     /* as much as that in one file comes twice by itself */
};

static const int64_t SPREAD_NS = 10000000; /* of the differences' middle half, and a thousandth of
                                            * the time they are from, by which clocks drift */
/* What is retransmitted comes in a burst: of packets that came over a longer time, and are all
 * equally far apart, each host was not made to send the last ones again. */
static const int64_t LONG_NS = 100000000;
enum { RIGID = 4, RIGID_WITHOUT_ID = 16 }; /* the time is so many times as long as the spread */

struct evidence {
    size_t near; /* differences that are about the offset, */
    size_t same; /* with the same IPv4 identification, */
    size_t told; /* which is set, and another one than that of the difference before */
    int64_t during_ns, spread_ns;
    double could; /* be in both, of the sample of the file that has fewer of them */
};

/* How many of the times are before that. */
static size_t before(const int64_t *times, size_t n, int64_t time_ns)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t half = low + (high - low) / 2;

        if (times[half] < time_ns)
            low = half + 1;
        else
            high = half;
    }
    return low;
}

/* How many packets of the one's sample could be in the other's, by time and by choice. */
static double comparable(const int64_t *all_times, const struct overlap_file *one,
                         const struct overlap_file *other, int64_t ahead_ns)
{
    const int64_t *times = all_times + one->times_from;
    size_t n = before(times, one->sampled, time_plus(time_less(other->last_ns, ahead_ns), 1)) -
               before(times, one->sampled, time_less(other->first_ns, ahead_ns));

    return one->limit > other->limit ? (double)n * ((double)other->limit / (double)one->limit)
                                     : (double)n;
}

/* Of the middle half of n differences of one direction. */
static int64_t spread(const struct difference *all, size_t n)
{
    return n == 0 ? 0 : time_less(all[n - 1 - n / 4].ns, all[n / 4].ns);
}

static struct evidence look(const struct difference *all, size_t n, int64_t offset_ns)
{
    struct evidence e = {0};
    int64_t least = INT64_MAX, most = INT64_MIN, back, forth;
    uint16_t id = 0;
    size_t turn = 0;

    for (size_t i = 0; i < n; i++) {
        if (all[i].ns < time_less(offset_ns, SECOND) || all[i].ns > time_plus(offset_ns, SECOND))
            continue;
        e.near++;
        e.same += all[i].same_id;
        e.told += all[i].same_id && all[i].id != 0 && all[i].id != id;
        id = all[i].id;
        least = all[i].when < least ? all[i].when : least;
        most = all[i].when > most ? all[i].when : most;
    }
    while (turn < n && !all[turn].forward)
        turn++;
    back = spread(all, turn);
    forth = spread(all + turn, n - turn);
    e.during_ns = e.near > 0 ? time_less(most, least) : 0;
    e.spread_ns = back > forth ? back : forth;
    return e;
}

/* So many times as long. */
static bool rigid(const struct evidence *e, int times)
{
    return e->spread_ns <= e->during_ns / times;
}

/* Much of the file was sent twice, or captured twice: so may be what is alike at a seam. */
static bool repeats(const struct overlap_file *file)
{
    return file->repeated > file->sampled / REPEATED_MOST;
}

/* As far apart as within the file. */
static bool as_repeated(const struct overlap_file *file, int64_t offset_ns)
{
    int64_t most = time_plus(file->repeated_ns, file->repeated_ns);

    return repeats(file) && offset_ns <= most && offset_ns >= time_less(0, most);
}

/* Of files that do not overlap by their clocks. */
static enum alike judge_apart(const struct evidence *e, const struct overlap_file *a,
                              const struct overlap_file *b, int64_t offset_ns)
{
    int64_t shorter = time_less(a->last_ns, a->first_ns);
    bool by_id = e->told >= MANY && e->told >= e->near - e->near / 4;

    if (time_less(b->last_ns, b->first_ns) < shorter)
        shorter = time_less(b->last_ns, b->first_ns);
    if (e->near >= MANY && e->during_ns >= shorter / 2)
        return ALIKE_SAME;
    if (as_repeated(a, offset_ns) || as_repeated(b, offset_ns) || !rigid(e, RIGID) ||
        (double)e->near * (int)SHARE_LEAST_APART < e->could)
        return ALIKE_OTHERS;
    if (repeats(a) || repeats(b))
        return ALIKE_NOT_KNOWN;
    return by_id || (e->near >= MANY && e->during_ns >= LONG_NS && rigid(e, RIGID_WITHOUT_ID))
               ? ALIKE_SAME
               : ALIKE_NOT_KNOWN;
}

enum alike alike_judge(const struct overlap_file *files, const int64_t *times,
                       const struct difference *all, size_t n, int64_t offset_ns)
{
    const struct overlap_file *a = &files[all[0].first], *b = &files[all[0].second];
    bool overlaps = a->first_ns < b->last_ns && b->first_ns < a->last_ns;
    struct evidence e = look(all, n, offset_ns);
    double second_could;

    if (e.near < ALIKE_LEAST || e.near < n - n / 4 ||
        (e.same < e.near - e.near / 2 && (!overlaps || e.near < MANY)))
        return ALIKE_OTHERS;
    e.could = comparable(times, a, b, offset_ns);
    second_could = comparable(times, b, a, time_less(0, offset_ns));
    if (second_could < e.could)
        e.could = second_could;
    if ((double)e.near * (int)SHARE_LEAST < e.could ||
        e.spread_ns > time_plus(SPREAD_NS, e.during_ns / 1000))
        return ALIKE_OTHERS;
    return overlaps ? ALIKE_SAME : judge_apart(&e, a, b, offset_ns);
}
