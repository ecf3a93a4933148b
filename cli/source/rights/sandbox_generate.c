/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of the build: writes sandbox_calls.c's filters, as the kernel takes them, for sandbox.c to
 * include. libseccomp takes longer to make one than the command takes for a small capture.
 */
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>

#include "source/rights/sandbox_calls.h"
#include "source/rights/sandbox_programs.h"

/* The child's number is put in when it is known: exactly once. */
static bool holds_child(const struct sock_filter *program, size_t n, bool wanted)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += program[i].k == SANDBOX_SOME_CHILD;
    return found == wanted;
}

static bool put(FILE *to, unsigned which)
{
    const struct sandbox sandbox = {
        .creates = which & SANDBOX_CREATES,
        .captures = which & SANDBOX_CAPTURES,
        .child = which & SANDBOX_CHILD ? SANDBOX_SOME_CHILD : 0,
    };
    struct sock_filter program[SANDBOX_INSTRUCTIONS];
    scmp_filter_ctx filter = sandbox_filter(&sandbox);
    FILE *file = tmpfile();
    /* numbers in a tree: the kernel, which tries out each number, is done in half of the time */
    bool good = filter && file && seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) == 0 &&
                seccomp_export_bpf(filter, fileno(file)) == 0 && fseek(file, 0, SEEK_SET) == 0;
    size_t n = good ? fread(program, sizeof(*program), SANDBOX_INSTRUCTIONS, file) : 0;

    good = n > 0 && feof(file) && holds_child(program, n, sandbox.child != 0);
    if (filter)
        seccomp_release(filter);
    if (file)
        (void)fclose(file); /* was only read */
    if (!good)
        return false;
    fprintf(to, "static const struct sock_filter program_%u[] = {\n", which);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "    {0x%02x, %u, %u, 0x%08x},\n", program[i].code, program[i].jt,
                program[i].jf, program[i].k);
    fputs("};\n", to);
    return true;
}

int main(int argc, char **argv)
{
    FILE *to = argc == 2 ? fopen(argv[1], "w") : NULL;
    bool good = true;

    if (!to) {
        fprintf(stderr, "usage: sandbox_generate FILE\n");
        return EXIT_FAILURE;
    }
    fputs("/* Made by sandbox_generate.c. */\n#include <linux/filter.h>\n", to);
    for (unsigned which = 0; good && which < SANDBOX_PROGRAMS; which++)
        good = put(to, which);
    fputs("static const struct {\n    const struct sock_filter *program;\n    unsigned short n;\n"
          "} programs[] = {\n",
          to);
    for (unsigned which = 0; which < SANDBOX_PROGRAMS; which++)
        fprintf(to, "    {program_%u, sizeof(program_%u) / sizeof(*program_%u)},\n", which, which,
                which);
    fputs("};\n", to);
    good = !ferror(to) && good;
    if (fclose(to) == 0 && good)
        return EXIT_SUCCESS;
    fprintf(stderr, "sandbox_generate: the filters cannot be made\n");
    return EXIT_FAILURE;
}
