/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of each direction the median of the differences in the first third of the time and in the last
 * one: a few that were sent again, or waited in a queue, do not move it.
 */
#include "source/merge/drift.h"

#include "common/times.h"

enum { LEAST = 8 }; /* packets in each third */

static const int64_t SHORTEST_NS = 1000000000;
static const double MOST_PPB = 1e6; /* no clock is that bad */

struct third {
    int64_t median, spread; /* of the differences; the latter of their middle half */
    double when;            /* their mean time, since the first */
    size_t n;
};

/* Those of one direction between two times, which are sorted by ns. */
static struct third look(const struct difference *all, size_t n, int64_t from, int64_t to,
                         int64_t since)
{
    struct third third = {0};
    int64_t quarter = 0, high = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        third.n += all[i].when >= from && all[i].when <= to;
    for (size_t i = 0; i < n; i++) {
        if (all[i].when < from || all[i].when > to)
            continue;
        if (at == third.n / 4)
            quarter = all[i].ns;
        if (at == third.n / 2)
            third.median = all[i].ns;
        if (at == third.n - 1 - third.n / 4)
            high = all[i].ns;
        third.when += (double)time_less(all[i].when, since) / (double)third.n;
        at++;
    }
    third.spread = time_less(high, quarter);
    return third;
}

/* False: there is nothing to be seen. */
static bool direction(const struct difference *all, size_t n, int64_t least, int64_t most,
                      double *ppb)
{
    int64_t length = time_less(most, least) / 3, moved;
    struct third first = look(all, n, least, time_plus(least, length), least);
    struct third last = look(all, n, time_less(most, length), most, least);

    if (first.n < LEAST || last.n < LEAST || last.when <= first.when)
        return false;
    moved = time_less(last.median, first.median);
    *ppb = (double)moved / (last.when - first.when) * 1e9;
    moved = moved < 0 ? time_less(0, moved) : moved;
    return moved > first.spread && moved > last.spread && *ppb<MOST_PPB && * ppb> - MOST_PPB;
}

int64_t drift_of(const struct difference *all, size_t n)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    double back = 0, forth = 0;
    size_t turn = 0;

    for (size_t i = 0; i < n; i++) {
        least = all[i].when < least ? all[i].when : least;
        most = all[i].when > most ? all[i].when : most;
    }
    while (turn < n && !all[turn].forward)
        turn++;
    if (n == 0 || time_less(most, least) < SHORTEST_NS ||
        (turn > 0 && !direction(all, turn, least, most, &back)) ||
        (turn < n && !direction(all + turn, n - turn, least, most, &forth)))
        return 0;
    if (turn == 0 || turn == n)
        return (int64_t)(back + forth); /* the other one is 0 */
    if (back / forth < 0.5 || back / forth > 2)
        return 0;
    return (int64_t)((back + forth) / 2);
}
