/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/finish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "common/columns.h"
#include "common/complain.h"
#include "out/json_writer.h"
#include "output/pager.h"
#include "source/rights/create.h"
#include "version.h"

/* Of the terminal, before a pager stands in front of it. 0: there is none. */
static unsigned columns;

/* Standard output, in messages; and whether writing to it failed. */
static const char *standard = "standard output";
static bool failed;

static bool colored(const struct options *options, bool terminal)
{
    const char *no = getenv("NO_COLOR"), *kind = getenv("TERM");

    if (options->color != COLOR_AUTO)
        return options->color == COLOR_ALWAYS;
    return terminal && !(no && *no) && kind && strcmp(kind, "dumb") != 0;
}

/* Packets that come as they happen are looked at as they come: no page is ever full. */
static bool lasting(const struct options *options)
{
    for (guint i = 0; i < options->n_files; i++)
        if (output_awaited(options->files[i]))
            return false;
    return options->n_devices == 0;
}

/* docs/json.md says what may change without that this does. */
enum { JSON_FORMAT = 1 };

/* {"program":"rpcrdma","version":"1.0.0","command":"decode","format":1} */
static void put_header(struct out *out)
{
    struct json json = {.out = out};
    const char *command = strrchr(g_get_prgname(), ' ');

    json_open(&json, '{');
    json_key(&json, KEY(program)), json_plain(&json, "rpcrdma");
    json_key(&json, KEY(version)), json_plain(&json, RPCRDMA_VERSION);
    json_key(&json, KEY(command)), json_plain(&json, command ? command + 1 : "");
    json_key(&json, KEY(format)), json_u64(&json, JSON_FORMAT);
    json_close(&json, '}');
    json_end(&json);
}

int begin_output(const struct options *options, struct out *out)
{
    bool terminal = isatty(STDOUT_FILENO);
    struct winsize size;

    if (!out_open(out, STDOUT_FILENO)) {
        complain("out of memory");
        return EXIT_UNUSABLE;
    }
    out->terminal = terminal;
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    out->color = !options->json && colored(options, terminal);
    out->lines =
        terminal && (options->no_pager || !lasting(options) || !pager_begin(STDOUT_FILENO));
    if (options->json && options->json_header)
        put_header(out);
    return OPTIONS_GO_ON;
}

void fit_lines(struct out *out, bool fold)
{
    out->fold = fold;
    if (columns >= 20)
        out->width = columns;
    out->columns = columns_of_character;
}

int end_output(struct out *out, int status)
{
    int error = out_close(out);

    pager_end(STDOUT_FILENO);
    if (error == 0 || error == EPIPE)
        return status;
    failed = true;
    complain("%s: %s", standard, create_error(error));
    return EXIT_UNUSABLE;
}

void output_is(const char *name)
{
    standard = name;
}

bool output_failed(void)
{
    return failed;
}

bool output_awaited(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}
