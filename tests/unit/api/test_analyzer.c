/* SPDX-License-Identifier: BSD-2-Clause */
/* The analyzer as a stranger uses it: shared library, the one public header. */
#include "../test.h"

#include "../../tools/pcap.h"
#include "rpcrdma.h"

struct seen {
    struct rpcrdma_analyzer *analyzer;
    unsigned messages, connections, findings, ops, sends, done, after_stop;
    unsigned stop_at;   /* message; 0: never */
    uint32_t leave_out; /* kind of operation + 1 */
    bool stopped;
};

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct seen *seen = context;
    const struct rpcrdma_connection *connection = message->connection;

    seen->messages++;
    seen->after_stop += seen->stopped;
    if (connection->user)
        assert_int_equal(*(const uint32_t *)connection->user, connection->number);
    else {
        uint32_t *number = malloc(sizeof(*number));

        assert_non_null(number);
        *number = connection->number;
        rpcrdma_connection_set_user(connection, number);
        assert_ptr_equal(connection->user, number);
    }
    if (seen->messages == seen->stop_at) {
        seen->stopped = true;
        rpcrdma_analyzer_stop(seen->analyzer);
    }
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct seen *seen = context;

    seen->connections++;
    free(connection->user);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct seen *seen = context;

    (void)connection;
    (void)finding;
    seen->findings++;
    seen->after_stop += seen->stopped;
}

static bool on_op(void *context, const struct rpcrdma_op *op)
{
    struct seen *seen = context;

    seen->ops++;
    seen->sends += op->kind == RPCRDMA_OP_SEND;
    return seen->leave_out == 0 || op->kind + 1u != seen->leave_out;
}

static void on_op_done(void *context, const struct rpcrdma_op *op)
{
    struct seen *seen = context;

    seen->done++;
    if (op->kind == RPCRDMA_OP_SEND)
        assert_non_null(rpcrdma_flow_connection(rpcrdma_analyzer_flow(seen->analyzer), op));
}

/* Returns the last status, and in *packets how many were taken. */
static enum rpcrdma_analyzer_status run(struct seen *seen, const struct rpcrdma_flow_sink *flow,
                                        unsigned *packets)
{
    const struct rpcrdma_analyzer_sink sink = {
        .size = sizeof(sink), .flow = flow, .op = on_op, .op_done = on_op_done, .context = seen};
    enum rpcrdma_analyzer_status status = RPCRDMA_ANALYZER_OK, last;
    struct pcap_record record;
    struct pcap_file file;

    seen->analyzer = rpcrdma_analyzer_new(NULL, &sink);
    assert_non_null(seen->analyzer);
    assert_true(pcap_open(&file, CAPTURE));
    for (*packets = 0; status == RPCRDMA_ANALYZER_OK && pcap_next(&file, &record);)
        status = rpcrdma_analyzer_packet(seen->analyzer,
                                         &(struct rpcrdma_packet){.frame = ++*packets,
                                                                  .time_ns = record.time_ns,
                                                                  .linktype = file.linktype,
                                                                  .caplen = record.caplen,
                                                                  .len = record.len,
                                                                  .data = record.data});
    last = rpcrdma_analyzer_end(seen->analyzer);
    assert_int_equal(last, status);
    assert_int_equal(rpcrdma_net_stats(rpcrdma_analyzer_net(seen->analyzer))->packets, *packets);
    rpcrdma_analyzer_free(seen->analyzer);
    pcap_close(&file);
    return status;
}

static struct rpcrdma_flow_sink flow_sink(struct seen *seen)
{
    return (struct rpcrdma_flow_sink){.size = sizeof(struct rpcrdma_flow_sink),
                                      .connection = on_connection,
                                      .message = on_message,
                                      .finding = on_finding,
                                      .context = seen};
}

/* The kernel's own count: 68 Calls and 68 Replies on two connections. */
static void whole(void **state)
{
    struct seen seen = {0};
    struct rpcrdma_flow_sink sink = flow_sink(&seen);
    unsigned packets;

    (void)state;
    assert_int_equal(run(&seen, &sink, &packets), RPCRDMA_ANALYZER_OK);
    assert_int_equal(seen.messages, 136);
    assert_int_equal(seen.connections, 2);
    assert_int_equal(seen.ops, seen.done);
    assert_true(seen.ops >= 136);
}

/* The first connection's set-up, and what comes long after it: the connection is the same, and
 * nothing is missing between. What is known is not set up again. */
static void replayed(void **state)
{
    struct seen seen = {0};
    struct rpcrdma_flow_sink flow = flow_sink(&seen);
    const struct rpcrdma_analyzer_sink sink = {
        .size = sizeof(sink), .flow = &flow, .op = on_op, .op_done = on_op_done, .context = &seen};
    enum { SET_UP = 40, LATER = 120 };
    struct pcap_record record;
    struct pcap_file file;

    (void)state;
    seen.analyzer = rpcrdma_analyzer_new(NULL, &sink);
    assert_non_null(seen.analyzer);
    for (int again = 0; again < 2; again++) {
        assert_true(pcap_open(&file, CAPTURE));
        for (uint64_t frame = 1; frame < 200 && pcap_next(&file, &record); frame++) {
            const struct rpcrdma_packet packet = {.frame = again ? 200 + frame : frame,
                                                  .time_ns = record.time_ns,
                                                  .linktype = file.linktype,
                                                  .caplen = record.caplen,
                                                  .len = record.len,
                                                  .data = record.data};

            if (frame < SET_UP + 3)
                assert_int_equal(rpcrdma_analyzer_replay(seen.analyzer, &packet),
                                 RPCRDMA_ANALYZER_OK);
            else if (frame >= LATER && !again)
                assert_int_equal(rpcrdma_analyzer_packet(seen.analyzer, &packet),
                                 RPCRDMA_ANALYZER_OK);
        }
        pcap_close(&file);
    }
    assert_int_equal(rpcrdma_analyzer_end(seen.analyzer), RPCRDMA_ANALYZER_OK);
    rpcrdma_analyzer_free(seen.analyzer);
    assert_int_equal(seen.connections, 1);
    assert_true(seen.messages > 10);
}

/* Nothing comes after the message that stopped it but the ends of connections: what hangs on them
 * is freed (LeakSanitizer looks). */
static void stopped(void **state)
{
    unsigned all, packets;

    (void)state;
    run(&(struct seen){0}, NULL, &all);
    for (unsigned at = 1; at <= 136; at += 27) {
        struct seen seen = {.stop_at = at};
        struct rpcrdma_flow_sink sink = flow_sink(&seen);

        assert_int_equal(run(&seen, &sink, &packets), RPCRDMA_ANALYZER_STOPPED);
        assert_int_equal(seen.messages, at);
        assert_int_equal(seen.after_stop, 0);
        assert_true(seen.connections >= 1);
        assert_true(packets < all);
    }
}

static void left_out(void **state)
{
    struct seen seen = {.leave_out = RPCRDMA_OP_SEND + 1};
    struct rpcrdma_flow_sink sink = flow_sink(&seen);
    unsigned packets;

    (void)state;
    assert_int_equal(run(&seen, &sink, &packets), RPCRDMA_ANALYZER_OK);
    assert_int_equal(seen.messages, 0);
    assert_true(seen.sends >= 136);
    assert_int_equal(seen.ops, seen.done + seen.sends);
}

/* A caller that knows less of a sink has garbage behind it; one that knows more has more. */
static void sizes(void **state)
{
    struct {
        struct rpcrdma_flow_sink sink;
        void (*of_a_later_version)(void);
    } larger;
    struct rpcrdma_flow_sink smaller;
    struct seen seen = {0};
    unsigned packets;

    (void)state;
    memset(&smaller, 0x5a, sizeof(smaller));
    smaller.size = offsetof(struct rpcrdma_flow_sink, message);
    smaller.connection = NULL;
    assert_int_equal(run(&seen, &smaller, &packets), RPCRDMA_ANALYZER_OK);
    assert_int_equal(seen.messages, 0);

    memset(&larger, 0x5a, sizeof(larger));
    larger.sink = flow_sink(&seen);
    larger.sink.size = sizeof(larger);
    assert_int_equal(run(&seen, &larger.sink, &packets), RPCRDMA_ANALYZER_OK);
    assert_int_equal(seen.messages, 136);

    seen = (struct seen){0};
    larger.sink.size = 0; /* that of version 1.0 */
    assert_int_equal(run(&seen, &larger.sink, &packets), RPCRDMA_ANALYZER_OK);
    assert_int_equal(seen.messages, 136);
}

static void versions(void **state)
{
    (void)state;
    assert_string_equal(rpcrdma_version(), RPCRDMA_VERSION);
    assert_string_equal(rpcrdma_version(), PROJECT_VERSION);
    assert_true(RPCRDMA_VERSION_AT_LEAST(RPCRDMA_VERSION_MAJOR, RPCRDMA_VERSION_MINOR,
                                         RPCRDMA_VERSION_PATCH));
    assert_true(RPCRDMA_VERSION_AT_LEAST(0, 99, 99));
    assert_false(RPCRDMA_VERSION_AT_LEAST(RPCRDMA_VERSION_MAJOR, RPCRDMA_VERSION_MINOR,
                                          RPCRDMA_VERSION_PATCH + 1));
    assert_false(RPCRDMA_VERSION_AT_LEAST(RPCRDMA_VERSION_MAJOR + 1, 0, 0));
}

/* Numbers of rules and fields are for good: those that were released are what they were. */
static void numbers(void **state)
{
    static const struct {
        const char *kind, *id;
        int number;
    } now[] = {
#define RULE_NUMBER(number, id) {"rule", #id, number},
#define RECORD_NUMBER(number, id) {"record", #id, number},
#define FIELD_NUMBER(number, id) {"field", #id, number},
#include "rule_number.def"
#include "wire/field_number.def"
    };
    FILE *released = fopen(RELEASED, "r");
    char kind[16], id[64];
    size_t read = 0, last;
    int number;

    (void)state;
    assert_non_null(released);
    while (fscanf(released, "%15s %d %63s", kind, &number, id) == 3) {
        bool found = false;

        for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
            if (strcmp(now[i].kind, kind) != 0)
                continue;
            if (now[i].number == number)
                assert_string_equal(now[i].id, id);
            found |= strcmp(now[i].id, id) == 0;
        }
        if (!found)
            print_message("%s %d %s is gone: its number must stay unused\n", kind, number, id);
        read++;
    }
    assert_true(read > 500);
    assert_true(feof(released));
    fclose(released);

    /* ascending, so that none is given twice; and each is in its table */
    last = 0;
    for (size_t i = 1; i < sizeof(now) / sizeof(now[0]); i++)
        if (strcmp(now[i].kind, now[last].kind) == 0 && now[i].number <= now[last].number)
            fail_msg("%s %s: %d is not above %d", now[i].kind, now[i].id, now[i].number,
                     now[last].number);
        else
            last = i;
    for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
        if (now[i].kind[1] == 'u')
            assert_non_null(rpcrdma_rule((enum rpcrdma_rule_id)now[i].number)->text);
        else if (now[i].kind[0] == 'f')
            assert_non_null(rpcrdma_field((enum rpcrdma_field_id)now[i].number)->help);
        else
            assert_non_null(rpcrdma_record((enum rpcrdma_record_id)now[i].number)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),    cmocka_unit_test(replayed), cmocka_unit_test(stopped),
        cmocka_unit_test(left_out), cmocka_unit_test(sizes),    cmocka_unit_test(versions),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
