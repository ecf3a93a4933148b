/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wireshark/numbers.h"

/* Frames left out, one after another: they all had the number of the frame behind them. */
struct run {
    uint32_t number, first; /* Wireshark's, ours */
    uint32_t before, n;     /* so many were left out before them; they */
};

static GArray *runs; /* NULL: none was left out */
static uint32_t left_out;
static struct {
    uint32_t number; /* 0: none */
    int64_t off;
    nstime_t time;
} latest; /* first visit */

void numbers_file(void)
{
    if (runs)
        g_array_free(runs, TRUE);
    runs = NULL;
    left_out = 0;
    latest.number = 0;
}

static struct run *run_at(guint i)
{
    return &g_array_index(runs, struct run, i);
}

/* How many runs begin up to there, by either number. */
static guint runs_to(uint32_t number, bool fed)
{
    guint low = 0, high = runs->len;

    while (low < high) {
        guint middle = (low + high) / 2;
        const struct run *run = run_at(middle);

        if ((fed ? run->first : run->number) <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void leave_out(uint32_t number)
{
    struct run *last, run = {number, number + left_out, left_out, 1};

    if (!runs)
        runs = g_array_new(FALSE, FALSE, sizeof(struct run));
    last = runs->len > 0 ? run_at(runs->len - 1) : NULL;
    left_out++;
    if (last && last->number == number)
        last->n++;
    else
        g_array_append_val(runs, run);
}

bool numbers_first_visit(const packet_info *pinfo)
{
    const frame_data *fd = pinfo->fd;

    if (fd->num == latest.number) {
        /* Wireshark itself dissects a frame for its read filter, and once more if it passed */
        if (fd->file_off == latest.off && nstime_cmp(&fd->abs_ts, &latest.time) == 0)
            return false;
        leave_out(fd->num);
    }
    latest.number = fd->num;
    latest.off = fd->file_off;
    latest.time = fd->abs_ts;
    return true;
}

uint32_t numbers_fed(const packet_info *pinfo)
{
    uint32_t number = pinfo->num;
    guint n = runs ? runs_to(number, false) : 0;

    return n > 0 ? number + run_at(n - 1)->before + run_at(n - 1)->n : number;
}

uint32_t numbers_shown(uint32_t fed)
{
    guint n = runs ? runs_to(fed, true) : 0;
    const struct run *run = n > 0 ? run_at(n - 1) : NULL;

    if (!run)
        return fed;
    return fed - run->first < run->n ? 0 : fed - run->before - run->n;
}
