/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/records.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/keyed_hash.h"
#include "common/times.h"

enum {
    OUTSTANDING = 65536, /* completions that are known by number */
    SAME_XID = 64,       /* records that are */
    COST = 48,           /* of a record, in the hash tables */
};

static guint hash_number(gconstpointer key)
{
    return keyed_hash_numbers(*(const guint64 *)key, 0);
}

/* XIDs are the keys themselves. */
static guint hash_xid(gconstpointer key)
{
    return keyed_hash_numbers(GPOINTER_TO_UINT(key), 0);
}

static GHashTable *new_table(void)
{
    return g_hash_table_new_full(hash_number, g_int64_equal, g_free, NULL);
}

static void set(GHashTable *table, guint64 key, guint index)
{
    g_hash_table_insert(table, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(index + 1));
}

static struct kernel_record *record_at(const struct kernel_records *records, guint index_1)
{
    return index_1 == 0 ? NULL : &g_array_index(records->all, struct kernel_record, index_1 - 1);
}

static struct kernel_record *get(const struct kernel_records *records, GHashTable *table,
                                 guint64 key)
{
    return record_at(records, GPOINTER_TO_UINT(g_hash_table_lookup(table, &key)));
}

static guint index_of(const struct kernel_records *records, const struct kernel_record *record)
{
    return (guint)(record - (const struct kernel_record *)(const void *)records->all->data);
}

void kernel_records_init(struct kernel_records *records, size_t max_bytes)
{
    *records = (struct kernel_records){
        .all = g_array_new(FALSE, TRUE, sizeof(struct kernel_record)),
        /* the array doubles: the old one and the new are there for a moment */
        .most = MAX(max_bytes / (3 * sizeof(struct kernel_record) + COST), 16),
        .by_xid = g_hash_table_new(hash_xid, NULL),
        .tasks = new_table(),
        .threads = new_table(),
        .receives = g_hash_table_new_full(hash_number, g_int64_equal, g_free, g_free),
        .sends = new_table(),
        .no_room = new_table()};
}

void kernel_records_end(struct kernel_records *records)
{
    GHashTable **tables[] = {&records->tasks, &records->threads, &records->receives,
                             &records->sends, &records->no_room};

    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
        g_clear_pointer(tables[i], g_hash_table_destroy);
}

void kernel_records_free(struct kernel_records *records)
{
    kernel_records_end(records);
    g_hash_table_destroy(records->by_xid);
    g_array_free(records->all, TRUE);
}

static struct kernel_record *add(struct kernel_records *records, enum kernel_side side)
{
    struct kernel_record *record;

    if (records->all->len >= records->most)
        return NULL;
    g_array_set_size(records->all, records->all->len + 1);
    record = record_at(records, records->all->len);
    record->side = side;
    for (int i = 0; i < KERNEL_POINTS; i++)
        record->at[i] = KERNEL_NO_TIME;
    return record;
}

static gpointer xid_key(uint32_t xid)
{
    return GUINT_TO_POINTER(xid);
}

/* Its XID is known from now on. */
static void name(struct kernel_records *records, struct kernel_record *record, uint32_t xid)
{
    struct kernel_record *first = kernel_records_find(records, xid);

    record->xid = xid;
    record->named = true;
    if (first && first->same == SAME_XID) {
        records->too_many_alike++;
        return;
    }
    if (!first) {
        g_hash_table_insert(records->by_xid, xid_key(xid),
                            GUINT_TO_POINTER(index_of(records, record) + 1));
        return;
    }
    /* the newest goes behind the first one: the list is not walked */
    record->next = first->next;
    first->next = index_of(records, record) + 1;
    record->ambiguous = first->ambiguous = true;
    first->same++;
}

struct kernel_record *kernel_records_find(const struct kernel_records *records, uint32_t xid)
{
    return record_at(records, GPOINTER_TO_UINT(g_hash_table_lookup(records->by_xid, xid_key(xid))));
}

struct kernel_record *kernel_records_next(const struct kernel_records *records,
                                          const struct kernel_record *record)
{
    return record_at(records, record->next);
}

/* -- the client ------------------------------------------------------------------------------- */

static void at_first(struct kernel_record *record, enum kernel_point point,
                     const struct kernel_line *line)
{
    if (record->at[point] == KERNEL_NO_TIME)
        record->at[point] = line->time_ns;
}

/* "task:0000002a@00000001"; older kernels print the numbers in base 10. */
static bool task_of(const struct kernel_line *line, guint64 *task)
{
    uint64_t number, client;
    char *end;
    const char *at = strstr(line->arguments, "task:");

    if (!at || !g_ascii_isxdigit(at[5]))
        return false;
    number = g_ascii_strtoull(at + 5, &end, 16);
    if (*end != '@')
        return false;
    client = g_ascii_strtoull(end + 1, NULL, 16);
    *task = (guint64)client << 32 | (number & UINT32_MAX);
    return true;
}

static void bound(GHashTable *table)
{
    if (g_hash_table_size(table) >= OUTSTANDING)
        g_hash_table_remove_all(table);
}

/* Each line of an RPC comes here that has no record; it is one RPC that was left out. */
static void leave_out(struct kernel_records *records, guint64 task, const uint64_t *xid)
{
    gpointer known;
    bool counted = g_hash_table_lookup_extended(records->no_room, &task, NULL, &known);
    uint32_t was = counted ? GPOINTER_TO_UINT(known) : 0; /* 0: its XID is yet to come */

    if (!counted || !xid || (was != 0 && was != (uint32_t)*xid))
        records->left_out++;
    else if (was == (uint32_t)*xid)
        return;
    bound(records->no_room);
    g_hash_table_insert(records->no_room, g_memdup2(&task, sizeof(task)),
                        GUINT_TO_POINTER(xid ? (guint)*xid : 0));
}

/* The record of the task; a new one where it has none, or one of another RPC. */
static struct kernel_record *of_task(struct kernel_records *records, guint64 task,
                                     const uint64_t *xid)
{
    struct kernel_record *record = get(records, records->tasks, task);

    if (record && xid && record->named && record->xid != (uint32_t)*xid)
        record = NULL;
    if (!record) {
        record = add(records, KERNEL_CLIENT);
        if (!record) {
            leave_out(records, task, xid);
            return NULL;
        }
        record->task = task;
        set(records->tasks, task, index_of(records, record));
    }
    if (xid && !record->named)
        name(records, record, (uint32_t)*xid);
    return record;
}

static uint32_t handle_of(const struct kernel_line *line)
{
    const char *at = strstr(line->arguments, "@0x"); /* "16384@0xa99c800d03181000:0x00000955" */

    at = at ? strchr(at, ':') : NULL;
    return at && at[1] == '0' && at[2] == 'x' ? (uint32_t)g_ascii_strtoull(at + 3, NULL, 16) : 0;
}

/* How long its task took in all, in microseconds, is also from before rpc_request. */
static void note_begun(struct kernel_record *record, const struct kernel_line *line)
{
    const int64_t started_ns = record->at[KERNEL_STARTED];
    uint64_t us;
    int64_t ns;

    if (started_ns == KERNEL_NO_TIME || !kernel_argument(line, "execute=", 10, &us) ||
        us > INT64_MAX / 1000)
        return;
    ns = time_less(line->time_ns, (int64_t)us * 1000);
    if (ns >= 0) /* nothing began before the clock did */
        record->at[KERNEL_BEGUN] = MIN(ns, started_ns);
}

static void client_line(struct kernel_records *records, const struct kernel_line *line,
                        guint64 task)
{
    uint64_t number;
    const uint64_t *xid = kernel_argument(line, "xid=0x", 16, &number) ? &number : NULL;
    struct kernel_record *record;

    if (strcmp(line->event, "rpc_request") == 0) {
        g_hash_table_remove(records->tasks, &task); /* numbers come again */
        record = of_task(records, task, NULL);
        if (record)
            at_first(record, KERNEL_STARTED, line);
        return;
    }
    if (!xid && !get(records, records->tasks, task))
        return;
    if (strcmp(line->event, "xprt_reserve") != 0 && !g_str_has_prefix(line->event, "xprtrdma_") &&
        !get(records, records->tasks, task))
        return;
    record = of_task(records, task, xid);
    if (!record)
        return;
    if (strcmp(line->event, "xprt_reserve") == 0) {
        at_first(record, KERNEL_SLOT, line);
    } else if (strcmp(line->event, "xprtrdma_mr_map") == 0) {
        at_first(record, KERNEL_REGISTERING, line);
    } else if (g_str_has_prefix(line->event, "xprtrdma_chunk_")) {
        if (record->handle == 0)
            record->handle = handle_of(line);
    } else if (strcmp(line->event, "xprtrdma_marshal_failed") == 0) {
        /* it waits for memory regions, and begins anew */
        record->at[KERNEL_REGISTERING] = KERNEL_NO_TIME;
        record->handle = 0;
        record->refused++;
    } else if (strcmp(line->event, "xprtrdma_marshal") == 0) {
        at_first(record, KERNEL_MARSHALLED, line);
    } else if (strcmp(line->event, "xprtrdma_post_send") == 0) {
        at_first(record, KERNEL_POSTED, line);
        record->posted++;
    } else if (strcmp(line->event, "xprtrdma_reply") == 0) {
        record->at[KERNEL_REPLIED] = line->time_ns;
    } else if (strcmp(line->event, "rpc_stats_latency") == 0) {
        at_first(record, KERNEL_DONE, line);
        note_begun(record, line);
        g_hash_table_remove(records->tasks, &task);
    }
}

/* -- the server ------------------------------------------------------------------------------- */

bool kernel_completion(const struct kernel_line *line, guint64 *completion)
{
    uint64_t queue, number;

    if (!kernel_argument(line, "cq.id=", 10, &queue) &&
        !kernel_argument(line, "cq_id=", 10, &queue))
        return false;
    if (!kernel_argument(line, "cid=", 10, &number))
        return false;
    *completion = queue << 32 | (number & UINT32_MAX);
    return true;
}

static struct rpcrdma_address address_of(const struct kernel_line *line)
{
    struct rpcrdma_address address = {0};
    const char *at = strstr(line->arguments, "addr=");
    char text[64];
    size_t n;

    if (!at)
        return address;
    at += strlen("addr=");
    at += *at == '[';
    n = strcspn(at, " ]");
    g_strlcpy(text, at, MIN(n + 1, sizeof(text)));
    if (inet_pton(AF_INET, text, address.bytes) == 1)
        address.family = RPCRDMA_ADDRESS_IPV4;
    else if (inet_pton(AF_INET6, text, address.bytes) == 1)
        address.family = RPCRDMA_ADDRESS_IPV6;
    return address;
}

/* A Receive that no thread has taken yet. */
struct receive {
    int64_t time_ns;
    uint32_t handle; /* of its first segment */
};

static void received(struct kernel_records *records, const struct kernel_line *line)
{
    struct receive receive = {.time_ns = line->time_ns};
    guint64 completion;

    if (!kernel_completion(line, &completion))
        return;
    bound(records->receives);
    g_hash_table_insert(records->receives, g_memdup2(&completion, sizeof(completion)),
                        g_memdup2(&receive, sizeof(receive)));
}

/* svcrdma_decode_rseg and svcrdma_decode_wseg come before svcrdma_decode_rqst. */
static void segment(struct kernel_records *records, const struct kernel_line *line)
{
    struct receive *receive = NULL;
    guint64 completion;

    if (kernel_completion(line, &completion))
        receive = g_hash_table_lookup(records->receives, &completion);
    if (receive && receive->handle == 0)
        receive->handle = handle_of(line);
}

/* The thread turns to something else. */
static void leave(struct kernel_records *records, const struct kernel_line *line)
{
    struct kernel_record *record = get(records, records->threads, line->pid);

    if (record && record->at[KERNEL_PROCESSED] == KERNEL_NO_TIME)
        at_first(record, KERNEL_LEFT, line);
}

static void taken(struct kernel_records *records, const struct kernel_line *line)
{
    struct kernel_record *record;
    guint64 completion;
    uint64_t xid;

    if (!kernel_argument(line, "xid=0x", 16, &xid))
        return;
    record = add(records, KERNEL_SERVER);
    if (!record) {
        records->left_out++;
        return;
    }
    record->at[KERNEL_TAKEN] = line->time_ns;
    record->thread = line->pid;
    if (kernel_completion(line, &completion)) {
        const struct receive *receive = g_hash_table_lookup(records->receives, &completion);

        if (receive) {
            record->at[KERNEL_RECEIVED] = receive->time_ns;
            record->handle = receive->handle;
        }
        g_hash_table_remove(records->receives, &completion);
        record->completion = completion;
    }
    name(records, record, (uint32_t)xid);
    leave(records, line);
    bound(records->threads);
    set(records->threads, line->pid, index_of(records, record));
}

static void sent(struct kernel_records *records, const struct kernel_line *line)
{
    guint64 completion;
    struct kernel_record *record;

    if (!kernel_completion(line, &completion))
        return;
    record = get(records, records->sends, completion);
    if (record)
        at_first(record, KERNEL_COMPLETED, line);
    g_hash_table_remove(records->sends, &completion);
}

/* The latest with this XID that was taken and not processed; NULL: none. */
static struct kernel_record *waiting(const struct kernel_records *records, uint32_t xid)
{
    struct kernel_record *best = NULL;

    for (struct kernel_record *record = kernel_records_find(records, xid); record;
         record = kernel_records_next(records, record))
        if (record->side == KERNEL_SERVER && record->at[KERNEL_PROCESSED] == KERNEL_NO_TIME &&
            (!best || record->at[KERNEL_TAKEN] > best->at[KERNEL_TAKEN]))
            best = record;
    return best;
}

/* Linux up to 5.10, and from 6.8 on, does not have a thread wait for RDMA Reads: any thread
 * processes the RPC once they are complete. */
static struct kernel_record *take_over(struct kernel_records *records,
                                       const struct kernel_line *line, uint32_t xid)
{
    struct kernel_record *record = waiting(records, xid);
    guint64 thread = line->pid;

    leave(records, line);
    bound(records->threads);
    if (record)
        set(records->threads, thread, index_of(records, record));
    else /* what it does now is not about the RPC that it took last */
        g_hash_table_remove(records->threads, &thread);
    return record;
}

/* What a thread does is about the RPC that it took, or took over, last. */
static void thread_line(struct kernel_records *records, const struct kernel_line *line)
{
    struct kernel_record *record = get(records, records->threads, line->pid);
    bool processes = strcmp(line->event, "svc_process") == 0;
    guint64 completion;
    uint64_t xid;

    if (kernel_argument(line, "xid=0x", 16, &xid) && (!record || record->xid != (uint32_t)xid))
        record = processes ? take_over(records, line, (uint32_t)xid) : NULL;
    if (!record)
        return;
    if (processes) {
        at_first(record, KERNEL_PROCESSED, line);
        record->worker = line->pid;
        record->client = address_of(line);
    } else if (strcmp(line->event, "svc_stats_latency") == 0) {
        at_first(record, KERNEL_EXECUTED, line);
    } else if (strcmp(line->event, "svcrdma_post_send") == 0) {
        at_first(record, KERNEL_ANSWERED, line);
        if (kernel_completion(line, &completion)) {
            bound(records->sends);
            set(records->sends, completion, index_of(records, record));
        }
    }
}

void kernel_records_line(struct kernel_records *records, const struct kernel_line *line)
{
    guint64 task;

    records->events++;
    if (strcmp(line->event, "svcrdma_wc_recv") == 0)
        received(records, line);
    else if (strcmp(line->event, "svcrdma_decode_rqst") == 0)
        taken(records, line);
    else if (g_str_has_prefix(line->event, "svcrdma_decode_"))
        segment(records, line);
    else if (strcmp(line->event, "svcrdma_wc_send") == 0)
        sent(records, line);
    else if (g_str_has_prefix(line->event, "svc"))
        thread_line(records, line);
    else if (task_of(line, &task))
        client_line(records, line, task);
}

bool kernel_records_concerns(const struct kernel_record *record, const struct kernel_line *line)
{
    guint64 number;
    uint64_t xid;

    if (kernel_argument(line, "xid=0x", 16, &xid) && xid != record->xid)
        return false;
    if (record->side == KERNEL_CLIENT)
        return task_of(line, &number) && number == record->task;
    if (!g_str_has_prefix(line->event, "svc"))
        return false;
    if (g_str_has_prefix(line->event, "svcrdma_decode_") && kernel_completion(line, &number))
        return number == record->completion;
    if (strcmp(line->event, "svcrdma_wc_recv") == 0)
        return line->time_ns == record->at[KERNEL_RECEIVED] && kernel_completion(line, &number) &&
               number == record->completion;
    if (strcmp(line->event, "svcrdma_wc_send") == 0)
        return line->time_ns == record->at[KERNEL_COMPLETED];
    if (record->at[KERNEL_PROCESSED] != KERNEL_NO_TIME &&
        line->time_ns >= record->at[KERNEL_PROCESSED])
        return line->pid == record->worker;
    return line->pid == record->thread && line->time_ns >= record->at[KERNEL_TAKEN] &&
           (record->at[KERNEL_LEFT] == KERNEL_NO_TIME || line->time_ns < record->at[KERNEL_LEFT]);
}
