/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <errno.h>
#include <seccomp.h>
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
static void permit(int ruleset, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access};
    struct stat st;

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return;
    /* a folder that was named as a file is opened, and found to be one; not what is in it */
    if (access == LANDLOCK_ACCESS_FS_READ_FILE && fstat(rule.parent_fd, &st) == 0 &&
        S_ISDIR(st.st_mode))
        rule.allowed_access = LANDLOCK_ACCESS_FS_READ_DIR;
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

static bool restrict_files(const struct sandbox *sandbox)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr attr = {.handled_access_fs = handled(version)};
    uint64_t making = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                      (attr.handled_access_fs & LANDLOCK_ACCESS_FS_TRUNCATE);
    bool done;
    int ruleset;

    if (version < 1)
        return false;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
    if (ruleset < 0)
        return false;
    for (size_t i = 0; i < sandbox->n_inputs; i++)
        if (strcmp(sandbox->inputs[i], "-") != 0)
            permit(ruleset, sandbox->inputs[i], LANDLOCK_ACCESS_FS_READ_FILE);
    if (sandbox->writes_in)
        permit(ruleset, sandbox->writes_in, making);
    done = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return done;
}

#ifdef HAVE_SECCOMP

/* What the C library, GLib, zlib and zstd do while files are read and lines written. Names
 * that an architecture does not have are left out by libseccomp. */
static const char *const permitted[] = {
    "read",
    "readv",
    "pread64",
    "write",
    "writev",
    "pwrite64",
    "lseek",
    "_llseek",
    "close",
    "fstat",
    "fstat64",
    "newfstatat",
    "fstatat64",
    "statx",
    "stat",
    "stat64",
    "lstat",
    "lstat64",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getcwd",
    "getdents64",
    "statfs",
    "statfs64",
    "fstatfs",
    "fstatfs64",
    "fcntl",
    "fcntl64",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "mmap",
    "mmap2",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "brk",
    "futex",
    "sched_yield",
    "sched_getaffinity",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigreturn",
    "sigaltstack",
    "clock_gettime",
    "clock_gettime64",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "getrandom",
    "getpid",
    "gettid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "uname",
    "sysinfo",
    "prlimit64",
    "getrlimit",
    "getrusage",
    "restart_syscall",
    "rseq",
    "set_robust_list",
    "exit",
    "exit_group",
    "fsync",
    "fdatasync",
    "fadvise64",
    "fadvise64_64",
    "tgkill",
    "ftruncate",
    "ftruncate64",
};

static bool allow(scmp_filter_ctx filter, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);

    return number == __NR_SCMP_ERROR || seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) == 0;
}

static bool allow_open(scmp_filter_ctx filter, bool writing)
{
    const scmp_datum_t changes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;

    if (writing)
        return allow(filter, "open") && allow(filter, "openat");
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
                            SCMP_A1(SCMP_CMP_MASKED_EQ, changes, O_RDONLY)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                            SCMP_A2(SCMP_CMP_MASKED_EQ, changes, O_RDONLY)) == 0;
}

/* A terminal is asked for its name and size; nothing else needs ioctl. */
static bool allow_terminal(scmp_filter_ctx filter)
{
    static const scmp_datum_t requests[] = {0x5401 /* TCGETS */, 0x5413 /* TIOCGWINSZ */,
                                            0x541b /* FIONREAD */};

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, requests[i])) != 0)
            return false;
    return true;
}

/*
 * Threads, not processes: the flags of clone say which. clone3 has them in memory, where a filter
 * cannot look; the C library takes clone where the kernel says that it knows no clone3.
 */
static bool allow_threads(scmp_filter_ctx filter)
{
    const scmp_datum_t thread = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;
#ifdef __s390__
    enum { FLAGS = 1 };
#else
    enum { FLAGS = 0 };
#endif

    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                            SCMP_CMP(FLAGS, SCMP_CMP_MASKED_EQ, thread, thread)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

static bool restrict_calls(const struct sandbox *sandbox)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    bool good = filter != NULL;

    for (size_t i = 0; good && i < sizeof(permitted) / sizeof(permitted[0]); i++)
        good = allow(filter, permitted[i]);
    good = good && allow_open(filter, sandbox->writes_in != NULL) && allow_terminal(filter) &&
           allow_threads(filter) && seccomp_load(filter) == 0;
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
