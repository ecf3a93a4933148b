/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a capture file to what the commands print. Input: which command, and how
 * much memory it has; then a capture file of any format. Whatever the file says: a known exit
 * status, nothing raw for a terminal, JSON and HTML that are some, and the same when it is asked
 * again.
 */
#define _GNU_SOURCE
#include <glib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "fuzz.h"
#include "mutate.h"
#include "source/rights/sandbox.h"

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

enum { ARGUMENTS = 8, HALF = 100 /* a file descriptor */ };

enum output { LINES, JSON /* one object a line */, HTML, BINARY };

/* "{}" in an argument: a folder that is empty before, and removed afterwards. */
static const struct run {
    const struct command *command;
    const char *arguments[ARGUMENTS];
    enum output output;
    enum { ALONE, WITH_HALF /* of the same file, before it */ } with;
} runs[] = {
    {&command_report, {NULL}, LINES, ALONE},
    {&command_report, {"--json", NULL}, JSON, ALONE},
    {&command_export, {"--ndjson", "-", NULL}, JSON, ALONE},
    {&command_export, {"--csv", "-", "--tables", "rpcs", NULL}, LINES, ALONE},
    {&command_rpcs, {"-t", "ad", NULL}, LINES, ALONE},
    {&command_rpcs, {"--json", "--where", "latency_ns > 1ms || !(xid in {1..7})"}, JSON, ALONE},
    {&command_rpcs, {"--summary", "--per", "client", NULL}, LINES, ALONE},
    {&command_check, {"--json", NULL}, JSON, ALONE},
    {&command_check, {"--format", "sarif", NULL}, LINES, ALONE},
    {&command_check, {NULL}, LINES, ALONE},
    {&command_connections, {NULL}, LINES, ALONE},
    {&command_connections, {"--json", NULL}, JSON, ALONE},
    {&command_decode, {"-V", NULL}, LINES, ALONE},
    {&command_decode, {"--json", "--where", "type == RDMA_MSG and read.length"}, JSON, ALONE},
    {&command_decode, {"--cm", "--json", NULL}, JSON, ALONE},
    {&command_credits, {NULL}, LINES, ALONE},
    {&command_credits, {"--json", NULL}, JSON, ALONE},
    {&command_trace, {"--slowest", NULL}, LINES, ALONE},
    {&command_report, {"--html", "-", "--slow", "1"}, HTML, ALONE},
    {&command_metrics, {NULL}, LINES, ALONE},
    {&command_metrics, {"--openmetrics", "--client-subnet"}, LINES, ALONE},
    {&command_trace, {"--json", "--slowest", NULL}, JSON, ALONE},
    {&command_trace, {"--frame", "3", "--check-icrc"}, LINES, ALONE},
    {&command_diff, {NULL}, LINES, WITH_HALF},
    {&command_diff, {"--json", "--per", "file", "--top", "3"}, JSON, WITH_HALF},
    {&command_extract, {"-w", "-"}, BINARY, ALONE},
    {&command_extract, {"-d", "{}"}, LINES, ALONE},
    {&command_sanitize, {"--key", "/proc/version", "-o", "-"}, BINARY, ALONE},
    {&command_capture, {"--slice", "--rpcrdma-only", "-w", "-", "-r"}, BINARY, ALONE},
    {&command_capture,
     {"--trigger", "latency_ns > 1ms or severity >= warning", "--hold-off", "0", "-w", "{}/t",
      "-r"},
     LINES,
     ALONE},
    {&command_capture, {"-b", "filesize:1", "-b", "files:3", "-w", "{}/r", "-r"}, LINES, ALONE},
    {&command_decode, {"--summary", "--dialect", "ietf-07"}, LINES, ALONE},
    {&command_rpcs, {"--json", "--per", "file", "--histogram"}, JSON, ALONE},
    {&command_rpcs, {"--interval", "1ms", "--port", "4791"}, LINES, ALONE},
    {&command_rpcs, {"--sort", "latency", "--top", "5", "--since", "0.001"}, LINES, ALONE},
    {&command_credits, {"--summary", "--series", "-", "--plot", "{}/x.svg"}, LINES, ALONE},
    {&command_credits, {"--plot", "-", "--qpn", "17"}, HTML, ALONE},
    {&command_connections, {"-V", "--time-source", "hardware"}, LINES, ALONE},
    {&command_check, {"-n", "-V", "--limit", "0", "--check-icrc"}, LINES, ALONE},
    {&command_check, {"-n", "--format", "junit", "--limit", "1"}, HTML, ALONE},
    {&command_export, {"--sqlite", "{}/x.db"}, LINES, ALONE},
    {&command_export, {"--csv", "{}", "-b", "filesize:1", "--zstd"}, LINES, ALONE},
};

enum { RUNS = sizeof(runs) / sizeof(runs[0]) };
_Static_assert(RUNS <= 42, "six of each: three limits of memory, and once or twice");

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

/* Tags that close, and quotes in them: what comes from the wire makes none of its own. */
static void must_be_html(const struct text *text)
{
    bool tag = false, quoted = false;

    for (size_t i = 0; i < text->size; i++) {
        char c = text->data[i];

        if (c == '"' && tag)
            quoted = !quoted;
        else if (c == '>' && !quoted)
            tag = false;
        else if (c == '<') {
            MUST(!tag);
            tag = true;
        }
    }
    MUST(!tag && !quoted);
}

static void must_be(enum output output, const struct text *text)
{
    if (output == BINARY)
        return;
    must_be_plain(text);
    if (output == JSON)
        must_be_json(text);
    if (output == HTML)
        must_be_html(text);
}

static void remove_all(const char *path)
{
    GDir *dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        char *inner = g_build_filename(path, name, NULL);

        remove_all(inner);
        g_free(inner);
    }
    if (dir)
        g_dir_close(dir);
    MUST(remove(path) == 0);
}

/* "{}" as the folder that it stands for. Its name is always the same: it is printed. */
static char *argument_of(const char *text, bool *makes)
{
    const char *at = strstr(text, "{}");
    char *folder, *argument;

    if (!at)
        return g_strdup(text);
    folder = g_strdup_printf("%s/fuzz_command.%d", g_get_tmp_dir(), getpid());
    if (!*makes)
        MUST(mkdir(folder, 0700) == 0);
    *makes = true;
    argument = g_strdup_printf("%.*s%s%s", (int)(at - text), text, folder, at + 2);
    g_free(folder);
    return argument;
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

static int with_bytes(const char *name, const uint8_t *data, size_t size)
{
    int fd = empty(name);

    MUST(write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static struct outcome perform(const struct run *run, const char *limit, const uint8_t *data,
                              size_t size)
{
    static int out = -1, err, own_out, own_err;
    char *arguments[ARGUMENTS + 6], *given[ARGUMENTS + 6];
    int n = 0, file, half = -1;
    bool folder = false;
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
    file = with_bytes("capture", data, size);
    arguments[n++] = g_strdup(run->command->name);
    arguments[n++] = g_strdup("--no-sandbox");
    if (limit)
        arguments[n++] = g_strdup(limit);
    for (int i = 0; i < ARGUMENTS && run->arguments[i]; i++)
        arguments[n++] = argument_of(run->arguments[i], &folder);
    if (run->with == WITH_HALF) { /* its name is printed: always the same */
        half = with_bytes("half", data, size / 2);
        MUST(dup2(half, HALF) == HALF);
        close(half);
        half = HALF;
        arguments[n++] = g_strdup_printf("/proc/self/fd/%d", half);
    }
    arguments[n++] = g_strdup("-");
    arguments[n] = NULL;
    memcpy(given, arguments, sizeof(given)); /* the command moves them */
    fflush(stdout);
    fflush(stderr);
    MUST(dup2(file, STDIN_FILENO) == STDIN_FILENO && dup2(out, STDOUT_FILENO) == STDOUT_FILENO &&
         dup2(err, STDERR_FILENO) == STDERR_FILENO);
    close(file);
    outcome.status = run->command->run(run->command, n, given);
    fflush(stdout);
    fflush(stderr);
    MUST(dup2(own_out, STDOUT_FILENO) == STDOUT_FILENO &&
         dup2(own_err, STDERR_FILENO) == STDERR_FILENO);
    if (half >= 0)
        close(half);
    if (folder) {
        char *path = argument_of("{}", &folder);

        remove_all(path);
        g_free(path);
    }
    while (n > 0)
        g_free(arguments[--n]);
    outcome.out = take(out);
    outcome.err = take(err);
    return outcome;
}

/* Where metrics are of the program itself: what it took. */
static size_t skip_own(const struct text *text, size_t at)
{
    static const char own[] = "rpcrdma_process_";

    while (strncmp(text->data + at, own, sizeof(own) - 1) == 0)
        at += strcspn(text->data + at, "\n") + 1;
    return at;
}

static bool equal(const struct text *a, const struct text *b)
{
    size_t i = 0, j = 0;

    for (;; i++, j++) {
        if (i == 0 || a->data[i - 1] == '\n') {
            i = skip_own(a, i);
            j = skip_own(b, j);
        }
        if (i >= a->size || j >= b->size)
            return i == a->size && j == b->size;
        if (a->data[i] != b->data[j])
            return false;
    }
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
    must_be(run->output, &first.out);
    must_be_plain(&first.err);
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
