/* SPDX-License-Identifier: BSD-2-Clause */
#include "finish.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "options.h"

int begin_output(struct out *out)
{
    if (!out_open(out, STDOUT_FILENO)) {
        complain("out of memory");
        return EXIT_UNUSABLE;
    }
    out->lines = isatty(STDOUT_FILENO);
    return OPTIONS_GO_ON;
}

void fit_lines(struct out *out)
{
    struct winsize size;

    if (out->lines && ioctl(out->fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        out->width = size.ws_col;
}

int end_output(struct out *out, int status)
{
    int error = out_close(out);

    if (error == 0 || error == EPIPE)
        return status;
    complain("standard output: %s", strerror(error));
    return EXIT_UNUSABLE;
}

bool output_awaited(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}
