/* SPDX-License-Identifier: BSD-2-Clause */

/* every [STEP] FILE.pcap...: the whole of codec/ on a capture with the n-th allocation failing, for
 * every n (or every STEP-th). A failure is reported, or a finding says what is missing; what was
 * given until then is what a run without failure gives. Linked with malloc, calloc and realloc
 * wrapped. */

#include <inttypes.h>

#include "../tools/pcap.h"
#include "analyzer/analyzer.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool counting; /* codec/ runs */
static uint64_t allocations, fail_at;

static bool fails(void)
{
    return counting && ++allocations == fail_at;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

/* What a run gave: how many of each, and a hash of all messages after each of them. */
struct run {
    bool reported;
    uint64_t messages, rpcs, transactions, credits, findings;
    uint64_t hash;
    uint64_t *hashes; /* of the clean run, by messages */
    size_t size;
    bool differs;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static void note(struct run *run)
{
    if (fail_at) {
        if (run->messages >= run->size || run->hashes[run->messages] != run->hash)
            run->differs = true;
    } else {
        if (run->messages == run->size) {
            run->size = run->size ? 2 * run->size : 64;
            run->hashes = __real_realloc(run->hashes, run->size * sizeof(*run->hashes));
            if (!run->hashes)
                abort();
        }
        run->hashes[run->messages] = run->hash;
    }
    run->messages++;
}

static void on_message(void *context, const struct rpcrdma_flow_message *m)
{
    struct run *run = context;

    run->hash = mix(mix(mix(run->hash, m->frame), m->message->xid), m->message->type);
    run->hash = mix(mix(run->hash, m->direction), m->connection->number);
    note(run);
}

static void on_rpc(void *context, const struct rpcrdma_rpc_message *rpc)
{
    (void)rpc;
    ((struct run *)context)->rpcs++;
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    (void)t;
    ((struct run *)context)->transactions++;
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    (void)connection;
    (void)results;
    ((struct run *)context)->credits += n;
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    (void)connection;
    (void)finding;
    ((struct run *)context)->findings++;
}

static void feed(struct run *run, struct rpcrdma_analyzer *analyzer, struct pcap_file *file)
{
    enum rpcrdma_analyzer_status status = RPCRDMA_ANALYZER_OK;
    struct pcap_record r;

    file->at = 24;
    for (uint64_t frame = 1; status == RPCRDMA_ANALYZER_OK && pcap_next(file, &r); frame++)
        status =
            rpcrdma_analyzer_packet(analyzer, &(struct rpcrdma_packet){.frame = frame,
                                                                       .time_ns = r.time_ns,
                                                                       .linktype = file->linktype,
                                                                       .caplen = r.caplen,
                                                                       .len = r.len,
                                                                       .data = r.data});
    if (status == RPCRDMA_ANALYZER_OK)
        status = rpcrdma_analyzer_end(analyzer);
    run->reported = status == RPCRDMA_ANALYZER_NO_MEMORY;
}

static void one(struct run *run, struct pcap_file *file, uint64_t n)
{
    const struct rpcrdma_flow_sink flow_sink = {.size = sizeof(flow_sink),
                                                .message = on_message,
                                                .rpc = on_rpc,
                                                .transaction = on_transaction,
                                                .credits = on_credits,
                                                .finding = on_finding,
                                                .context = run};
    const struct rpcrdma_flow_config flow_config = {.size = sizeof(flow_config), .credits = true};
    const struct rpcrdma_analyzer_config config = {.size = sizeof(config), .flow = &flow_config};
    const struct rpcrdma_analyzer_sink sink = {.size = sizeof(sink), .flow = &flow_sink};
    struct rpcrdma_analyzer *analyzer;

    fail_at = n;
    allocations = 0;
    counting = true;
    analyzer = rpcrdma_analyzer_new(&config, &sink);
    if (analyzer)
        feed(run, analyzer, file);
    else
        run->reported = true;
    rpcrdma_analyzer_free(analyzer);
    counting = false;
}

static bool agrees(const struct run *run, const struct run *clean, uint64_t n)
{
    bool same = run->messages == clean->messages && run->rpcs == clean->rpcs &&
                run->transactions == clean->transactions && run->credits == clean->credits;
    const char *wrong = NULL;

    if (run->reported && run->differs)
        wrong = "another message than without the failure";
    else if (!run->reported && !(same && !run->differs && run->findings == clean->findings))
        wrong = "something is missing, and nothing says so";
    if (wrong)
        fprintf(stderr, "allocation %" PRIu64 ": %s (%" PRIu64 " messages, %" PRIu64 " RPCs)\n", n,
                wrong, run->messages, run->rpcs);
    return !wrong;
}

static bool every(const char *path, uint64_t step)
{
    struct run clean = {0};
    struct pcap_file file;
    uint64_t all, reported = 0, bad = 0;

    if (!pcap_open(&file, path)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    one(&clean, &file, 0);
    all = allocations;
    for (uint64_t n = 1; n <= all; n += step) {
        struct run run = {.hashes = clean.hashes, .size = (size_t)clean.messages};

        one(&run, &file, n);
        reported += run.reported;
        bad += !agrees(&run, &clean, n);
    }
    printf("%s: %" PRIu64 " messages, %" PRIu64 " allocations, %" PRIu64 " failures reported\n",
           path, clean.messages, all, reported);
    pcap_close(&file);
    free(clean.hashes);
    /* a test in which nothing fails tests nothing */
    return bad == 0 && clean.messages > 0 && clean.rpcs > 0 && clean.credits > 0 && reported > 0;
}

int main(int argc, char **argv)
{
    uint64_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    bool good = true;

    for (int i = step ? 2 : 1; i < argc; i++)
        good &= every(argv[i], step ? step : 1);
    return !good;
}
