/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/rights/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "source/rights/privilege.h"

/* Whether somebody else may have put the file there. */
static bool planted(int folder, const struct stat *file)
{
    struct stat st;

    return fstat(folder, &st) != 0 ||
           ((st.st_mode & S_IWOTH) != 0 && (file->st_uid != geteuid() || file->st_nlink > 1));
}

/*
 * For as long as the file is open, here or where it is given to. Where the file system has no locks
 * nobody has one, and that is no reason to write nothing.
 */
static bool is_locked(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static int over(int folder, const char *name, bool kept)
{
    struct stat st;
    bool pipe = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(st.st_mode);
    int fd, error = 0;

    /* a pipe is looked at before it is opened, too, and opened without a wait for its reader: who
     * asked does that, as it hears of signals */
    if (pipe && planted(folder, &st)) {
        errno = CREATE_PLANTED;
        return -1;
    }
    fd = openat(folder, name,
                O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | (pipe ? O_NONBLOCK : 0));
    if (fd < 0 && pipe && errno == ENXIO)
        errno = CREATE_UNREAD;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || (pipe && fcntl(fd, F_SETFL, O_WRONLY) != 0))
        error = errno;
    else if (S_ISBLK(st.st_mode))
        error = ENOTSUP;
    else if ((S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) && planted(folder, &st))
        error = CREATE_PLANTED;
    else if (S_ISREG(st.st_mode) && is_locked(fd))
        error = CREATE_BUSY;
    else if (S_ISREG(st.st_mode) && !kept && ftruncate(fd, 0) != 0)
        error = errno;
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

int create_at(int folder, const char *name, enum create_how how, mode_t mode)
{
    int fd;

    if (*name == '\0') {
        errno = EISDIR;
        return -1;
    }
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0 && is_locked(fd)) { /* by who opened it at once */
        close(fd);
        fd = -1;
        errno = CREATE_BUSY;
    }
    if (fd >= 0 || errno != EEXIST)
        return fd;
    if (how != CREATE_NEW)
        return over(folder, name, how == CREATE_KEPT);
    return -1;
}

bool create_is_busy(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    bool busy = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_locked(fd);

    if (fd >= 0)
        close(fd);
    return busy;
}

int create_standard(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    const char *number = NULL;
    char *end;
    unsigned long fd;

    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            number = path + strlen(folders[i]);
    if (!number || *number < '0' || *number > '9')
        return -1;
    fd = strtoul(number, &end, 10);
    return *end == '\0' && fd < 1 << 20 ? (int)fd : -1;
}

int create_folder(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *folder;
    int fd;

    *name = slash ? slash + 1 : path;
    if (!slash)
        return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!folder) {
        errno = ENOMEM;
        return -1;
    }
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return fd;
}

bool create_waits(int error)
{
    struct timespec turn = {.tv_nsec = 50000000};

    if (error != CREATE_UNREAD || interrupt_seen())
        return false;
    nanosleep(&turn, NULL);
    return true;
}

int create_path(const char *path, mode_t mode)
{
    int standard = create_standard(path), folder, fd = -1, error;
    struct privilege_lent lent;
    const char *name;

    if (standard >= 0)
        return fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    privilege_lend(&lent);
    folder = create_folder(path, &name);
    if (folder >= 0)
        do {
            fd = create_at(folder, name, CREATE_KEPT, mode);
        } while (fd < 0 && create_waits(errno));
    error = errno;
    if (folder >= 0)
        close(folder);
    privilege_return(&lent);
    errno = error;
    return fd;
}

const char *create_error(int error)
{
    switch (error) {
    case ELOOP:
        return "it is a symbolic link, and those are not followed";
    case EEXIST:
        return "there is such a file already";
    case CREATE_PLANTED:
        return "there is such a file, and somebody else may have put it there";
    case CREATE_BUSY:
        return "another process has locked it";
    case CREATE_IRREGULAR:
        return "it is no regular file";
    case CREATE_UNREAD:
        return "nobody reads from it";
    case INTERRUPT_UNTAKEN:
        return "nobody reads from it any more, and what was not written yet is lost";
    case EOWNERDEAD:
        return "the process that creates files has ended";
    case ENOTSUP:
        return "it is a disk";
    default:
        return strerror(error);
    }
}

int create_is_gone(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0;
}
