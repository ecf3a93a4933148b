/* SPDX-License-Identifier: BSD-2-Clause */
/* Which system calls the sandbox allows. */
#include "source/rights/sandbox_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

/* What the C library, GLib, zlib and zstd do while files are read and lines written. Names
 * that an architecture does not have are left out by libseccomp. */
static const char *const permitted[] = {
    "read",
    "readv",
    "pread64",
    "preadv2", /* skim_trial.c */
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
    "sched_setaffinity",
    "getcpu",
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
static const char *const permitted_creator[] = {"open",    "openat",   "flock",     "unlinkat",
                                                "unlink",  "renameat", "renameat2", "rename",
                                                "sendmsg", NULL};

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

scmp_filter_ctx sandbox_filter(const struct sandbox *sandbox)
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
    good = good && allow_ioctl(filter, sandbox->captures) && allow_threads(filter);
    if (good)
        return filter;
    if (filter)
        seccomp_release(filter);
    return NULL;
}
