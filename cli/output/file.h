/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUTPUT_FILE_H
#define RPCRDMA_CLI_OUTPUT_FILE_H

/* A file that an option names for output. "-" is standard output, and so is /dev/stdout: what a
 * command shows otherwise is not shown then. */

#include "options/options.h"
#include "out/out.h"

struct output_file {
    const char *path;
    struct out *out; /* NULL: it is not open */
    struct out own;  /* what that is, unless it is the command's standard output */
};

/* Whether the path, which may be NULL, names standard output. */
bool output_standard(const char *path);

/* OPTIONS_GO_ON, or bad usage: `other`, an option that is given, goes to standard output, too.
 * NULL: none is. */
int output_alone(const struct command *command, const char *option, const char *path,
                 const char *other);

/* The same: a binary file, which is not compressed, and not for a terminal. */
int output_binary(const struct command *command, const char *option, const char *path);

/* Whether the input can be opened, and a file is a capture, before a new file or folder is made for
 * it, which would be in the way of the next run. Of pipes it is not known. False: it was said. */
bool output_has_input(const struct options *options);

/* Before the sandbox forbids it. What the file had goes with the first bytes that are written:
 * where the input turns out to be unusable, who writes nothing leaves it. `standard` is what the
 * command opens by begin_output() for standard output, before or after this; NULL where it does
 * not. OPTIONS_GO_ON, or an exit status: it was said. */
int output_file_open(struct output_file *file, const char *path, const struct options *options,
                     struct out *standard);

/* The same of text, which is not written over a capture: who leaves out the option's argument names
 * the file that is to be read. */
int output_text_open(struct output_file *file, const char *path, const struct options *options,
                     struct out *standard);

/* Writes what is left, where it was opened. The exit status: `status` unless that failed. */
int output_file_close(struct output_file *file, int status);

#endif
