/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects/export.h"

#include <epan/export_object.h>
#include <wsutil/crc32.h>

#include "common/keyed_hash.h"
#include "nfs/paths.h"
#include "rpc/assemble.h"
#include "wireshark/address.h"

/*
 * An object per file and direction: what was read of it, or written, from the lowest offset to the
 * highest; zeros where nothing was. Bounded by the memory limit.
 */

struct range {
    uint64_t from, to; /* in the file */
};

struct object {
    export_object_entry_t *entry; /* Wireshark's once it is added */
    uint64_t from;                /* offset of its first byte in the file */
    size_t size;                  /* there is room for */
    GArray *known;                /* struct range: what was read or written, in order */
    uint64_t n_known;             /* bytes in them */
    bool written, named, left_out;
};

static GHashTable *objects; /* key -> struct object */
static export_object_list_t *objects_list;
static uint64_t bytes; /* that objects have room for */

static void free_object(gpointer p)
{
    struct object *object = p;

    g_array_free(object->known, TRUE);
    g_free(object);
}

void export_file_reset(void)
{
    g_clear_pointer(&objects, g_hash_table_destroy);
    objects_list = NULL;
    bytes = 0;
}

void export_file_to(void *list)
{
    if (objects && objects_list != list) {
        export_nfs_reset();
        export_file_reset();
    }
    objects_list = list;
    if (!objects)
        objects = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, free_object);
}

static char *key_of(const struct exported_data *data)
{
    const struct rpcrdma_address *server = data->rpc->server;
    GString *key = g_string_new(data->written ? "w" : "r");

    g_string_append_printf(key, "%d.", (int)server->family);
    for (size_t i = 0; i < sizeof(server->bytes); i++)
        g_string_append_printf(key, "%02x", server->bytes[i]);
    g_string_append_c(key, data->handle->root ? '/' : '.');
    for (unsigned i = 0; i < data->handle->length; i++)
        g_string_append_printf(key, "%02x", data->handle->bytes[i]);
    for (unsigned i = 0; i < data->name->length; i++)
        g_string_append_printf(key, ".%02x", (uint8_t)data->name->text[i]);
    return g_string_free(key, FALSE);
}

/* By its path, as far as that is known by now; or by the hash that Wireshark shows of a handle. */
static void set_name(struct object *object, const struct exported_data *data)
{
    char path[NFS_PATH];
    size_t n = object->named ? 0 : export_nfs_path(data, path);
    size_t skip = n > 4 && memcmp(path, ".../", 4) == 0 ? 4 : n > 1 && path[0] == '/';

    if (n > 0) {
        g_free(object->entry->filename);
        object->entry->filename = g_utf8_make_valid(path + skip, (gssize)(n - skip));
        object->named = true;
    } else if (!object->entry->filename) {
        object->entry->filename = g_strdup_printf(
            "filehandle-%08x", crc32_ccitt(data->handle->bytes, data->handle->length));
    }
}

static struct object *make(const struct exported_data *data)
{
    const char *server = address_text(NULL, data->rpc->server);
    struct object *object = g_new0(struct object, 1);

    object->entry = g_new0(export_object_entry_t, 1);
    object->entry->pkt_num = data->rpc->frame;
    object->entry->hostname = g_strdup(server ? server : "");
    object->from = data->offset;
    object->known = g_array_new(FALSE, FALSE, sizeof(struct range));
    object->written = data->written;
    wmem_free(NULL, (void *)(uintptr_t)server);
    set_name(object, data);
    return object;
}

/* Room for the bytes from `from` to `to` of the file. */
static bool make_room(struct object *object, uint64_t from, uint64_t to)
{
    export_object_entry_t *entry = object->entry;
    uint64_t first = MIN(from, object->from), last = MAX(to, object->from + entry->payload_len);
    size_t n = (size_t)(last - first), before = (size_t)(object->from - first);
    size_t size = object->size;

    if (last - first > rpc_limit())
        return false;
    if (n > size) {
        size = MIN(MAX(n, 2 * size), (size_t)rpc_limit());
        if (bytes + (size - object->size) > rpc_limit())
            size = n;
        if (bytes + (size - object->size) > rpc_limit())
            return false;
        bytes += size - object->size;
        entry->payload_data = g_realloc(entry->payload_data, size);
        memset(entry->payload_data + object->size, 0, size - object->size);
        object->size = size;
    }
    if (before > 0) {
        memmove(entry->payload_data + before, entry->payload_data, entry->payload_len);
        memset(entry->payload_data, 0, before);
    }
    object->from = first;
    entry->payload_len = n;
    return true;
}

static struct range *range_at(const struct object *object, unsigned i)
{
    return &g_array_index(object->known, struct range, i);
}

/* The first range that ends at `offset` or behind it. */
static unsigned find_range(const struct object *object, uint64_t offset)
{
    unsigned low = 0, high = object->known->len;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (range_at(object, middle)->to < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_range(struct object *object, uint64_t from, uint64_t to)
{
    unsigned first = find_range(object, from), end = first;
    struct range range = {from, to};

    for (; end < object->known->len && range_at(object, end)->from <= to; end++) {
        const struct range *old = range_at(object, end);

        range.from = MIN(range.from, old->from);
        range.to = MAX(range.to, old->to);
        object->n_known -= old->to - old->from;
    }
    if (end > first)
        g_array_remove_range(object->known, first, end - first);
    g_array_insert_val(object->known, first, range);
    object->n_known += range.to - range.from;
}

static void put(struct object *object, const struct exported_data *data, uint32_t at, uint32_t end)
{
    uint64_t from = data->offset + at, to = data->offset + end;

    if (at >= end)
        return;
    if (to < from || !make_room(object, from, to)) {
        object->left_out = true;
        return;
    }
    memcpy(object->entry->payload_data + (from - object->from),
           data->rpc->stream.data + data->at + at, end - at);
    add_range(object, from, to);
}

/* What of its bytes is not blank. */
static void put_known(struct object *object, const struct exported_data *data)
{
    uint32_t at = 0;

    for (unsigned i = 0; i < data->rpc->n_blanks; i++) {
        const struct blank *blank = &data->rpc->blanks[i];

        if (blank->to <= data->at || blank->from >= data->at + data->length)
            continue;
        if (blank->from > data->at)
            put(object, data, at, blank->from - data->at);
        at = MIN(blank->to - data->at, data->length);
    }
    put(object, data, at, data->length);
}

static void describe(struct object *object)
{
    export_object_entry_t *entry = object->entry;
    GString *text = g_string_new(object->written ? "written" : "read");

    if (object->from > 0)
        g_string_append_printf(text, ", from byte %" PRIu64, object->from);
    if (object->n_known < entry->payload_len)
        g_string_append_printf(text, ", %" PRIu64 " bytes, zeros between them", object->n_known);
    if (object->left_out)
        g_string_append(text, ", not all: memory limit");
    g_free(entry->content_type);
    entry->content_type = g_string_free(text, FALSE);
}

void export_file(const struct exported_data *data)
{
    char *key = key_of(data);
    struct object *object = g_hash_table_lookup(objects, key);

    if (object) {
        g_free(key);
        set_name(object, data);
        put_known(object, data);
        describe(object);
        return;
    }
    object = make(data);
    g_hash_table_insert(objects, key, object);
    put_known(object, data);
    describe(object);
    objects_list->add_entry(objects_list->gui_data, object->entry);
}
