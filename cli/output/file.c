/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/complain.h"
#include "output/finish.h"
#include "source/devices/device.h"
#include "source/rights/create.h"
#include "source/source.h"

bool output_standard(const char *path)
{
    return path && create_standard(path) == STDOUT_FILENO;
}

int output_alone(const struct command *command, const char *option, const char *path,
                 const char *other)
{
    if (!other || !output_standard(path))
        return OPTIONS_GO_ON;
    return bad_usage(command, "%s %s and %s: standard output takes one of them; name a file",
                     option, path, other);
}

int output_binary(const struct command *command, const char *option, const char *path)
{
    if (output_standard(path) && isatty(STDOUT_FILENO))
        return bad_usage(command, "%s %s writes a binary file, and standard output is a terminal",
                         option, path);
    return options_plain(command, path);
}

/* Asked, not opened: a pipe that is opened and closed again ends who writes to it. */
static int why_not_readable(const char *path)
{
    struct stat is;

    if (strcmp(path, "-") == 0)
        return 0;
    if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 || stat(path, &is) != 0)
        return errno;
    return S_ISDIR(is.st_mode) ? EISDIR : 0;
}

/* What can be opened twice. */
static bool all_regular(const struct options *options)
{
    struct stat is;

    for (guint i = 0; i < options->n_files; i++)
        if (stat(options->files[i], &is) != 0 || !S_ISREG(is.st_mode))
            return false;
    return options->n_files > 0;
}

static bool open_files(const struct options *options, char *error, size_t size)
{
    return options_confine(options, error, size) && options_open(options, error, size);
}

static bool open_devices(const struct options *options, char *error, size_t size)
{
    bool good = true;

    for (guint i = 0; good && i < options->n_devices; i++) {
        struct device *one = device_open(options->devices[i], &options->live.device, error, size);

        good = one != NULL;
        if (one)
            device_close(one);
    }
    return good;
}

/* Tried as it will be opened, in the sandbox, and so by a process of its own. False: it was said.
 */
static bool opens(const struct options *options,
                  bool (*try)(const struct options *options, char *error, size_t size))
{
    int status = 0;
    pid_t pid = fork();

    if (pid < 0)
        return true;
    if (pid == 0) {
        char error[1000] = "";
        bool good = try(options, error, sizeof(error));

        if (!good)
            complain("%s", error);
        _exit(good ? EXIT_DONE : EXIT_UNUSABLE);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return !WIFEXITED(status) || WEXITSTATUS(status) == EXIT_DONE;
}

bool output_has_input(const struct options *options)
{
    if (options->n_devices > 0)
        return opens(options, open_devices);
    for (guint i = 0; i < options->n_files; i++)
        if (why_not_readable(options->files[i]) ==
            0) /* one that is followed may become a capture */
            return options->confined || options->follow || !all_regular(options) ||
                   opens(options, open_files);
    for (guint i = 0; i < options->n_files; i++)
        complain("%s: %s", options->files[i], strerror(why_not_readable(options->files[i])));
    return options->n_files == 0;
}

/* What was there is gone now, and not before: a mistyped input should not cost a result. */
static int write_first(void *context, const char *bytes, size_t n)
{
    struct output_file *file = context;
    struct stat is;

    file->own.write = NULL;
    if (fstat(file->own.fd, &is) == 0 && S_ISREG(is.st_mode) && ftruncate(file->own.fd, 0) != 0)
        return errno;
    return out_write_all(file->own.fd, bytes, n);
}

int output_file_open(struct output_file *file, const char *path, const struct options *options,
                     struct out *standard)
{
    int fd = STDOUT_FILENO;

    file->path = path;
    if (options_reads(options, path))
        return EXIT_UNUSABLE;
    if (output_standard(path) && standard) {
        file->out = standard;
        return OPTIONS_GO_ON;
    }
    if (!output_standard(path))
        fd = create_path(path, 0666);
    if (fd < 0) {
        complain("%s: %s", path, create_error(errno));
        return EXIT_UNUSABLE;
    }
    if (out_open(&file->own, fd)) {
        file->out = &file->own;
        if (create_standard(path) < 0) { /* a descriptor's file is whose who opened it */
            file->own.write = write_first;
            file->own.write_context = file;
        }
        return OPTIONS_GO_ON;
    }
    if (fd != STDOUT_FILENO)
        close(fd);
    complain("out of memory");
    return EXIT_UNUSABLE;
}

static bool is_capture(const char *path)
{
    const struct source_config config = {.no_readahead = true};
    struct source *source = NULL;
    struct stat is;
    char error[1000];

    if (stat(path, &is) == 0 && S_ISREG(is.st_mode) && is.st_size > 0)
        source = source_file_open(path, &config, error, sizeof(error));
    if (source)
        source_close(source);
    return source;
}

int output_text_open(struct output_file *file, const char *path, const struct options *options,
                     struct out *standard)
{
    file->path = path;
    if (options_reads(options, path))
        return EXIT_UNUSABLE;
    if (!is_capture(path))
        return output_file_open(file, path, options, standard);
    complain("%s is a capture, and is not written over", path);
    return EXIT_UNUSABLE;
}

int output_file_close(struct output_file *file, int status)
{
    int fd = file->own.fd, error;

    if (file->out != &file->own) /* not open, or the command's to end */
        return status;
    if (create_is_gone(fd)) {
        complain("%s: it was removed while it was written to: all of it is lost", file->path);
        status = EXIT_UNUSABLE;
    }
    if (fd == STDOUT_FILENO)
        return end_output(&file->own, status);
    error = out_close(&file->own);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return status;
    complain("%s: %s", file->path, create_error(error));
    return EXIT_UNUSABLE;
}
