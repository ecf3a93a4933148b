/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_MODULE_PLACES_H
#define RPCRDMA_CLI_MODULE_PLACES_H

/*
 * Where modules are: beside the program, as the libraries' folder is beside that of programs, which
 * holds wherever both were built or installed; else in the folder that was configured, for a copy
 * of the program elsewhere. Neither the environment nor the current folder say where.
 */

#include <limits.h>
#include <stdbool.h>

enum { MODULE_PLACES = 2 };

/* The path of `name`'s module in that place. False where there is none. */
bool module_place(int place, const char *name, char path[PATH_MAX]);

/* Whether only root can change what the path is: the file, and every folder on the way to it. */
bool module_is_roots(const char *path);

#endif
