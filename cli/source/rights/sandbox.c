/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/rights/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "source/rights/privilege.h"

#ifdef HAVE_SECCOMP
#ifdef RPCRDMA_SANDBOX_PROGRAMS
#include <linux/seccomp.h>

#include "source/rights/sandbox_programs.h"
#include "source/sandbox_made.h"
#else
#include "source/rights/sandbox_calls.h"
#endif
#endif

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (UINT64_C(1) << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)
#endif

/* What version 1 of Landlock can forbid, and what was added to the file system's part later. */
static uint64_t handled(long version)
{
    uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

    if (version >= 2)
        all |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        all |= LANDLOCK_ACCESS_FS_TRUNCATE;
    return all;
}

/* A path that cannot be opened needs no permission: opening it will say what is wrong. */
static void permit(int ruleset, const char *path)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE};

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return;
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

static bool restrict_files(const struct sandbox *sandbox)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr attr = {.handled_access_fs = handled(version)};
    bool done;
    int ruleset;

    if (version < 1)
        return false;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
    if (ruleset < 0)
        return false;
    for (size_t i = 0; i < sandbox->n_reads; i++)
        if (strcmp(sandbox->reads[i], "-") != 0)
            permit(ruleset, sandbox->reads[i]);
    if (sandbox->creates) {
        struct landlock_path_beneath_attr rule = {
            .allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                              LANDLOCK_ACCESS_FS_REMOVE_FILE |
                              (attr.handled_access_fs & LANDLOCK_ACCESS_FS_TRUNCATE),
            .parent_fd = sandbox->folder};

        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    done = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return done;
}

#if defined HAVE_SECCOMP && defined RPCRDMA_SANDBOX_PROGRAMS

size_t sandbox_program(const struct sandbox *sandbox,
                       struct sock_filter program[SANDBOX_INSTRUCTIONS])
{
    const unsigned which = (sandbox->creates ? SANDBOX_CREATES : 0) |
                           (sandbox->captures ? SANDBOX_CAPTURES : 0) |
                           (sandbox->child > 0 ? SANDBOX_CHILD : 0);
    const size_t n = programs[which].n;

    memcpy(program, programs[which].program, n * sizeof(*program));
    for (size_t i = 0; sandbox->child > 0 && i < n; i++)
        if (program[i].k == SANDBOX_SOME_CHILD)
            program[i].k = (uint32_t)sandbox->child;
    return n;
}

static bool restrict_calls(const struct sandbox *sandbox)
{
    struct sock_filter program[SANDBOX_INSTRUCTIONS];
    const struct sock_fprog all = {
        .len = (unsigned short)sandbox_program(sandbox, program),
        .filter = program,
    };

    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) == 0;
}

#elif defined HAVE_SECCOMP

static bool restrict_calls(const struct sandbox *sandbox)
{
    scmp_filter_ctx filter = sandbox_filter(sandbox);
    bool good = filter && seccomp_load(filter) == 0;

    if (filter)
        seccomp_release(filter);
    return good;
}

#else

static bool restrict_calls(const struct sandbox *sandbox)
{
    (void)sandbox;
    return false;
}

#endif

bool sandbox_enter(const struct sandbox *sandbox)
{
    bool files, calls;

    tzset(); /* the C library reads the time zone's file when it first needs it */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    files = restrict_files(sandbox);
    calls = restrict_calls(sandbox);
    return files || calls;
}

bool sandbox_files(const struct sandbox *sandbox, char *error, size_t size)
{
    if (!privilege_drop(error, size))
        return false;
    sandbox_enter(sandbox);
    return true;
}
