/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files as groups. Paths do not tell them apart: two directories whose own names were not captured
 * have files of one name, as have two servers, and a name passes from one file to another. So a
 * file is its server and its file handle; before that is known, its directory's handle and its
 * name.
 */
#include <stdio.h>
#include <string.h>

#include "common/hex.h"
#include "common/keyed_hash.h"
#include "out/transaction.h"
#include "rpcs/groups.h"

enum { AT_ROOT = sizeof(struct rpcrdma_address), AT_LENGTH, AT_HANDLE };

size_t groups_file_key(const struct groups_file *file, char key[GROUPS_FILE_KEY])
{
    const struct nfs_handle *handle = &file->handle;
    size_t n = AT_HANDLE;

    if (handle->length == 0 && !handle->root && file->name.length == 0) {
        key[0] = '\0';
        return 1;
    }
    memcpy(key, &file->server, sizeof(file->server));
    key[AT_ROOT] = (char)handle->root;
    key[AT_LENGTH] = (char)handle->length;
    memcpy(key + n, handle->bytes, handle->length);
    n += handle->length;
    memcpy(key + n, file->name.text, file->name.length);
    return n + file->name.length;
}

static void find(const struct rpc *rpc, const struct nfs_handle *handle,
                 const struct nfs_name *name, struct groups_file *found)
{
    nfs_paths_file(rpc->paths, &found->server, handle, name, &found->handle, &found->name);
}

void groups_file_of(const struct rpc *rpc, struct groups_file *said, struct groups_file *found)
{
    const struct nfs_arguments *nfs = rpc->nfs;
    const struct rpcrdma_transaction *t = rpc->transaction;

    said->server = found->server =
        rpc->paths ? *nfs_paths_server(rpc->paths, rpc_server(t)) : *rpc_server(t);
    said->handle = nfs->handle;
    said->name = nfs->name;
    if (!rpc->paths || transaction_is_callback(t)) {
        *found = *said;
        return;
    }
    find(rpc, &nfs->handle, &nfs->name, found);
    if (found->name.length == 0 || nfs->name2.length == 0 || nfs_failed(nfs))
        return;
    find(rpc, &nfs->handle2, &nfs->name2, found); /* a RENAME: it has the new name by now */
    if (found->name.length > 0)
        find(rpc, &nfs->handle, &nfs->name, found);
}

void groups_file_name(const struct rpc *rpc, const struct groups_file *found,
                      char name[NFS_PATH + 1])
{
    size_t n = 0;

    if (rpc->paths && found->name.length == 0)
        n = nfs_paths_get(rpc->paths, &found->server, &found->handle, &found->name, name);
    if (n == 0)
        n = rpc_path(rpc, name);
    if (n == 0 && found->handle.length > 0) { /* the handle, at least */
        n = (size_t)snprintf(name, NFS_PATH, "handle ");
        for (unsigned i = 0; i < found->handle.length; i++)
            n = (size_t)(hex_byte(name + n, found->handle.bytes[i]) - name);
    }
    if (n == 0)
        n = g_strlcpy(name, found->handle.root ? "/" : "(no file)", NFS_PATH);
    name[n] = '\0';
}

bool groups_file_from_key(const struct group *group, struct groups_file *file)
{
    const char *key = group->key;
    size_t length;

    if (group->key == group->name || group->key_length < AT_HANDLE)
        return false;
    memcpy(&file->server, key, sizeof(file->server));
    file->handle.root = key[AT_ROOT];
    file->handle.length = (uint8_t)key[AT_LENGTH];
    memcpy(file->handle.bytes, key + AT_HANDLE, file->handle.length);
    length = group->key_length - AT_HANDLE - file->handle.length;
    file->name.length = (uint16_t)length;
    memcpy(file->name.text, key + AT_HANDLE + file->handle.length, length);
    return true;
}

bool groups_file_handle(const struct group *group, const uint8_t **handle, size_t *length)
{
    const uint8_t *key = group->key;

    if (group->key == group->name || group->key_length < AT_HANDLE)
        return false;
    *handle = key + AT_HANDLE;
    *length = key[AT_LENGTH];
    return *length > 0;
}

/* -- what tells files of one name apart ------------------------------------------------------- */

static guint same_hash(gconstpointer p)
{
    const struct group *g = p;

    return keyed_hash_string(g->name) + keyed_hash_numbers((guint64)g->interval, 0);
}

static gboolean same_row(gconstpointer a, gconstpointer b)
{
    const struct group *x = a, *y = b;

    return x->interval == y->interval && strcmp(x->name, y->name) == 0;
}

/* "at SERVER", "handle ...END": the last bytes of a handle are what most often differs. */
static void set_apart(struct group *g, bool servers, size_t end)
{
    char server[ADDRESS_SIZE], handle[2 * NFS_HANDLE + 1];
    const uint8_t *bytes = NULL;
    size_t n = 0, at;
    char *to = handle;

    server[address_or_name(&g->dst, server)] = '\0';
    groups_file_handle(g, &bytes, &n);
    at = n > end ? n - end : 0;
    for (size_t i = at; i < n; i++)
        to = hex_byte(to, bytes[i]);
    *to = '\0';
    g_free(g->apart);
    g->apart = g_strdup_printf(" (%s%s%s%s%s%s)", servers ? "at " : "", servers ? server : "",
                               servers && end > 0 ? ", " : "",
                               end == 0                        ? ""
                               : n == 0                        ? "no handle"
                               : g->key_length > AT_HANDLE + n ? "in directory "
                                                               : "handle ",
                               end > 0 && at > 0 ? "..." : "", end > 0 ? handle : "");
}

/* How many of the handles' last bytes tell all of these apart, at least 4; 0: the servers do. */
static size_t end_needed(const GPtrArray *same, bool *servers)
{
    size_t end = 0;

    *servers = false;
    for (guint i = 1; i < same->len; i++) {
        const struct group *a = g_ptr_array_index(same, i);

        for (guint k = 0; k < i; k++) {
            const struct group *b = g_ptr_array_index(same, k);
            const uint8_t *p = NULL, *q = NULL;
            size_t n = 0, m = 0, equal = 0;

            if (memcmp(&a->dst, &b->dst, sizeof(a->dst)) != 0) {
                *servers = true;
                continue;
            }
            groups_file_handle(a, &p, &n);
            groups_file_handle(b, &q, &m);
            while (equal < n && equal < m && p[n - 1 - equal] == q[m - 1 - equal])
                equal++;
            end = MAX(end, MAX(equal + 1, 4u));
        }
    }
    return end;
}

void groups_tell_apart(const GPtrArray *groups)
{
    enum { COMPARED = 64 }; /* each with each; of more, whole handles are shown */
    GHashTable *names =
        g_hash_table_new_full(same_hash, same_row, NULL, (GDestroyNotify)g_ptr_array_unref);
    GHashTableIter it;
    gpointer value;

    for (guint i = 0; i < groups->len; i++) {
        struct group *g = g_ptr_array_index(groups, i);
        GPtrArray *same = g_hash_table_lookup(names, g);

        if (g->key == g->name)
            continue;
        if (!same)
            g_hash_table_insert(names, g, same = g_ptr_array_new());
        g_ptr_array_add(same, g);
    }
    g_hash_table_iter_init(&it, names);
    while (g_hash_table_iter_next(&it, NULL, &value)) {
        const GPtrArray *same = value;
        bool servers = true;
        size_t end = NFS_HANDLE;

        if (same->len == 1)
            continue;
        if (same->len <= COMPARED)
            end = end_needed(same, &servers);
        for (guint i = 0; i < same->len; i++)
            set_apart(g_ptr_array_index(same, i), servers, end);
    }
    g_hash_table_destroy(names);
}
