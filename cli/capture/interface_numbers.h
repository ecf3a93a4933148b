/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_CAPTURE_INTERFACE_NUMBERS_H
#define RPCRDMA_CLI_CAPTURE_INTERFACE_NUMBERS_H

/*
 * The interfaces of a source in the files that are written of it: there they are numbered in the
 * order in which they are written down, whatever numbers the source has for them.
 */

#include "capture/files.h"
#include "source/source.h"

enum { INTERFACES_MOST = 65536 }; /* that are written down */

struct interface_numbers {
    struct capture_files *files; /* the caller's, as is the source */
    const struct source *source;
    bool bare;            /* without what may name a host: names and comments */
    GArray *of_source;    /* uint32_t: the source's numbers, in the order of the files */
    GHashTable *of_files; /* the other way round */
    /* of interfaces whose counts go on from one beginning, as in the files of a ring */
    GHashTable *shares, *together;
};

void interface_numbers_begin(struct interface_numbers *numbers, struct capture_files *files,
                             bool bare);
void interface_numbers_free(struct interface_numbers *numbers);

/* Writes it down, unless it is. False: there is no such interface, or no room for one more. */
bool interface_numbers_add(struct interface_numbers *numbers, uint32_t of_source);
/* False: it is not written down. */
bool interface_numbers_find(const struct interface_numbers *numbers, uint32_t of_source,
                            uint32_t *of_files);

/* Where others count the same packets: of its counts what these do not have. */
void interface_numbers_share(const struct interface_numbers *numbers, uint32_t of_source,
                             struct source_interface *one);

/* Its counts as they are now, for the end of a file. */
void interface_numbers_refresh(const struct interface_numbers *numbers, uint32_t of_files);
/* Its last counts. False: it is not written down. */
bool interface_numbers_ended(const struct interface_numbers *numbers, uint32_t of_source,
                             const struct source_interface *last);

#endif
