/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/program.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/same_file.h"

/* "capture", Wireshark's "--capture", or -i, also among other letters ("-qi"). Where an argument
 * only looks like it, the other copy does the same as this one. */
static bool captures(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "capture") == 0)
        return true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--capture") == 0 || strncmp(argv[i], "--interface", 11) == 0 ||
            strncmp(argv[i], "--extcap-", 9) == 0)
            return true;
        if (argv[i][0] == '-' && argv[i][1] != '-' && strchr(argv[i], 'i'))
            return true;
    }
    return false;
}

static bool is_this(const char *program)
{
    struct stat other, this;

    return stat(program, &other) == 0 && stat("/proc/self/exe", &this) == 0 &&
           same_file(&other, &this);
}

void capture_program_start(const char *program, int argc, char **argv)
{
    if (captures(argc, argv) && geteuid() != 0 && access(program, X_OK) == 0 && !is_this(program))
        execv(program, argv); /* else what is said without it */
}
