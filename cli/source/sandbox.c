/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "source/privilege.h"

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

/* Of who hears of another process, and waits for its end. */
static const char *const permitted_with_others[] = {"recvfrom", "recvmsg", "wait4",
                                                    "waitid",   "waitpid", NULL};

/* Of who creates files and gives them away. */
static const char *const permitted_creator[] = {
    "open", "openat", "unlinkat", "unlink", "renameat", "renameat2", "rename", "sendmsg", NULL};

/* libpcap and libibverbs, of devices that are open. */
static const char *const permitted_devices[] = {"getsockopt",  "getsockname", "epoll_wait",
                                                "epoll_pwait", "epoll_ctl",   NULL};

static bool allow(scmp_filter_ctx filter, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);

    return number == __NR_SCMP_ERROR || seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) == 0;
}

static bool allow_all(scmp_filter_ctx filter, const char *const *names)
{
    bool good = true;

    for (; good && *names; names++)
        good = allow(filter, *names);
    return good;
}

static bool allow_reading(scmp_filter_ctx filter)
{
    const scmp_datum_t changes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;

    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
                            SCMP_A1(SCMP_CMP_MASKED_EQ, changes, O_RDONLY)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                            SCMP_A2(SCMP_CMP_MASKED_EQ, changes, O_RDONLY)) == 0;
}

static bool allow_requests(scmp_filter_ctx filter, const scmp_datum_t *requests, size_t n)
{
    bool good = true;

    for (size_t i = 0; good && i < n; i++)
        good = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                                SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, requests[i])) == 0;
    return good;
}

/* A terminal is asked for its name and size. Of devices libpcap asks whether the interface is still
 * there; libibverbs takes things back at the end. Nothing else needs ioctl. */
static bool allow_ioctl(scmp_filter_ctx filter, bool captures)
{
    static const scmp_datum_t terminal[] = {0x5401 /* TCGETS */,
                                            0x802c542a /* TCGETS2, of isatty since glibc 2.42 */,
                                            0x5413 /* TIOCGWINSZ */, 0x541b /* FIONREAD */};
    static const scmp_datum_t devices[] = {0x8910 /* SIOCGIFNAME */, 0x8913 /* SIOCGIFFLAGS */,
                                           0x8933 /* SIOCGIFINDEX */,
                                           0xc0181b01 /* RDMA_VERBS_IOCTL */};

    return allow_requests(filter, terminal, sizeof(terminal) / sizeof(terminal[0])) &&
           (!captures || allow_requests(filter, devices, sizeof(devices) / sizeof(devices[0])));
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
    good = good && allow_all(filter, permitted_with_others);
    if (good && sandbox->creates)
        good = allow_all(filter, permitted_creator);
    else if (good)
        good = allow_reading(filter);
    if (good && sandbox->captures)
        good = allow_all(filter, permitted_devices) &&
               seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                                SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG, 0)) == 0;
    if (good && sandbox->child > 0)
        good = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2,
                                SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)sandbox->child, 0),
                                SCMP_A1(SCMP_CMP_EQ, SIGKILL, 0)) == 0;
    good = good && allow_ioctl(filter, sandbox->captures) && allow_threads(filter) &&
           seccomp_load(filter) == 0;
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
