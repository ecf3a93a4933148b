/* SPDX-License-Identifier: BSD-2-Clause */
#include "module/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module/module.h"

bool module_place(int place, const char *name, char path[PATH_MAX])
{
    char program[PATH_MAX];
    ssize_t n;
    char *slash;

    if (place > 0)
        return snprintf(path, PATH_MAX, RPCRDMA_MODULE_DIR "/%s.so", name) < PATH_MAX;
    n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (n <= 0)
        return false;
    program[n] = '\0';
    slash = strrchr(program, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return snprintf(path, PATH_MAX, "%s/" RPCRDMA_MODULE_FROM_PROGRAM "/%s.so", program, name) <
           PATH_MAX;
}

bool module_is_roots(const char *path)
{
    char real[PATH_MAX];
    struct stat is;
    bool good = realpath(path, real) != NULL;

    while (good && *real) {
        char *slash = strrchr(real, '/');

        good = stat(real, &is) == 0 && is.st_uid == 0 && !(is.st_mode & S_IWOTH) &&
               (is.st_gid == 0 || !(is.st_mode & S_IWGRP));
        *slash = '\0';
    }
    return good && stat("/", &is) == 0 && is.st_uid == 0 && !(is.st_mode & S_IWOTH);
}

bool module_for_capabilities(void)
{
    char path[PATH_MAX];

    for (int place = 0; place < MODULE_PLACES; place++)
        if (module_place(place, "devices", path) && module_is_roots(path))
            return true;
    return false;
}
