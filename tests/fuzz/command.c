/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a capture file to what the commands print. Input: which command, and how
 * much memory it has; then a capture file of any format. Whatever the file says: a known exit
 * status, nothing raw for a terminal, JSON that is some, and the same when it is asked again.
 */
#define _GNU_SOURCE
#include <glib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "fuzz.h"
#include "mutate.h"
#include "source/sandbox.h"

const enum mutate_format mutate_format = MUTATE_FILE;

/* This process is to go on with other inputs, so it keeps its rights. */
bool sandbox_enter(const struct sandbox *sandbox)
{
    (void)sandbox;
    return false;
}

bool sandbox_files(const struct sandbox *sandbox, char *error, size_t size)
{
    (void)sandbox;
    (void)error;
    (void)size;
    return true;
}

enum { ARGUMENTS = 6 };

static const struct run {
    const struct command *command;
    const char *arguments[ARGUMENTS];
    bool json; /* one object a line */
} runs[] = {
    {&command_report, {NULL}, false},
    {&command_report, {"--json", NULL}, true},
    {&command_export, {"--ndjson", "-", NULL}, true},
    {&command_export, {"--csv", "-", "--tables", "rpcs", NULL}, false},
    {&command_rpcs, {"-t", "ad", NULL}, false},
    {&command_rpcs, {"--json", "--where", "latency_ns > 1ms || !(xid in {1..7})", NULL}, true},
    {&command_rpcs, {"--summary", "--per", "client", NULL}, false},
    {&command_check, {"--json", NULL}, true},
    {&command_check, {"--format", "sarif", NULL}, false},
    {&command_check, {NULL}, false},
    {&command_connections, {NULL}, false},
    {&command_connections, {"--json", NULL}, true},
    {&command_decode, {"-V", NULL}, false},
    {&command_decode, {"--json", "--where", "type == RDMA_MSG and read.length", NULL}, true},
    {&command_decode, {"--cm", "--json", NULL}, true},
    {&command_credits, {NULL}, false},
    {&command_credits, {"--json", NULL}, true},
    {&command_trace, {"--slowest", NULL}, false},
};

enum { RUNS = sizeof(runs) / sizeof(runs[0]) };

static const char *const memory[] = {NULL, "--max-memory=1", "--max-memory=8"};

static int empty(const char *name)
{
    int fd = memfd_create(name, 0);

    MUST(fd >= 0);
    return fd;
}

struct text {
    char *data;
    size_t size;
};

static struct text take(int fd)
{
    struct stat status;
    struct text text;

    MUST(fstat(fd, &status) == 0);
    text.size = (size_t)status.st_size;
    text.data = malloc(text.size + 1);
    MUST(text.data && pread(fd, text.data, text.size, 0) == (ssize_t)text.size);
    text.data[text.size] = '\0';
    MUST(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    return text;
}

/* No bytes but lines of UTF-8 without control characters. */
static void must_be_plain(const struct text *text)
{
    MUST(memchr(text->data, '\0', text->size) == NULL);
    MUST(g_utf8_validate(text->data, (gssize)text->size, NULL));
    for (size_t i = 0; i < text->size; i++) {
        unsigned char c = (unsigned char)text->data[i];

        MUST(c == '\n' || c == '\t' || (c >= ' ' && c != 0x7f));
        MUST(c != 0xc2 || (unsigned char)text->data[i + 1] >= 0xa0); /* C1: U+0080 to U+009F */
    }
    MUST(text->size == 0 || text->data[text->size - 1] == '\n');
}

/* Brackets and quotes that close, each line for itself; that is what may go wrong on the way. */
static void must_be_json(const struct text *text)
{
    char open[64];
    unsigned depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < text->size; i++) {
        char c = text->data[i];

        if (quoted) {
            MUST(c != '\n');
            if (c == '\\')
                i++;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            MUST(depth < sizeof(open));
            open[depth++] = c;
        } else if (c == '}' || c == ']') {
            MUST(depth > 0 && open[--depth] == (c == '}' ? '{' : '['));
        } else if (c == '\n') {
            MUST(depth == 0 && text->data[0] == '{');
        }
    }
    MUST(depth == 0 && !quoted);
}

struct outcome {
    int status;
    struct text out, err;
};

static void *sanitizer_report_fd(intptr_t fd)
{
    return (void *)fd; /* the sanitizers' way to be told */
}

void __sanitizer_set_report_fd(void *fd);
#pragma weak __sanitizer_set_report_fd

static struct outcome perform(const struct run *run, const char *limit, const uint8_t *data,
                              size_t size)
{
    static int out = -1, err, own_out, own_err;
    char *arguments[ARGUMENTS + 5];
    int n = 0, file = empty("capture");
    struct outcome outcome;

    if (out < 0) {
        out = empty("stdout");
        err = empty("stderr");
        own_out = dup(STDOUT_FILENO);
        own_err = dup(STDERR_FILENO);
        MUST(own_out >= 0 && own_err >= 0);
        if (__sanitizer_set_report_fd)
            __sanitizer_set_report_fd(sanitizer_report_fd(own_err));
    }
    MUST(write(file, data, size) == (ssize_t)size && lseek(file, 0, SEEK_SET) == 0);
    arguments[n++] = (char *)(uintptr_t)run->command->name;
    for (int i = 0; run->arguments[i]; i++)
        arguments[n++] = (char *)(uintptr_t)run->arguments[i];
    arguments[n++] = (char *)(uintptr_t) "--no-sandbox";
    if (limit)
        arguments[n++] = (char *)(uintptr_t)limit;
    arguments[n++] = (char *)(uintptr_t) "-";
    arguments[n] = NULL;
    fflush(stdout);
    fflush(stderr);
    MUST(dup2(file, STDIN_FILENO) == STDIN_FILENO && dup2(out, STDOUT_FILENO) == STDOUT_FILENO &&
         dup2(err, STDERR_FILENO) == STDERR_FILENO);
    close(file);
    outcome.status = run->command->run(run->command, n, arguments);
    fflush(stdout);
    fflush(stderr);
    MUST(dup2(own_out, STDOUT_FILENO) == STDOUT_FILENO &&
         dup2(own_err, STDERR_FILENO) == STDERR_FILENO);
    outcome.out = take(out);
    outcome.err = take(err);
    return outcome;
}

static bool equal(const struct text *a, const struct text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct run *run;
    const char *limit;

    if (size < 1 || size > 1 << 16)
        return 0;
    run = &runs[data[0] % RUNS];
    limit = memory[data[0] / RUNS % 3];
    struct outcome first = perform(run, limit, data + 1, size - 1);

    MUST(first.status == EXIT_DONE || first.status == EXIT_FOUND || first.status == EXIT_UNUSABLE);
    MUST(first.status != EXIT_UNUSABLE || first.err.size > 0); /* and it was said why */
    must_be_plain(&first.out);
    must_be_plain(&first.err);
    if (run->json)
        must_be_json(&first.out);
    if (data[0] / RUNS % 2) {
        struct outcome second = perform(run, limit, data + 1, size - 1);

        MUST(second.status == first.status);
        MUST(equal(&second.out, &first.out) && equal(&second.err, &first.err));
        free(second.out.data);
        free(second.err.data);
    }
    free(first.out.data);
    free(first.err.data);
    return 0;
}
