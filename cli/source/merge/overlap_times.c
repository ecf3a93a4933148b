/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the files captured at the same time, by clocks that are known. */
#include "source/merge/overlap.h"

#include "common/times.h"

static const int64_t SEAM_NS = 10000000; /* packets of one interface may change places so far */

/* By more than what lies at a seam of two that follow one another. */
static bool at_once(const struct overlap_file *a, const struct overlap_file *b)
{
    int64_t a_length = time_less(a->all_last_ns, a->all_first_ns);
    int64_t b_length = time_less(b->all_last_ns, b->all_first_ns);
    int64_t least = (a_length < b_length ? a_length : b_length) / 10;
    int64_t begin = a->all_first_ns > b->all_first_ns ? a->all_first_ns : b->all_first_ns;
    int64_t end = a->all_last_ns < b->all_last_ns ? a->all_last_ns : b->all_last_ns;

    return time_less(end, begin) >= (least < SEAM_NS ? least : SEAM_NS);
}

bool overlap_together(const struct overlap *overlap, size_t i, size_t k)
{
    const struct overlap_file *a = &overlap->files[i], *b = &overlap->files[k];

    return a->reference == b->reference && at_once(a, b);
}

bool overlap_unrelated(const struct overlap *overlap, size_t i, size_t k)
{
    const struct overlap_file *a = &overlap->files[overlap->files[i].twin];
    const struct overlap_file *b = &overlap->files[overlap->files[k].twin];

    return a != b && !(a->related && b->related) && at_once(a, b);
}
