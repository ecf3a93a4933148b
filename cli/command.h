/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMAND_H
#define RPCRDMA_CLI_COMMAND_H

/* The subcommands. main.c's table feeds dispatch and usage; a new one is a line there. */

struct command {
    const char *name;
    const char *arguments; /* "FILE..." */
    const char *what;      /* one line, for the list of commands */
    const char *details;   /* paragraphs below its --help, or NULL */
    /* argv[0] is the command's name. Returns the exit status (enum exit_status). */
    int (*run)(const struct command *command, int argc, char **argv);
};

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FOUND = 1,    /* check: the protocol was violated */
    EXIT_UNUSABLE = 2, /* bad usage, unreadable input, output that could not be written */
};

extern const struct command command_capture, command_check, command_connections, command_credits,
    command_decode, command_diff, command_export, command_extract, command_fields, command_metrics,
    command_report, command_rpcs, command_rules, command_sanitize, command_trace;

#endif
