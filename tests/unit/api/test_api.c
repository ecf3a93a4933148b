/* SPDX-License-Identifier: BSD-2-Clause */
/* Links the shared library only, includes public headers only: what is used here must be exported.
 */
#include "../test.h"

#include <ctype.h>

#include "../../tools/pcap.h"
#include "finding.h"
#include "flow/flow.h"
#include "net/net.h"
#include "upper/names.h"
#include "wire/field.h"
#include "wire/message.h"
#include "wire/private_data.h"
#include "wire/rpc.h"

static void findings_have_text(void **state)
{
    (void)state;
    struct rpcrdma_finding finding = {
        .rule = RPCRDMA_RULE_TRUNCATED, .offset = -1, .what = "read list"};
    char text[64];

    size_t length = rpcrdma_finding_text(&finding, text, sizeof(text));
    assert_string_equal(text, "read list: not captured");
    assert_int_equal(length, strlen(text));
    assert_string_equal(rpcrdma_severity_name(rpcrdma_rule(finding.rule)->severity), "note");
    assert_int_equal(rpcrdma_finding_text(&finding, text, 5), length);
    assert_string_equal(text, "read");
    assert_int_equal(rpcrdma_finding_text(&finding, NULL, 0), length); /* how much room it takes */
    finding.what = NULL;
    rpcrdma_finding_text(&finding, text, sizeof(text));
    assert_string_equal(text, "?: not captured");
    finding = (struct rpcrdma_finding){.rule = RPCRDMA_RULE_XID_MISMATCH, .arg = {0x1a2b, 7}};
    rpcrdma_finding_text(&finding, text, sizeof(text));
    assert_string_equal(text, "the header's XID is 0x00001a2b, the RPC message's 0x00000007");
}

/* Never "1 bytes" or "2 byte", whatever is counted. */
static const char *const nouns[] = {
    "byte", "packet", "Call",   "chunk",      "segment", "message",
    "Nak",  "time",   "result", "connection", "header",  "operation",
};

static bool counts(const char *text, const char *number, const char *ending)
{
    char word[40];

    for (size_t i = 0; i < sizeof(nouns) / sizeof(nouns[0]); i++) {
        snprintf(word, sizeof(word), " %s %s%s", number, nouns[i], ending);
        for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
            if (!isalpha((unsigned char)p[strlen(word)]))
                return true;
        if (strncmp(text, word + 1, strlen(word + 1)) == 0 &&
            !isalpha((unsigned char)text[strlen(word + 1)]))
            return true;
    }
    return false;
}

static void findings_count(void **state)
{
    struct rpcrdma_finding finding = {.rule = RPCRDMA_RULE_PACKETS_LOST, .arg = {1, 7, 7}};
    char text[400];
    size_t plurals = 0;

    (void)state;
    rpcrdma_finding_text(&finding, text, sizeof(text));
    assert_string_equal(text, "1 PSN, 7 to 7, is not in the capture");
    finding.arg[0] = 0;
    rpcrdma_finding_text(&finding, text, sizeof(text));
    assert_string_equal(text, "0 PSNs, 7 to 7, are not in the capture");
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
        finding = (struct rpcrdma_finding){
            .rule = (enum rpcrdma_rule_id)id, .arg = {1, 1, 1, 1}, .what = "it"};
        if (!rpcrdma_rule(finding.rule)->name)
            continue; /* a number that is no longer used */
        assert_true(rpcrdma_finding_text(&finding, text, sizeof(text)) < sizeof(text));
        assert_null(strpbrk(text, "{|}"));
        assert_false(counts(text, "1", "s"));
        for (int i = 0; i < 4; i++)
            finding.arg[i] = 2;
        rpcrdma_finding_text(&finding, text, sizeof(text));
        assert_null(strpbrk(text, "{|}"));
        plurals += counts(text, "2", "s");
        assert_false(counts(text, "2", ""));
    }
    assert_true(plurals > 40);
}

static void findings_name_dialects(void **state)
{
    (void)state;
    struct rpcrdma_finding finding = {.rule = RPCRDMA_RULE_DIALECT_UNDECIDED,
                                      .arg = {1u << RPCRDMA_CEL_00 | 1u << RPCRDMA_IETF_07},
                                      .what = "ietf-07"};
    char text[128];

    rpcrdma_finding_text(&finding, text, sizeof(text));
    assert_string_equal(text, "the messages fit cel-00, ietf-07 alike: decoded as ietf-07");
}

/* RFC 8166 section 4.3.1: a Call with a read chunk of one segment, both ways. */
static void messages_are_coded(void **state)
{
    static const uint8_t wire[] = {
        0, 0, 0, 7, 0, 0, 0,  1,  0, 0, 0, 32, 0, 0, 0, 0, /* XID, version, credits, RDMA_MSG */
        0, 0, 0, 1, 0, 0, 0,  40, 0, 0, 0, 9,  0, 0, 1, 0, /* position 40, handle 9, length 256 */
        0, 0, 0, 0, 0, 0, 16, 0,  0, 0, 0, 0,              /* offset 4096; end of the read list */
        0, 0, 0, 0, 0, 0, 0,  0,                           /* no write list, no reply chunk */
        0, 0, 0, 7, 0, 0, 0,  0,  0, 0, 0, 2,              /* an RPC Call begins */
    };
    struct rpcrdma_message message;
    uint8_t again[sizeof(wire)];
    size_t written;

    (void)state;
    assert_int_equal(rpcrdma_message_decode(NULL, wire, sizeof(wire), sizeof(wire), &message),
                     RPCRDMA_OK);
    assert_int_equal(message.header_length, 52);
    struct rpcrdma_read_iter it = rpcrdma_read_begin(&message.read);
    struct rpcrdma_read_segment segment;
    assert_true(rpcrdma_read_next(&it, &segment));
    assert_int_equal(segment.position, 40);
    assert_int_equal(segment.segment.handle, 9);
    assert_int_equal(segment.segment.length, 256);
    assert_int_equal(segment.segment.offset, 4096);
    assert_false(rpcrdma_read_next(&it, &segment));
    assert_int_equal(rpcrdma_message_encode(&message, again, sizeof(again), &written), RPCRDMA_OK);
    assert_int_equal(written, sizeof(wire));
    assert_memory_equal(again, wire, sizeof(wire));
}

static void tables_are_there(void **state)
{
    (void)state;
    assert_ptr_equal(rpcrdma_dialect_by_name("ietf-04"), rpcrdma_dialect(RPCRDMA_IETF_07));
    assert_null(rpcrdma_dialect_by_name("ietf-99"));
    assert_string_equal(rpcrdma_procedure_name(100003, 3, 7, false), "WRITE");
    assert_string_equal(rpcrdma_field(RPCRDMA_FIELD_XID)->key, "xid");
}

struct seen {
    struct rpcrdma_flow *flow;
    unsigned int messages, calls, connections;
};

static void on_op(void *context, const struct rpcrdma_op *op)
{
    struct seen *seen = context;

    assert_true(rpcrdma_flow_op(seen->flow, op));
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct seen *seen = context;

    seen->messages++;
    seen->calls += message->direction == RPCRDMA_DIRECTION_CALL;
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct seen *seen = context;

    seen->connections++;
    assert_int_equal(connection->threshold_call, 4096);
}

/* The kernel's own count: 68 Calls and 68 Replies on two connections. */
static void a_capture_is_followed(void **state)
{
    struct seen seen = {0};
    const struct rpcrdma_net_sink below = {.op = on_op, .context = &seen};
    const struct rpcrdma_flow_sink above = {
        .connection = on_connection, .message = on_message, .context = &seen};
    struct rpcrdma_net *net = rpcrdma_net_new(NULL, &below);
    struct rpcrdma_packet packet = {0};
    struct pcap_record record;
    struct pcap_file file;

    (void)state;
    seen.flow = rpcrdma_flow_new(NULL, &above);
    assert_non_null(net);
    assert_non_null(seen.flow);
    assert_true(pcap_open(&file, CAPTURE));
    assert_true(rpcrdma_net_link_known(file.linktype));
    while (pcap_next(&file, &record)) {
        packet.frame++;
        packet.time_ns = record.time_ns;
        packet.linktype = file.linktype;
        packet.caplen = record.caplen;
        packet.len = record.len;
        packet.data = record.data;
        rpcrdma_net_packet(net, &packet);
    }
    rpcrdma_net_end(net);
    rpcrdma_flow_end(seen.flow);
    assert_int_equal(rpcrdma_net_stats(net)->packets, packet.frame);
    assert_int_equal(seen.messages, 136);
    assert_int_equal(seen.calls, 68);
    assert_int_equal(seen.connections, 2);
    rpcrdma_net_free(net);
    rpcrdma_flow_free(seen.flow);
    pcap_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_have_text),     cmocka_unit_test(findings_count),
        cmocka_unit_test(findings_name_dialects), cmocka_unit_test(messages_are_coded),
        cmocka_unit_test(tables_are_there),       cmocka_unit_test(a_capture_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
