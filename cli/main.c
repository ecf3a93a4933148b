/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/program.h"
#include "command.h"
#include "common/complain.h"
#include "common/heap.h"
#include "extcap/extcap.h"
#include "source/rights/descriptors.h"
#include "version.h"

static const struct command *const commands[] = {
    &command_report,   &command_trace,       &command_decode,  &command_rpcs,   &command_diff,
    &command_extract,  &command_connections, &command_credits, &command_check,  &command_export,
    &command_sanitize, &command_capture,     &command_metrics, &command_fields, &command_rules,
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *to)
{
    fputs("Usage: rpcrdma COMMAND [OPTION...] FILE...\n"
          "\n"
          "Makes and reads captures of RPC-over-RDMA, the transport of NFS/RDMA.\n"
          "\n"
          "Commands:\n",
          to);
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-12s %s\n", commands[i]->name, commands[i]->what);
    fputs(
        "\n"
        "  rpcrdma help COMMAND      the command's options, as rpcrdma COMMAND --help\n"
        "  rpcrdma --version         the program's version\n"
        "\n"
        "FILE is pcap, pcapng, snoop or ERF, plain or compressed; - is standard input.\n"
        "Exit status: 0 done, 1 check found errors or warnings, 2 bad usage or unreadable input.\n",
        to);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* What was printed is worth something only if it arrived. A failed write may be known only by the
 * stream's mark, and of some file systems only when the file is closed. */
static int finish(int status)
{
    bool failed = ferror(stdout);
    int error = failed ? EIO : 0;

    if (fflush(stdout) != 0)
        error = errno;
    if (close(STDOUT_FILENO) != 0 && errno != EBADF && error == 0)
        error = errno;
    if (error == 0 || error == EPIPE)
        return status;
    complain("standard output: %s", strerror(error));
    return EXIT_UNUSABLE;
}

/* What is large goes back when it is freed, whatever was freed before: else one block of 16 MiB, a
 * dictionary, makes the C library keep as much as that from then on. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
#endif
}

/* Who knows tcpdump or tshark gives an option or a file first. */
static void complain_of_name(const char *name)
{
    if (name[0] == '-')
        complain("a command comes first, options after it: rpcrdma COMMAND %s; see rpcrdma --help",
                 name);
    else if (access(name, F_OK) == 0)
        complain("there is no command \"%s\"; to read that file: rpcrdma report FILE; "
                 "see rpcrdma --help",
                 name);
    else
        complain("there is no command \"%s\"; see rpcrdma --help", name);
}

int main(int argc, char **argv)
{
    const struct command *command;
    const char *name = argc > 1 ? argv[1] : NULL;

    give_back_memory();
    heap_begin();
    descriptors_hold_standard();
    descriptors_close_unnamed(argc, argv);
    signal(SIGXFSZ, SIG_IGN); /* a file that becomes too large is an error like others */
#ifdef RPCRDMA_CAPTURE_PROGRAM
    capture_program_start(RPCRDMA_CAPTURE_PROGRAM, argc, argv);
#endif
    if (extcap_is(argc, argv))
        return finish(extcap_run(argc, argv));
    if (!name) {
        usage(stderr);
        return EXIT_UNUSABLE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-v") == 0) {
        puts("rpcrdma " RPCRDMA_VERSION);
        return finish(EXIT_DONE);
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
        (strcmp(name, "help") == 0 &&
         (argc == 2 || strcmp(argv[2], "help") == 0 || strcmp(argv[2], "--help") == 0 ||
          strcmp(argv[2], "-h") == 0))) {
        usage(stdout);
        return finish(EXIT_DONE);
    }
    if (strcmp(name, "help") == 0) { /* help COMMAND is COMMAND --help */
        static char help[] = "--help";
        char *arguments[] = {argv[2], help, NULL};

        if (argc > 3) {
            complain("help takes one command");
            return EXIT_UNUSABLE;
        }
        command = find(argv[2]);
        if (command)
            return finish(command->run(command, 2, arguments));
        name = argv[2];
    }
    command = find(name);
    if (!command) {
        complain_of_name(name);
        return EXIT_UNUSABLE;
    }
    return finish(command->run(command, argc - 1, argv + 1));
}
