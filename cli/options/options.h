/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OPTIONS_OPTIONS_H
#define RPCRDMA_CLI_OPTIONS_OPTIONS_H

/* The options that commands share, and how a command adds its own. */

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "command.h"
#include "flow/flow.h"
#include "source/devices/devices.h"
#include "wire/dialect.h"

enum options_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum options_time { TIME_AUTO, TIME_CAPTURE, TIME_HARDWARE };

struct options {
    char **files; /* NULL-terminated; at least one, or a device */
    guint n_files;
    char **also_read; /* NULL-terminated, the command's; NULL: none. Files that are no captures */
    char **devices;   /* NULL-terminated, or NULL: to analyse live */
    guint n_devices;
    struct devices_config live; /* how. The filter is the option's */
    char *filter;
    bool optional_input;                   /* the command does without */
    bool no_devices, no_follow;            /* it refuses them: help is silent about these options */
    void *own;                             /* the command's, for the callbacks of its own options */
    uint64_t count;                        /* packets to read; 0: all */
    GArray *ports;                         /* of uint16_t */
    GArray *qpns;                          /* of uint32_t */
    const struct rpcrdma_dialect *dialect; /* NULL: find out */
    gboolean json, verbose, quiet, check_icrc;
    gboolean no_sandbox, follow;
    bool keeps_times;  /* the command writes packets: with the capture's times, unless told */
    bool headers_only; /* it needs no payload of RDMA Writes and Read responses */
    enum options_time time_source;
    bool time_source_said;
    bool confined; /* it was done, for all files */
    enum options_color color;
    gboolean no_pager, no_names;
    gboolean json_header;
    bool no_progress;        /* others share the terminal */
    uint64_t max_memory;     /* bytes; 0: the default */
    const char *quiet_means; /* help text of -q; NULL: says nothing but errors */
};

enum { OPTIONS_GO_ON = -1 };

/*
 * Parses argv into *options: input options, --json and -q, and the command's own entries (may be
 * NULL). Returns OPTIONS_GO_ON, or the exit status: usage was wrong and said so. --help was
 * printed. *options needs options_free afterwards in every case.
 */
int options_parse(struct options *options, const struct command *command, GOptionEntry *own,
                  int argc, char **argv);

/* The same for a command that reads no capture. */
int options_parse_plain(struct options *options, const struct command *command, GOptionEntry *own,
                        int argc, char **argv);

void options_free(struct options *options);

/* A number from 1 to max, decimal or 0x hexadecimal: FALSE with *error set where it is not. */
gboolean options_number(const char *name, const char *text, uint64_t max, uint64_t *out,
                        GError **error);
/* Of a command with --top N: N goes to the uint64_t that is the options' `own`. */
gboolean options_top(const char *name, const char *text, gpointer options, GError **error);

/* Options that say how to capture: shared by live analysis and `capture`. `options` is the data of
 * their callbacks. */
void options_live(struct options *options, GOptionGroup *group);

/* --max-memory, or its default: bytes. */
size_t options_max_memory(const struct options *options);

/*
 * Eighths of that; of several files, of what reading them leaves: an eighth less. What is
 * outstanding on the wire has four of them, TCP reassembly two, of which the former has what is not
 * used, and what a command keeps until the end two.
 */
enum { MEMORY_FLOW = 4, MEMORY_NET = 2, MEMORY_COMMAND = 2 };
size_t options_memory(const struct options *options, unsigned eighths);

/* Connections that were closed are let go of so long after their last packet where results are
 * awaited as they come: of devices, of a file that grows, by --trigger. */
#define OPTIONS_LINGER_NS UINT64_C(10000000000)

/* What they say of connections, for flow/; lasts as long as they do. */
struct rpcrdma_flow_config options_flow(const struct options *options);

/* What is read has an end: files, no pipe, device or file that grows. To be asked before
 * options_confine. */
bool options_all_there(const struct options *options);

/* Whether path is among the files that are read: opening it for output would destroy it. That is
 * said then. Something else than a regular file is not. */
bool options_reads(const struct options *options, const char *path);
/* The same of a file beside it that writing makes, and removes: path.part. */
bool options_reads_beside(const struct options *options, const char *path, const char *ending);

/* OPTIONS_GO_ON, or bad usage: the name promises a compressed file, and none are written. */
int options_plain(const struct command *command, const char *path);

/* Gives up what reading takes no longer: privileges and rights; all that is written must be open,
 * or somebody else must open it (creator.h). Devices are different: then options_open does it.
 * False with a line in `error`: the command must not go on. */
bool options_confine(const struct options *options, char *error, size_t size);

/* Opens what is read: devices or files, less what the filter leaves out. NULL with a line in
 * `error`. */
struct source *options_open(const struct options *options, char *error, size_t size);

/* What is read: the first file or device. */
const char *options_input(const struct options *options);
/* As messages name it: "-" is standard input. */
const char *options_said(const struct options *options);
/* What to say behind it: " and others" where it is not the only one, else "". */
const char *options_and_others(const struct options *options);

/* "rpcrdma COMMAND: text" and where to find help; returns EXIT_UNUSABLE. */
__attribute__((format(printf, 2, 3))) int bad_usage(const struct command *command,
                                                    const char *format, ...);

#endif
