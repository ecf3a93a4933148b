/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay [-m MUTATIONS] FILE... [-- FILE...]: runs a fuzz target on each file, and on so many
 * mutations of each before the dashes, the same ones every time, by the target's own mutator where
 * it has one. What stands between a crash that was found once and its return. An input that crashes
 * is left in ./replay-crash.
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate.h"

#pragma weak LLVMFuzzerCustomMutator

static const uint8_t *running;
static size_t running_size;

static void run(const uint8_t *data, size_t size)
{
    running = data;
    running_size = size;
    LLVMFuzzerTestOneInput(data, size);
}

static void keep(int signal_number)
{
    int fd = open("replay-crash", O_WRONLY | O_CREAT | O_TRUNC, 0666);

    signal(signal_number, SIG_DFL);
    if (fd >= 0 && write(fd, running, running_size) >= 0)
        close(fd);
    raise(signal_number);
}

static void replay(const uint8_t *data, size_t size, unsigned long mutations)
{
    static unsigned seed;
    size_t max = size + 1024, now;
    uint8_t *copy = malloc(max);

    MUST(copy);
    run(data, size);
    while (mutations-- > 0) {
        memcpy(copy, data, size);
        if (LLVMFuzzerCustomMutator && mutations % 4)
            now = LLVMFuzzerCustomMutator(copy, size, max, ++seed);
        else
            now = LLVMFuzzerMutate(copy, size, max);
        run(copy, now);
    }
    free(copy);
}

static void replay_file(const char *path, unsigned long mutations)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");

    MUST(file);
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    replay(data, size, mutations);
}

int main(int argc, char **argv)
{
    unsigned long mutations = 0;
    int i = 1;

    if (argc > 2 && strcmp(argv[1], "-m") == 0) {
        mutations = strtoul(argv[2], NULL, 10);
        i = 3;
    }
    signal(SIGABRT, keep);
    signal(SIGSEGV, keep);
    MUST(i < argc); /* a test without input tests nothing */
    for (; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            mutations = 0;
        else
            replay_file(argv[i], mutations);
    }
    return 0;
}
