/* SPDX-License-Identifier: BSD-2-Clause */

/* The filters that were made when the program was built decide as those that libseccomp makes now,
 * which are laid out in another way: both are run, on every system call. */

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "source/rights/sandbox_calls.h"
#include "source/rights/sandbox_programs.h"
#include "test.h"

enum { CHILD = 4711, NUMBERS = 512 };

/* What libseccomp writes of BPF, and no more. */
static uint32_t decide(const struct sock_filter *program, size_t n, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (size_t i = 0; i < n; i++) {
        const struct sock_filter *one = &program[i];
        bool yes;

        switch (one->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(one->k <= sizeof(*data) - sizeof(a));
            memcpy(&a, (const char *)data + one->k, sizeof(a));
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= one->k;
            continue;
        case BPF_JMP | BPF_JA:
            i += one->k;
            continue;
        case BPF_JMP | BPF_JEQ | BPF_K:
            yes = a == one->k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            yes = a >= one->k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            yes = a > one->k;
            break;
        case BPF_RET | BPF_K:
            return one->k;
        default:
            fail_msg("instruction %zu: code %#x", i, one->code);
            return 0;
        }
        i += yes ? one->jt : one->jf;
    }
    fail_msg("it does not end");
    return 0;
}

static size_t made_now(const struct sandbox *sandbox, struct sock_filter *program)
{
    scmp_filter_ctx filter = sandbox_filter(sandbox);
    FILE *file = tmpfile();
    size_t n;

    assert_non_null(filter);
    assert_non_null(file);
    assert_int_equal(seccomp_export_bpf(filter, fileno(file)), 0);
    seccomp_release(filter);
    rewind(file);
    n = fread(program, sizeof(*program), SANDBOX_INSTRUCTIONS, file);
    (void)fclose(file);
    return n;
}

static const uint64_t values[] = {
    0,
    1,
    2,
    O_RDONLY,
    O_WRONLY,
    O_RDWR,
    O_CREAT,
    O_TRUNC,
    O_APPEND,
    O_CLOEXEC | O_DIRECTORY,
    CLONE_THREAD,
    CLONE_THREAD | CLONE_VM | CLONE_SIGHAND,
    CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_SETTLS,
    CLONE_VM | CLONE_VFORK | SIGCHLD,
    PR_SET_PDEATHSIG,
    PR_SET_SECCOMP,
    SIGKILL,
    SIGTERM,
    CHILD,
    CHILD + 1,
    CHILD | UINT64_C(1) << 32,
    SANDBOX_SOME_CHILD,
    0x5401,
    0x5413,
    0x541b,
    0x802c542a,
    0x8910,
    0x8913,
    0x8933,
    0xc0181b01,
    0x5401 | UINT64_C(1) << 32,
    0x5412 /* TIOCSTI */,
    UINT64_MAX,
};
enum { N_VALUES = sizeof(values) / sizeof(values[0]) };

/* How many of these are allowed, by both. The second argument takes every step-th value. */
static size_t compare(const struct sandbox *sandbox, uint32_t arch, uint32_t first, size_t step)
{
    struct sock_filter made[SANDBOX_INSTRUCTIONS], now[SANDBOX_INSTRUCTIONS];
    size_t n_made = sandbox_program(sandbox, made), n_now = made_now(sandbox, now), allowed = 0;

    assert_true(n_made > 50 && n_now > 50);
    for (uint32_t number = first; number != first + NUMBERS; number++)
        for (size_t i = 0; i < N_VALUES; i++)
            for (size_t k = 0; k < N_VALUES; k += step) {
                const struct seccomp_data data = {
                    .nr = (int)number, .arch = arch, .args = {values[i], values[k], values[k]}};
                uint32_t wanted = decide(now, n_now, &data);

                if (decide(made, n_made, &data) != wanted)
                    fail_msg("call %u (%#llx, %#llx): not %#x", number,
                             (unsigned long long)values[i], (unsigned long long)values[k], wanted);
                allowed += wanted == SECCOMP_RET_ALLOW;
            }
    return allowed;
}

static struct sandbox sandbox_of(unsigned which)
{
    return (struct sandbox){.creates = which & SANDBOX_CREATES,
                            .captures = which & SANDBOX_CAPTURES,
                            .child = which & SANDBOX_CHILD ? CHILD : 0};
}

static void test_same(void **state)
{
    size_t before = 0;

    (void)state;
    for (unsigned which = 0; which < SANDBOX_PROGRAMS; which++) {
        const struct sandbox sandbox = sandbox_of(which);
        size_t allowed = compare(&sandbox, seccomp_arch_native(), 0, 1);

        assert_true(allowed > 50 * N_VALUES * N_VALUES && allowed < 150 * N_VALUES * N_VALUES);
        assert_true(allowed != before);
        before = allowed;
        assert_int_equal(compare(&sandbox, seccomp_arch_native() ^ 1, 0, N_VALUES), 0);
        compare(&sandbox, seccomp_arch_native(), 0x40000000, N_VALUES);
        compare(&sandbox, seccomp_arch_native(), UINT32_MAX - NUMBERS, N_VALUES);
    }
}

static bool allows(unsigned which, long number, uint64_t first, uint64_t second)
{
    const struct sandbox sandbox = sandbox_of(which);
    const struct seccomp_data data = {
        .nr = (int)number, .arch = seccomp_arch_native(), .args = {first, second}};
    struct sock_filter program[SANDBOX_INSTRUCTIONS];

    return decide(program, sandbox_program(&sandbox, program), &data) == SECCOMP_RET_ALLOW;
}

/* The child's number is put in, and one that no process has is not left there. */
static void test_child(void **state)
{
    (void)state;
    for (unsigned which = 0; which < SANDBOX_PROGRAMS; which++) {
        assert_true(allows(which, SYS_kill, CHILD, SIGKILL) == !!(which & SANDBOX_CHILD));
        assert_false(allows(which, SYS_kill, CHILD, SIGTERM));
        assert_false(allows(which, SYS_kill, CHILD + 1, SIGKILL));
        assert_false(allows(which, SYS_kill, SANDBOX_SOME_CHILD, SIGKILL));
        assert_true(allows(which, SYS_read, 0, 0));
        assert_false(allows(which, SYS_socket, 0, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_child)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
