/* SPDX-License-Identifier: BSD-2-Clause */
/* What was written, cut, left out and lost: for the end of a capture. */
#include "capture/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/complain.h"
#include "common/plural.h"

static void written(const struct capture *capture)
{
    const struct capture_files *files = &capture->files;
    const struct capture_select *select = &capture->select;
    char several[96] = "";

    for (guint i = 0; capture_files_opened(files) && i < files->interfaces.all->len; i++) {
        const struct pcapng_statistics *counts;
        const char *name;
        uint64_t lost;

        if (capture->options->n_devices == 0)
            continue;
        if (!capture_files_counts(files, i, &name, &counts) || !counts->dropped_known)
            complain("%s: how many packets were lost is not known", name);
        else if ((lost = counts->dropped + counts->interface_dropped) > 0)
            complain("%s: %" PRIu64 " packet%s", name, lost, plural_lost(lost));
    }
    if (files->count > 1)
        snprintf(several, sizeof(several), " in %" PRIu64 " files", files->count);
    if (files->next.files > 0 && files->count > files->next.files)
        snprintf(several + strlen(several), sizeof(several) - strlen(several),
                 ", of which the latest %" PRIu64 " %s kept", files->next.files,
                 files->next.files == 1 ? "is" : "are");
    complain("%" PRIu64 " packet%s written, %" PRIu64 " bytes%s", files->packets,
             plural(files->packets), files->bytes, several);
    if (select->only)
        complain("%" PRIu64 " packet%s left out", select->left_out, plural(select->left_out));
    if (select->too_deep > 0)
        complain("%" PRIu64
                 " packet%s kept whole: too many Ethernet and IP headers within each other",
                 select->too_deep, select->too_deep == 1 ? " was" : "s were");
    if (select->memory_limit > 0)
        complain("--max-memory (%zu MiB) was reached %" PRIu64 " time%s: what belongs together was "
                 "not always known, and %s",
                 options_max_memory(capture->options) >> 20, select->memory_limit,
                 plural(select->memory_limit),
                 select->only ? "packets may be left out that should not"
                              : "more is kept than was asked for");
    if (select->slice && select->bytes_kept > 0)
        complain("%" PRIu64 " packet%s cut: %" PRIu64 " of %" PRIu64 " bytes kept, 1 in %.1f",
                 select->cut, plural(select->cut), select->bytes_kept, select->bytes_in,
                 (double)select->bytes_in / (double)select->bytes_kept);
}

static void say_setups(const struct capture_setups *setups)
{
    if (setups->forgotten > 0)
        complain("%" PRIu64
                 " open connection%s forgotten, of more than %d: files do not begin with "
                 "what set %s up",
                 setups->forgotten, setups->forgotten == 1 ? " was" : "s were", SETUPS_MOST,
                 setups->forgotten == 1 ? "it" : "them");
    if (setups->no_room > 0)
        complain("what set up connections was left out %" PRIu64
                 " time%s at the beginning of a file: it would have taken more than half of it, or "
                 "more than there was to read",
                 setups->no_room, plural(setups->no_room));
}

void capture_summary(const struct capture *capture)
{
    if (capture->files.count > 0)
        written(capture);
    say_setups(&capture->setups);
    if (capture->event.expression && capture_files_opened(&capture->files))
        capture_event_summary(&capture->event);
}
