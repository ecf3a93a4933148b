/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces are opened, and read into records. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/plural.h"
#include "source/bytes/input.h"
#include "source/rights/privilege.h"

/* NULL: errno says why; EINVAL: it is no regular file, and so cannot be read twice. */
static FILE *open_regular(const char *path)
{
    struct privilege_lent lent;
    struct stat is;
    FILE *file = NULL;
    int fd;

    privilege_lend(&lent);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    privilege_return(&lent);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode))
        errno = EINVAL;
    else
        file = fdopen(fd, "r");
    if (!file) {
        int why = errno;

        close(fd);
        errno = why;
    }
    return file;
}

/* False: it cannot be opened, which was said. */
static bool open_trace(struct kernel_trace *source, const char *path, size_t max_bytes)
{
    source->pub.path = path;
    kernel_records_init(&source->records, max_bytes);
    source->file = open_regular(path);
    if (!source->file)
        complain("%s: %s", path, errno == EINVAL ? "not a regular file" : strerror(errno));
    return source->file;
}

struct kernel *kernel_open(char *const *paths, size_t max_bytes)
{
    unsigned n = g_strv_length((char **)paths);
    struct kernel *kernel = g_new0(struct kernel, 1);

    kernel->sources = g_new0(struct kernel_trace, n);
    while (kernel->n < n) {
        struct kernel_trace *source = &kernel->sources[kernel->n];

        if (!open_trace(source, paths[kernel->n++], max_bytes / n)) {
            kernel_free(kernel);
            return NULL;
        }
    }
    return kernel;
}

void kernel_free(struct kernel *kernel)
{
    if (!kernel)
        return;
    for (unsigned i = 0; i < kernel->n; i++) {
        struct kernel_trace *source = &kernel->sources[i];

        if (source->file)
            (void)fclose(source->file); /* was only read */
        kernel_records_free(&source->records);
        for (unsigned h = 0; h < source->n_hosts; h++) {
            for (unsigned p = 0; p < KERNEL_PHASES; p++)
                latency_clear(&source->hosts[h]->phases[p]);
            g_free(source->hosts[h]);
        }
    }
    g_free(kernel->sources);
    g_free(kernel);
}

bool kernel_next_line(struct kernel_trace *source, char buffer[KERNEL_LINE],
                      struct kernel_line *line)
{
    while (buffer[KERNEL_LINE - 1] = '\n', fgets(buffer, KERNEL_LINE, source->file)) {
        if (buffer[KERNEL_LINE - 1] == '\0' &&
            buffer[KERNEL_LINE - 2] != '\n') { /* too long: fgets filled it */
            int c;

            while ((c = getc(source->file)) != EOF && c != '\n')
                ;
            source->too_long += kernel_line_parse(buffer, line);
            continue;
        }
        buffer[strcspn(buffer, "\r\n")] = '\0';
        if (kernel_line_parse(buffer, line))
            return true;
        source->lost += kernel_line_lost(buffer);
    }
    return false;
}

/* Whether it is no text, which is told. */
static bool binary(const struct kernel_trace *source)
{
    char head[8] = "";
    size_t n = fread(head, 1, sizeof(head), source->file);
    const char *packed = input_packed(head, n), *text = NULL;

    rewind(source->file);
    if (n == sizeof(head) && memcmp(head, "\x17\x08\x44tracin", 8) == 0)
        text = "trace-cmd report";
    if (n == sizeof(head) && memcmp(head, "PERFILE2", 8) == 0)
        text = "perf script";
    if (text)
        complain("%s: a recorded trace; give its text, which %s prints", source->pub.path, text);
    else if (packed)
        complain("%s: compressed by %s; give its text", source->pub.path, packed);
    return text || packed;
}

static void read_source(struct kernel_trace *source)
{
    char buffer[KERNEL_LINE];
    struct kernel_line line;
    uint64_t lines = 0;

    if (binary(source)) {
        source->unusable = true;
        return;
    }
    while (kernel_next_line(source, buffer, &line)) {
        if (lines == 0 || line.time_ns < source->first_ns)
            source->first_ns = line.time_ns;
        if (lines == 0 || line.time_ns > source->last_ns)
            source->last_ns = line.time_ns;
        lines++;
        kernel_records_line(&source->records, &line);
    }
    kernel_records_end(&source->records);
    if (source->too_long > 0)
        complain("%s: %" PRIu64 " line%s of %d bytes and more %s left out", source->pub.path,
                 source->too_long, plural(source->too_long), KERNEL_LINE,
                 source->too_long == 1 ? "is" : "are");
    if (source->lost > 0)
        complain("%s: at least %" PRIu64 " event%s lost when it was recorded: RPCs in it, or "
                 "times of them, are missing",
                 source->pub.path, source->lost, source->lost == 1 ? " was" : "s were");
    if (ferror(source->file)) {
        complain("%s: %s", source->pub.path, strerror(errno));
        source->unusable = true;
    } else if (source->records.all->len == 0) {
        complain("%s: no events of RPCs; record sunrpc:*, rpcrdma:* and what is in docs/kernel.md",
                 source->pub.path);
        source->unusable = true;
    }
    if (source->records.left_out > 0)
        complain("%s: %" PRIu64 " RPC%s left out: more than --max-memory holds", source->pub.path,
                 source->records.left_out, source->records.left_out == 1 ? " is" : "s are");
    if (source->records.too_many_alike > 0)
        complain("%s: %" PRIu64 " RPC%s left out: too many others have the same XID",
                 source->pub.path, source->records.too_many_alike,
                 source->records.too_many_alike == 1 ? " is" : "s are");
}

void kernel_read(struct kernel *kernel)
{
    if (kernel->read)
        return;
    kernel->read = true;
    for (unsigned i = 0; i < kernel->n; i++)
        read_source(&kernel->sources[i]);
}
