/* SPDX-License-Identifier: BSD-2-Clause */
/* Several files as one source: their interfaces, counts and clocks. */
#include "source/merge/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/times.h"

bool merge_interface(const struct source *source, uint32_t number, struct source_interface *out)
{
    const struct merge *merge = (const struct merge *)source;
    size_t part = number >> MERGE_INTERFACE_BITS;

    return part < merge->n_parts && merge->parts[part].source &&
           source_interface(merge->parts[part].source, number & ((1u << MERGE_INTERFACE_BITS) - 1),
                            out);
}

void merge_stats(const struct source *source, struct source_stats *out)
{
    const struct merge *merge = (const struct merge *)source;
    const struct overlap_doubt *doubt = &merge->overlap.doubt;

    parts_stats(merge->parts, merge->n_parts, out);
    out->packets = merge->frame;
    out->alike = (struct source_alike){
        .pairs = doubt->pairs,
        .first = doubt->pairs > 0 ? merge->parts[doubt->first].path : NULL,
        .second = doubt->pairs > 0 ? merge->parts[doubt->second].path : NULL,
        .packets = doubt->packets,
        .apart_ns = doubt->apart_ns,
    };
}

/* What its clock is against the reference's: that file's name comes behind. */
static void clock_said(char *text, size_t size, const struct overlap_file *file)
{
    int64_t ns = file->offset_ns;
    uint64_t apart = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    if (ns == 0)
        snprintf(text, size, "agrees with");
    else
        snprintf(text, size, "is %" PRIu64 ".%09u s %s", apart / 1000000000,
                 (unsigned)(apart % 1000000000), ns < 0 ? "behind" : "ahead of");
}

static void drift_said(char *text, size_t size, const struct overlap_file *file)
{
    double ppm = (double)file->drift_ppb / 1e3, size_ppm = ppm < 0 ? -ppm : ppm;
    double over_ns = (double)time_less(file->last_ns, file->first_ns);

    snprintf(text, size,
             "; its clock also runs %.1f ppm %s, which is not corrected: %.3f ms in the %.1f s of "
             "the file",
             size_ppm, ppm < 0 ? "slower" : "faster", size_ppm * over_ns / 1e12, over_ns / 1e9);
}

void merge_report(const struct source *source, void (*line)(void *, const char *), void *context)
{
    const struct merge *merge = (const struct merge *)source;
    char text[1024], clock[64], drift[160];

    for (size_t i = 0; i < merge->n_parts; i++) {
        const struct part *part = &merge->parts[i];
        const struct overlap_file *file = merge->overlap.files ? &merge->overlap.files[i] : NULL;
        const char *reference;

        if (!part->shares || !file)
            continue;
        reference = merge->parts[file->reference].path;
        clock_said(clock, sizeof(clock), file);
        drift[0] = '\0';
        if (file->drift_ppb != 0)
            drift_said(drift, sizeof(drift), file);
        if (file->reference == i)
            snprintf(text, sizeof(text),
                     "%s: %" PRIu64 " of %" PRIu64 " packets were counted in another file that has "
                     "them; all times are by the clock of this file%s",
                     part->path, part->copies, part->packets_read, drift);
        else
            snprintf(text, sizeof(text),
                     "%s: %" PRIu64 " of %" PRIu64 " packets were counted in another file that has "
                     "them; its clock %s that of %s%s%s",
                     part->path, part->copies, part->packets_read, clock, reference,
                     file->offset_ns != 0 ? ", and its times are corrected by that" : "", drift);
        line(context, text);
    }
    if (merge->overlap.replays.too_many > 0) {
        snprintf(text, sizeof(text),
                 "%" PRIu64
                 " packets with which files begin that set up a connection before are too "
                 "many: they may count twice",
                 merge->overlap.replays.too_many);
        line(context, text);
    }
    if (merge->copies && copies_remembered_ns(merge->copies) > 0) {
        snprintf(
            text, sizeof(text),
            "packets were compared with those of the last %.3f s: copies that are further apart "
            "count twice; more --max-memory remembers longer",
            (double)copies_remembered_ns(merge->copies) / 1e9);
        line(context, text);
    }
}

bool merge_part(const struct source *source, size_t i, struct source_part *out)
{
    const struct merge *merge = (const struct merge *)source;
    const struct part *part;
    struct source_stats stats;

    if (i >= merge->n_parts)
        return false;
    part = &merge->parts[i];
    stats = part->stats;
    if (part->source)
        source_stats(part->source, &stats);
    *out = (struct source_part){.complete = part->ended && !part->failed,
                                .has_times = part->packets_read > 0,
                                .first_ns = part->first_ns,
                                .last_ns = part->last_ns,
                                .packets = part->packets_read + part->replayed,
                                .dropped_known = stats.dropped_known,
                                .dropped = stats.dropped};
    out->read = out->packets > 0 || out->complete;
    return true;
}

bool merge_part_of(const struct source *source, uint64_t frame, size_t *i)
{
    return origins_find(&((const struct merge *)source)->origins, frame, i);
}

bool merge_unrelated(const struct source *source, uint32_t a, uint32_t b)
{
    const struct merge *merge = (const struct merge *)source;

    return merge->overlap.files &&
           overlap_unrelated(&merge->overlap, a >> MERGE_INTERFACE_BITS, b >> MERGE_INTERFACE_BITS);
}
