/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module/module.h"
#include "module/places.h"

static const struct {
    const char *name, *what;
} modules[] = {
    [MODULE_DEVICES] = {"devices", "capture and filters"},
    [MODULE_SQLITE] = {"sqlite", "SQLite databases"},
    [MODULE_ZLIB] = {"zlib", "gzip"},
    [MODULE_ZSTD] = {"zstd", "zstd"},
    [MODULE_XZ] = {"xz", "xz"},
    [MODULE_BZIP2] = {"bzip2", "bzip2"},
    [MODULE_LZ4] = {"lz4", "lz4"},
};

static struct {
    const struct module_table *table;
    char why[PATH_MAX + 400]; /* not loaded; once: in the sandbox it would be for another reason */
} loaded[N_MODULES];

/* Whether it is root's, the user's, or of whoever can change the program itself, and not
 * everybody's to write. */
static bool owned(int folder, const char *name)
{
    struct stat is, program;

    if (fstatat(folder, name, &is, AT_EMPTY_PATH) != 0 || (is.st_mode & S_IWOTH))
        return false;
    return is.st_uid == 0 || is.st_uid == geteuid() ||
           (stat("/proc/self/exe", &program) == 0 && program.st_uid == is.st_uid);
}

/* The folder's own path, which no link leads to that somebody could turn elsewhere meanwhile. */
static bool roots(int folder, const char *name)
{
    char by_fd[40], path[PATH_MAX];
    ssize_t n;

    snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", folder);
    n = readlink(by_fd, path, sizeof(path) - strlen(name) - 2);
    if (n <= 0)
        return false;
    snprintf(path + n, sizeof(path) - (size_t)n, "/%s", name);
    return module_is_roots(path);
}

/*
 * Who can write the file decides what this program does. With capabilities, which somebody gave it
 * who trusts only the program, that is root alone, wherever the program was linked to. Otherwise
 * the file and its folder are looked at: above a program in /tmp anybody may have a folder. The
 * folder that was looked at is the one that is loaded from: by its descriptor.
 */
static const struct module_table *load(int folder, const char *name, char *why, size_t size)
{
    const bool secure = getauxval(AT_SECURE) != 0;
    const void *table = NULL;
    char by_fd[60];
    void *handle;

    if (secure ? !roots(folder, name) : !owned(folder, "") || !owned(folder, name)) {
        snprintf(why, size, "%s",
                 secure ? "a program with capabilities loads only what nobody but root can write"
                        : "it is another user's, or everybody's to write");
        return NULL;
    }
    snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d/%s", folder, name);
    handle = dlopen(by_fd, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        table = dlsym(handle, "rpcrdma_module");
    if (!table)
        snprintf(why, size, "%s", dlerror());
    return table;
}

/* False: there is none in that place. */
static bool look(const char *path, enum module module)
{
    char copy[PATH_MAX], why[300];
    bool there;
    char *name;
    int folder;

    snprintf(copy, sizeof(copy), "%s", path);
    name = strrchr(copy, '/');
    *name++ = '\0';
    folder = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC);
    there = folder >= 0 && faccessat(folder, name, F_OK, 0) == 0;
    if (there)
        loaded[module].table = load(folder, name, why, sizeof(why));
    else
        snprintf(why, sizeof(why), "%s", strerror(errno));
    if (!loaded[module].table)
        snprintf(loaded[module].why, sizeof(loaded[module].why), "%s: %s: %s", modules[module].what,
                 path, why);
    if (folder >= 0)
        close(folder);
    return there;
}

void module_load(enum module module)
{
    char path[PATH_MAX];

    if (loaded[module].table || *loaded[module].why)
        return;
    snprintf(loaded[module].why, sizeof(loaded[module].why), "%s: no folder of modules",
             modules[module].what);
    for (int place = 0; place < MODULE_PLACES; place++)
        if (module_place(place, modules[module].name, path) && look(path, module))
            return;
}

const void *module_calls(enum module module, size_t size, char *error, size_t error_size)
{
    const struct module_table *one;

    module_load(module);
    one = loaded[module].table;
    if (one && one->size == size && strcmp(one->version, RPCRDMA_VERSION) == 0)
        return one->calls;
    if (one)
        snprintf(error, error_size, "%s: its module (%s.so) is of another version of this program",
                 modules[module].what, modules[module].name);
    else
        snprintf(error, error_size, "%s", loaded[module].why);
    return NULL;
}
