/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "common/complain.h"
#include "common/plural.h"
#include "common/times.h"
#include "source/bytes/input.h"
#include "source/rights/privilege.h"

enum {
    HOSTS = 64,  /* that a trace may be of: bits of kernel_record.joined */
    MOVED = 32,  /* chunks of an RPC that the server moves at a time */
    LINE = 4096, /* bytes of one; longer ones are none of ours */
};

/* Who a trace may be of, and what follows then. */
struct host {
    struct rpcrdma_address address;
    enum kernel_side side;
    uint64_t rpcs, refused;
    struct kernel_clock clock;
    struct latency phases[KERNEL_PHASES];
};

struct source {
    struct kernel_source pub;
    FILE *file;
    struct kernel_records records;
    struct host *hosts[HOSTS];
    unsigned n_hosts;
    uint64_t homeless; /* RPCs of further ones */
    uint64_t too_long; /* events' lines */
    uint64_t lost;     /* events, at least */
    int64_t first_ns, last_ns;
    bool unusable;
};

struct kernel {
    struct source *sources;
    unsigned n;
    bool read;
};

/* -- reading ---------------------------------------------------------------------------------- */

struct kernel *kernel_open(char *const *paths, size_t max_bytes)
{
    unsigned n = g_strv_length((char **)paths);
    struct kernel *kernel = g_new0(struct kernel, 1);

    kernel->sources = g_new0(struct source, n);
    for (; kernel->n < n; kernel->n++) {
        struct source *source = &kernel->sources[kernel->n];
        struct privilege_lent lent;
        struct stat is;
        int fd;

        source->pub.path = paths[kernel->n];
        kernel_records_init(&source->records, max_bytes / n);
        privilege_lend(&lent);
        fd = open(source->pub.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        privilege_return(&lent);
        if (fd >= 0 && (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode))) {
            close(fd);
            fd = -1;
            errno = EINVAL; /* it is read twice */
        }
        source->file = fd >= 0 ? fdopen(fd, "r") : NULL;
        if (!source->file) {
            complain("%s: %s", source->pub.path,
                     errno == EINVAL ? "not a regular file" : strerror(errno));
            kernel->n++;
            kernel_free(kernel);
            return NULL;
        }
    }
    return kernel;
}

void kernel_free(struct kernel *kernel)
{
    if (!kernel)
        return;
    for (unsigned i = 0; i < kernel->n; i++) {
        struct source *source = &kernel->sources[i];

        if (source->file)
            (void)fclose(source->file); /* was only read */
        kernel_records_free(&source->records);
        for (unsigned h = 0; h < source->n_hosts; h++) {
            for (unsigned p = 0; p < KERNEL_PHASES; p++)
                latency_clear(&source->hosts[h]->phases[p]);
            g_free(source->hosts[h]);
        }
    }
    g_free(kernel->sources);
    g_free(kernel);
}

/* The next line that is one of an event. */
static bool next_line(struct source *source, char buffer[LINE], struct kernel_line *line)
{
    while (buffer[LINE - 1] = '\n', fgets(buffer, LINE, source->file)) {
        if (buffer[LINE - 1] == '\0' && buffer[LINE - 2] != '\n') { /* too long: fgets filled it */
            int c;

            while ((c = getc(source->file)) != EOF && c != '\n')
                ;
            source->too_long += kernel_line_parse(buffer, line);
            continue;
        }
        buffer[strcspn(buffer, "\r\n")] = '\0';
        if (kernel_line_parse(buffer, line))
            return true;
        source->lost += kernel_line_lost(buffer);
    }
    return false;
}

/* Whether it is no text, which is told. */
static bool binary(const struct source *source)
{
    char head[8] = "";
    size_t n = fread(head, 1, sizeof(head), source->file);
    const char *packed = input_packed(head, n), *text = NULL;

    rewind(source->file);
    if (n == sizeof(head) && memcmp(head, "\x17\x08\x44tracin", 8) == 0)
        text = "trace-cmd report";
    if (n == sizeof(head) && memcmp(head, "PERFILE2", 8) == 0)
        text = "perf script";
    if (text)
        complain("%s: a recorded trace; give its text, which %s prints", source->pub.path, text);
    else if (packed)
        complain("%s: compressed by %s; give its text", source->pub.path, packed);
    return text || packed;
}

static void read_source(struct source *source)
{
    char buffer[LINE];
    struct kernel_line line;
    uint64_t lines = 0;

    if (binary(source)) {
        source->unusable = true;
        return;
    }
    while (next_line(source, buffer, &line)) {
        if (lines == 0 || line.time_ns < source->first_ns)
            source->first_ns = line.time_ns;
        if (lines == 0 || line.time_ns > source->last_ns)
            source->last_ns = line.time_ns;
        lines++;
        kernel_records_line(&source->records, &line);
    }
    kernel_records_end(&source->records);
    if (source->too_long > 0)
        complain("%s: %" PRIu64 " line%s of %d bytes and more %s left out", source->pub.path,
                 source->too_long, plural(source->too_long), LINE,
                 source->too_long == 1 ? "is" : "are");
    if (source->lost > 0)
        complain("%s: at least %" PRIu64 " event%s lost when it was recorded: RPCs in it, or "
                 "times of them, are missing",
                 source->pub.path, source->lost, source->lost == 1 ? " was" : "s were");
    if (ferror(source->file)) {
        complain("%s: %s", source->pub.path, strerror(errno));
        source->unusable = true;
    } else if (source->records.all->len == 0) {
        complain("%s: no events of RPCs; record sunrpc:*, rpcrdma:* and what is in docs/kernel.md",
                 source->pub.path);
        source->unusable = true;
    }
    if (source->records.left_out > 0)
        complain("%s: %" PRIu64 " RPC%s left out: more than --max-memory holds", source->pub.path,
                 source->records.left_out, source->records.left_out == 1 ? " is" : "s are");
    if (source->records.too_many_alike > 0)
        complain("%s: %" PRIu64 " RPC%s left out: too many others have the same XID",
                 source->pub.path, source->records.too_many_alike,
                 source->records.too_many_alike == 1 ? " is" : "s are");
}

static void read_all(struct kernel *kernel)
{
    if (kernel->read)
        return;
    kernel->read = true;
    for (unsigned i = 0; i < kernel->n; i++)
        read_source(&kernel->sources[i]);
}

/* -- joining ---------------------------------------------------------------------------------- */

static bool same(const struct rpcrdma_address *a, const struct rpcrdma_address *b)
{
    if (a->family == RPCRDMA_ADDRESS_IPV4 && b->family == RPCRDMA_ADDRESS_IPV4)
        return memcmp(a->bytes, b->bytes, 4) == 0; /* traces name no VLAN */
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Whether a server's record may be of this client: the trace has IP addresses, InfiniBand none. */
static bool of_client(const struct kernel_record *record, const struct rpcrdma_address *client)
{
    return record->side == KERNEL_CLIENT || record->client.family != client->family ||
           same(&record->client, client);
}

/* Its number; HOSTS: there are too many. */
static unsigned host_of(struct source *source, enum kernel_side side,
                        const struct rpcrdma_address *address)
{
    struct host *host;

    for (unsigned i = 0; i < source->n_hosts; i++)
        if (source->hosts[i]->side == side && same(&source->hosts[i]->address, address))
            return i;
    if (source->n_hosts == HOSTS)
        return HOSTS;
    host = g_new0(struct host, 1);
    host->side = side;
    host->address = *address;
    kernel_clock_begin(&host->clock, source->first_ns, source->last_ns);
    source->hosts[source->n_hosts] = host;
    return source->n_hosts++;
}

/* Mark the records whose segments have the Call's handles. */
static void fit(const struct kernel_records *records, uint32_t xid, uint32_t handle)
{
    struct kernel_record *record = kernel_records_find(records, xid);

    if (!record || !record->ambiguous)
        return;
    for (; record; record = kernel_records_next(records, record))
        if (record->handle == handle)
            record->fits = true;
}

static void fit_all(struct kernel *kernel, uint32_t xid, uint32_t handle)
{
    for (unsigned i = 0; i < kernel->n; i++)
        fit(&kernel->sources[i].records, xid, handle);
}

/* A Call that is sent again, on another connection, is another RPC of the capture, and the same of
 * the trace. */
static void note_sending(struct kernel *kernel, const struct rpcrdma_flow_message *m)
{
    for (unsigned i = 0; i < kernel->n; i++) {
        struct kernel_records *records = &kernel->sources[i].records;

        for (struct kernel_record *record = kernel_records_find(records, m->message->xid); record;
             record = kernel_records_next(records, record)) {
            if ((record->ambiguous && !record->fits) ||
                !of_client(record, &m->connection->end[m->sender_end].address))
                continue;
            record->sent_connection = m->connection->number;
            record->sent_ns = m->time_ns;
        }
    }
}

void kernel_message(struct kernel *kernel, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_read_list *lists[] = {&m->message->call, &m->message->read};
    struct rpcrdma_write_iter writes = rpcrdma_write_begin(&m->message->write);
    struct rpcrdma_chunk chunk;

    if (!kernel)
        return;
    read_all(kernel);
    if (m->direction != RPCRDMA_DIRECTION_CALL || !(m->message->present & RPCRDMA_HAS_XID))
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        struct rpcrdma_read_iter reads = rpcrdma_read_begin(lists[i]);
        struct rpcrdma_read_segment segment;

        while (rpcrdma_read_next(&reads, &segment))
            fit_all(kernel, m->message->xid, segment.segment.handle);
    }
    while (rpcrdma_write_next(&writes, &chunk))
        for (uint32_t i = 0; i < chunk.count; i++)
            fit_all(kernel, m->message->xid, rpcrdma_chunk_segment(&chunk, i).handle);
    if (m->message->reply_present)
        for (uint32_t i = 0; i < m->message->reply.count; i++)
            fit_all(kernel, m->message->xid, rpcrdma_chunk_segment(&m->message->reply, i).handle);
    if (m->sender_end >= 0)
        note_sending(kernel, m);
}

static void bound_clock(struct host *host, const struct kernel_record *record,
                        const struct rpcrdma_transaction *t)
{
    bool client = host->side == KERNEL_CLIENT;
    int64_t posted = record->at[client ? KERNEL_POSTED : KERNEL_ANSWERED];
    int64_t received = record->at[client ? KERNEL_REPLIED : KERNEL_RECEIVED];
    const struct rpcrdma_delivery *out = client ? &t->call : &t->reply;
    const struct rpcrdma_delivery *in = client ? &t->reply : &t->call;

    if (posted != KERNEL_NO_TIME && out->first_frame != 0)
        kernel_clock_before(&host->clock, posted, out->first_time_ns);
    if (received != KERNEL_NO_TIME && in->first_frame != 0)
        kernel_clock_after(&host->clock, received, in->first_time_ns);
}

static void join(struct source *source, struct kernel_record *record,
                 const struct rpcrdma_transaction *t, const struct rpcrdma_address *client,
                 const struct rpcrdma_address *server)
{
    unsigned number =
        host_of(source, record->side, record->side == KERNEL_CLIENT ? client : server);
    struct host *host;

    if (number == HOSTS) {
        source->homeless++;
        return;
    }
    if (record->joined & UINT64_C(1) << number)
        return; /* its Call was sent more than once */
    record->joined |= UINT64_C(1) << number;
    host = source->hosts[number];
    host->rpcs++;
    host->refused += record->refused;
    /* of a Call that was retransmitted the first sending may be on a connection that was not
     * captured
     */
    if (!t->retransmitted && record->posted <= 1)
        bound_clock(host, record, t);
    for (unsigned i = 0; i < KERNEL_PHASES; i++) {
        int64_t ns;

        if (kernel_phase_ns(record, i, &ns))
            latency_add(&host->phases[i], ns);
    }
}

void kernel_transaction(struct kernel *kernel, const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_address *client, *server;

    if (!kernel)
        return;
    read_all(kernel);
    if (t->reverse || t->call_frame == 0)
        return;
    client = &t->connection->end[t->caller_end].address;
    server = &t->connection->end[1 - t->caller_end].address;
    for (unsigned i = 0; i < kernel->n; i++) {
        struct source *source = &kernel->sources[i];
        struct kernel_record *record = kernel_records_find(&source->records, t->xid);

        while (record && ((record->ambiguous && !record->fits) || !of_client(record, client)))
            record = kernel_records_next(&source->records, record);
        if (record)
            join(source, record, t, client, server);
    }
}

/* The host that most RPCs of the trace are of. */
static void choose_host(struct source *source)
{
    const struct host *best = NULL;

    for (unsigned i = 0; i < source->n_hosts; i++)
        if (!best || source->hosts[i]->rpcs > best->rpcs)
            best = source->hosts[i];
    if (!best)
        return;
    source->pub.joined = true;
    source->pub.side = best->side;
    source->pub.host = best->address;
    source->pub.rpcs = best->rpcs;
    source->pub.refused = best->refused;
    source->pub.clock = best->clock;
    memcpy(source->pub.phases, best->phases, sizeof(best->phases)); /* best still owns them */
    kernel_clock_set(&source->pub.clock);
}

int kernel_end(struct kernel *kernel, int status)
{
    if (!kernel)
        return status;
    read_all(kernel);
    for (unsigned i = 0; i < kernel->n; i++) {
        struct source *source = &kernel->sources[i];

        choose_host(source);
        if (!source->unusable && !source->pub.joined)
            complain("%s: none of its %u RPC%s is in the capture", source->pub.path,
                     source->records.all->len, plural(source->records.all->len));
        else if (source->pub.joined && !source->pub.clock.known)
            complain("%s: too little of its RPCs was captured to set its clock", source->pub.path);
        if (source->homeless > 0)
            complain("%s: %" PRIu64 " RPC%s left out: more than %d hosts have RPCs that are in it",
                     source->pub.path, source->homeless, source->homeless == 1 ? " is" : "s are",
                     HOSTS);
        if (source->unusable || !source->pub.joined)
            status = EXIT_UNUSABLE;
    }
    return status;
}

unsigned kernel_sources(const struct kernel *kernel)
{
    return kernel ? kernel->n : 0;
}

const struct kernel_source *kernel_source(const struct kernel *kernel, unsigned i)
{
    return &kernel->sources[i].pub;
}

/* How far its time in the trace is from the Call's in the capture. */
static int64_t distance(const struct kernel_source *source, const struct kernel_record *record,
                        int64_t call_time_ns)
{
    int64_t at = record->at[source->side == KERNEL_CLIENT ? KERNEL_POSTED : KERNEL_TAKEN];
    int64_t apart;

    if (at == KERNEL_NO_TIME || !source->clock.known)
        return INT64_MAX;
    apart = time_less(kernel_clock_capture(&source->clock, at), call_time_ns);
    return apart >= 0 ? apart : time_less(0, apart);
}

/* The server received the Call when it had been sent again, on another connection: it is none of
 * the sending before. */
static bool of_later_sending(const struct kernel_source *source, const struct kernel_record *record,
                             const struct kernel_rpc *rpc)
{
    int64_t at = record->at[KERNEL_RECEIVED];

    return record->side == KERNEL_SERVER && at != KERNEL_NO_TIME && source->clock.known &&
           record->sent_connection != 0 && record->sent_connection != rpc->connection &&
           record->sent_ns > rpc->call_time_ns &&
           kernel_clock_capture(&source->clock, at) >= record->sent_ns;
}

const struct kernel_record *kernel_find(const struct kernel *kernel, unsigned i,
                                        const struct kernel_rpc *rpc)
{
    const struct source *source = &kernel->sources[i];
    const struct kernel_record *best = NULL;

    if (!source->pub.joined ||
        !same(source->pub.side == KERNEL_CLIENT ? rpc->client : rpc->server, &source->pub.host))
        return NULL;
    for (const struct kernel_record *record = kernel_records_find(&source->records, rpc->xid);
         record; record = kernel_records_next(&source->records, record)) {
        if (record->side != source->pub.side || !of_client(record, rpc->client) ||
            of_later_sending(&source->pub, record, rpc))
            continue;
        if (!best || (record->fits && !best->fits) ||
            (record->fits == best->fits && distance(&source->pub, record, rpc->call_time_ns) <
                                               distance(&source->pub, best, rpc->call_time_ns)))
            best = record;
    }
    return best;
}

/* -- showing ---------------------------------------------------------------------------------- */

/* Behind the task and the XID, which are the RPC's. */
static const char *without_names(const char *text)
{
    static const char *const names[] = {"task:", "xid=0x"};

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_has_prefix(text, names[i])) {
            text += strcspn(text, " ");
            text += strspn(text, " ");
        }
    return text;
}

/* Chunks that the server moves for the RPC: their completions name it by number only. */
struct moved {
    uint64_t completions[MOVED];
    unsigned n;
};

static bool is_moved(struct moved *moved, const struct kernel_record *record,
                     const struct kernel_line *line)
{
    bool concerns = kernel_records_concerns(record, line);
    uint64_t completion;

    if (!g_str_has_prefix(line->event, "svcrdma_") || !kernel_completion(line, &completion))
        return concerns;
    if (concerns && g_str_has_prefix(line->event, "svcrdma_post_") &&
        g_str_has_suffix(line->event, "_chunk") && moved->n < MOVED)
        moved->completions[moved->n++] = completion;
    if (strcmp(line->event, "svcrdma_wc_read") != 0 && strcmp(line->event, "svcrdma_wc_write") != 0)
        return concerns;
    for (unsigned i = 0; i < moved->n; i++)
        if (moved->completions[i] == completion) {
            moved->completions[i] = moved->completions[--moved->n];
            return true;
        }
    return false;
}

void kernel_lines(const struct kernel *kernel, unsigned i, const struct kernel_record *record,
                  kernel_line_fn *each, void *context)
{
    struct source *source = &kernel->sources[i];
    int64_t first = KERNEL_NO_TIME, last = KERNEL_NO_TIME;
    struct moved moved = {0};
    char buffer[LINE];
    struct kernel_line line;

    for (unsigned p = 0; p < KERNEL_POINTS; p++) {
        if (record->at[p] == KERNEL_NO_TIME)
            continue;
        if (first == KERNEL_NO_TIME || record->at[p] < first)
            first = record->at[p];
        last = MAX(last, record->at[p]);
    }
    rewind(source->file);
    while (next_line(source, buffer, &line))
        if (line.time_ns >= first && line.time_ns <= last && is_moved(&moved, record, &line))
            each(context, kernel_clock_capture(&source->pub.clock, line.time_ns), line.event,
                 without_names(line.arguments));
}
