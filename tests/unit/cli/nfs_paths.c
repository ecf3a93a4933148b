/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of one file that come and go: no memory is lost with them, and of many not all are kept. */
#include "test.h"

#include <stdio.h>

#include "nfs/paths.h"

enum { MEMORY = 64 * 1024, NAMES = 64 };

static const struct rpcrdma_address server = {.family = RPCRDMA_ADDRESS_IPV4,
                                              .bytes = {192, 0, 2, 1}};
static const struct nfs_handle directory = {.length = 1, .bytes = {1}};
static const struct nfs_handle file = {.length = 1, .bytes = {2}};
static const struct nfs_name none;

static struct nfs_name name_of(const char *text)
{
    struct nfs_name name = {.length = (uint16_t)strlen(text)};

    memcpy(name.text, text, name.length);
    return name;
}

static void learn(struct nfs_paths *paths, const char *name, const struct nfs_handle *handle)
{
    nfs_paths_learn(paths, &server, &directory, name, strlen(name), handle);
}

static void link_to(struct nfs_paths *paths, const char *text)
{
    const struct nfs_name name = name_of(text);

    nfs_paths_link(paths, &server, &file, &none, &directory, &name);
}

static void remove_name(struct nfs_paths *paths, const char *text)
{
    const struct nfs_name name = name_of(text);

    nfs_paths_remove(paths, &server, &directory, &name);
}

static void is_called(struct nfs_paths *paths, const struct nfs_handle *handle, const char *path)
{
    char buf[NFS_PATH];
    size_t n = nfs_paths_get(paths, &server, handle, &none, buf);

    assert_int_equal(n, strlen(path));
    assert_memory_equal(buf, path, n);
}

/* As locks by LINK are taken and given back. */
static void again_and_again(void **state)
{
    struct nfs_paths *paths = nfs_paths_new(MEMORY);
    const struct nfs_handle later = {.length = 1, .bytes = {3}};

    (void)state;
    learn(paths, "host", &file);
    for (int i = 0; i < 10000; i++) {
        link_to(paths, "lock");
        remove_name(paths, "lock");
    }
    learn(paths, "later", &later);
    assert_int_equal(nfs_paths_dropped(paths), 0);
    is_called(paths, &later, ".../later");
    link_to(paths, "lock");
    remove_name(paths, "host");
    is_called(paths, &file, ".../lock");
    nfs_paths_free(paths);
}

static void many_at_once(void **state)
{
    struct nfs_paths *paths = nfs_paths_new((size_t)100 * MEMORY);
    char name[16];

    (void)state;
    learn(paths, "host", &file);
    for (unsigned i = 0; i < 10 * NAMES; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        link_to(paths, name);
    }
    assert_int_equal(nfs_paths_dropped(paths), 9 * NAMES);
    remove_name(paths, "host");
    snprintf(name, sizeof(name), ".../n%u", NAMES - 1);
    is_called(paths, &file, name);
    nfs_paths_free(paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(again_and_again),
        cmocka_unit_test(many_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
