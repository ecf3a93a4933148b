/* SPDX-License-Identifier: BSD-2-Clause */
/* The walks: the JSON contract from a view that knows no field, and every value told against the
 * wire bytes the table says it stands in. */
#include "wire/walk.h"

#include "places.h"
#include "sink.h"
#include "test.h"
#include "vectors.h"
#include "wire/xchar.h"

/* -- shapes ------------------------------------------------------------------------------- */

static struct sink out;

static void judge_message(enum rpcrdma_dialect_id dialect, const char *hex);

static void expect(enum rpcrdma_dialect_id dialect, const char *hex, const char *json)
{
    judge_message(dialect, hex);
    sink_walk(&out, dialect, hex, -1, SIZE_MAX);
    assert_string_equal(out.text, json);
}

#define V1_COMMON "11223344 00000001 00000020 "
#define V2_COMMON "11223344 00000002 00000020 "
#define SEGMENT_HEX "00000a0b 00001000 00007f0000001000"
#define SEGMENT_JSON "{\"handle\":\"0x00000a0b\",\"length\":4096,\"offset\":\"0x00007f0000001000\"}"
#define POSITIONED_JSON                                                                            \
    "{\"position\":136,\"handle\":\"0x00000a0b\",\"length\":4096,"                                 \
    "\"offset\":\"0x00007f0000001000\"}"
#define START "{\"xid\":\"0x11223344\",\"version\":1,\"credits\":32,"
#define START2(dialect)                                                                            \
    "{\"xid\":\"0x11223344\",\"version\":2,\"dialect\":\"" dialect "\",\"credits\":32,"

static void version_1(void **state)
{
    (void)state;
    expect(RPCRDMA_V1, V1_COMMON "00000000 00000000 00000000 00000000" RPC_HEX,
           START "\"type\":\"RDMA_MSG\",\"header_length\":28,\"payload_length\":8,"
                 "\"read\":[],\"write\":[],\"reply\":[]}");
    expect(RPCRDMA_V1,
           V1_COMMON "00000001 00000001 00000088" SEGMENT_HEX "00000000"
                     "00000001 00000002" SEGMENT_HEX SEGMENT_HEX "00000001 00000000 00000000"
                     "00000001 00000001" SEGMENT_HEX,
           START "\"type\":\"RDMA_NOMSG\",\"header_length\":120,\"payload_length\":0,"
                 "\"read\":[" POSITIONED_JSON "],"
                 "\"write\":[[" SEGMENT_JSON "," SEGMENT_JSON "],[]],"
                 "\"reply\":[" SEGMENT_JSON "]}");
    expect(RPCRDMA_V1, V1_COMMON "00000002 00000008 00000400 00000000 00000000 00000000" RPC_HEX,
           START "\"type\":\"RDMA_MSGP\",\"header_length\":36,\"payload_length\":8,"
                 "\"align\":8,\"thresh\":1024,\"read\":[],\"write\":[],\"reply\":[]}");
    expect(RPCRDMA_V1, V1_COMMON "00000003",
           START "\"type\":\"RDMA_DONE\",\"header_length\":16,\"payload_length\":0}");
    expect(RPCRDMA_V1, V1_COMMON "00000004 00000001 00000001 00000002",
           START "\"type\":\"RDMA_ERROR\",\"header_length\":28,\"payload_length\":0,"
                 "\"error\":{\"code\":1,\"name\":\"ERR_VERS\",\"low\":1,\"high\":2}}");
    expect(RPCRDMA_V1, V1_COMMON "00000004 00000002",
           START "\"type\":\"RDMA_ERROR\",\"header_length\":20,\"payload_length\":0,"
                 "\"error\":{\"code\":2,\"name\":\"ERR_CHUNK\"}}");
    /* a code and a type that nobody knows */
    expect(RPCRDMA_V1, V1_COMMON "00000004 00000007",
           START "\"type\":\"RDMA_ERROR\",\"header_length\":20,\"payload_length\":0,"
                 "\"error\":{\"code\":7}}");
    expect(RPCRDMA_V1, V1_COMMON "00000009 00000000", START "\"type\":9}");
}

static void version_2(void **state)
{
    (void)state;
    expect(RPCRDMA_IETF_07,
           V2_COMMON "00000008 00000a0b 00000001 00000088" SEGMENT_HEX "00000000"
                     "00000000 00000001 00000001" SEGMENT_HEX "00000000 00000000",
           START2("ietf-07") "\"type\":\"RDMA2_CALL_EXTERNAL\",\"header_length\":84,"
                             "\"payload_length\":0,\"inv_handle\":\"0x00000a0b\","
                             "\"call\":[" POSITIONED_JSON "],\"read\":[],"
                             "\"write\":[[" SEGMENT_JSON "]],\"reply\":[]}");
    expect(RPCRDMA_IETF_07, V2_COMMON "0000000c 00001000" RPC_HEX,
           START2("ietf-07") "\"type\":\"RDMA2_REPLY_MIDDLE\",\"header_length\":20,"
                             "\"payload_length\":8,\"remaining\":4096}");
    expect(RPCRDMA_CEL_02, V2_COMMON "00000001 00000001 00000a0b 00000000 00000000 00000000",
           START2("cel-02") "\"type\":\"RDMA2_NOMSG\",\"header_length\":36,\"payload_length\":0,"
                            "\"direction\":\"reply\",\"inv_handle\":\"0x00000a0b\","
                            "\"read\":[],\"write\":[],\"reply\":[]}");
    expect(RPCRDMA_IETF_01, V2_COMMON "00000001 00000003 00000000 00000000 00000000 00000000",
           START2("ietf-01") "\"type\":\"RDMA2_NOMSG\",\"header_length\":36,\"payload_length\":0,"
                             "\"flags\":\"0x00000003\",\"inv_handle\":\"0x00000000\","
                             "\"read\":[],\"write\":[],\"reply\":[]}");
}

static void errors(void **state)
{
    (void)state;
#define ERROR_START(dialect, length)                                                               \
    START2(dialect)                                                                                \
    "\"type\":\"RDMA2_ERROR\",\"header_length\":" length ",\"payload_length\":0,"
    expect(RPCRDMA_IETF_07, V2_COMMON "00000004 00000006 00000003",
           ERROR_START("ietf-07", "24") "\"error\":{\"code\":6,\"name\":\"RDMA2_ERR_READ_CHUNKS\","
                                        "\"max_chunks\":3}}");
    expect(RPCRDMA_IETF_07, V2_COMMON "00000004 00000008 00000003",
           ERROR_START("ietf-07", "24") "\"error\":{\"code\":8,\"name\":\"RDMA2_ERR_SEGMENTS\","
                                        "\"max_segments\":3}}");
    expect(RPCRDMA_IETF_07, V2_COMMON "00000004 00000009 00000001 00002000",
           ERROR_START("ietf-07", "28") "\"error\":{\"code\":9,"
                                        "\"name\":\"RDMA2_ERR_WRITE_RESOURCE\",\"chunk_index\":1,"
                                        "\"length_needed\":8192}}");
    expect(RPCRDMA_IETF_07, V2_COMMON "00000004 0000000a 00002000",
           ERROR_START("ietf-07", "24") "\"error\":{\"code\":10,"
                                        "\"name\":\"RDMA2_ERR_REPLY_RESOURCE\","
                                        "\"length_needed\":8192}}");
    expect(RPCRDMA_CEL_02, V2_COMMON "00000004 00000003 00000001 00000002 00002000",
           ERROR_START("cel-02", "32") "\"error\":{\"code\":3,\"name\":\"RDMA2_ERR_CANT_REPLY\","
                                       "\"processed\":true,\"segment_index\":2,"
                                       "\"length_needed\":8192}}");
    expect(RPCRDMA_CEL_03, V2_COMMON "00000004 00000003 00000002 00002000",
           ERROR_START("cel-03", "28") "\"error\":{\"code\":3,"
                                       "\"name\":\"RDMA2_ERR_REPLY_RESOURCE\",\"segment_index\":2,"
                                       "\"length_needed\":8192}}");
}

#define PROPERTY_HEX(id, value) id "00000004" value

static void properties(void **state)
{
    (void)state;
    /* a number, one of length 0 (the default), an unknown one, one too short */
    expect(RPCRDMA_IETF_07,
           V2_COMMON "00000007 00000004" PROPERTY_HEX(
               "00000002", "00002000") "00000001 00000000"
                                       "0000004d 00000003 01020300 00000003 00000002 aabb0000",
           START2("ietf-07") "\"type\":\"RDMA2_CONNPROP_FINAL\",\"header_length\":64,"
                             "\"payload_length\":0,\"properties\":["
                             "{\"id\":2,\"name\":\"Receive Buffer Size\",\"value\":8192},"
                             "{\"id\":1,\"name\":\"Maximum Send Size\"},"
                             "{\"id\":77,\"data\":\"010203\"},"
                             "{\"id\":3,\"name\":\"Maximum Segment Size\",\"data\":\"aabb\"}]}");
    /* CONNPROP of cel-03 with a subset that reaches into its second word */
    expect(RPCRDMA_CEL_03,
           V2_COMMON "00000006 00000001" PROPERTY_HEX("00000001", "00002000") "00000002 00000005"
                                                                              "80000001",
           START2("cel-03") "\"type\":\"RDMA2_CONNPROP\",\"header_length\":44,"
                            "\"payload_length\":0,\"properties\":["
                            "{\"id\":1,\"name\":\"Receive Buffer Size\",\"value\":8192}],"
                            "\"nochg\":[0,2,32,63]}");
    expect(RPCRDMA_CEL_03, V2_COMMON "00000007 00000000",
           START2("cel-03") "\"type\":\"RDMA2_REQPROP\",\"header_length\":20,"
                            "\"payload_length\":0,\"want\":[]}");
    expect(RPCRDMA_CEL_03, V2_COMMON "00000008 00000001 00000001 00000001 00000002 00000000",
           START2("cel-03") "\"type\":\"RDMA2_RESPROP\",\"header_length\":36,"
                            "\"payload_length\":0,\"done\":[0],\"rejected\":[1],\"other\":[]}");
    expect(RPCRDMA_CEL_03, V2_COMMON "00000009 00000001" PROPERTY_HEX("00000001", "00002000"),
           START2("cel-03") "\"type\":\"RDMA2_UPDPROP\",\"header_length\":32,"
                            "\"payload_length\":0,\"now\":["
                            "{\"id\":1,\"name\":\"Receive Buffer Size\",\"value\":8192}]}");
}

static void characteristics(void **state)
{
    (void)state;
#define OPTIONAL_START(length)                                                                     \
    START2("cel-01")                                                                               \
    "\"type\":\"RDMA2_OPTIONAL\",\"header_length\":" length ",\"payload_length\":0,"
    expect(RPCRDMA_CEL_01,
           V2_COMMON
           "00000005 00000000 00000001 00000030 00000003" PROPERTY_HEX("00000001", "00002000")
               PROPERTY_HEX("00000002", "00000001") "ffffff01 00000002 aabb0000 00000001 00000005",
           OPTIONAL_START("76") "\"optional\":{\"direction\":\"call\",\"type\":1,"
                                "\"name\":\"INIT_XCHAR\",\"start\":["
                                "{\"id\":1,\"name\":\"Receive Buffer Size\",\"value\":8192},"
                                "{\"id\":2,\"name\":\"Requester Remote Invalidation\","
                                "\"value\":true},"
                                "{\"id\":4294967041,\"name\":\"experimental\",\"data\":\"aabb\"}],"
                                "\"nochg\":[0,2]}}");
    expect(RPCRDMA_CEL_01,
           V2_COMMON
           "00000005 00000000 00000002 00000010 00000001" PROPERTY_HEX("00000002", "00000000"),
           OPTIONAL_START("44") "\"optional\":{\"direction\":\"call\",\"type\":2,"
                                "\"name\":\"REQ_XCHAR\",\"want\":["
                                "{\"id\":2,\"name\":\"Requester Remote Invalidation\","
                                "\"value\":false}]}}");
    expect(RPCRDMA_CEL_01,
           V2_COMMON "00000005 00000001 00000003 00000014 00000001 00000001 00000001 00000002 "
                     "00000000",
           OPTIONAL_START("48") "\"optional\":{\"direction\":\"reply\",\"type\":3,"
                                "\"name\":\"RESP_XCHAR\",\"done\":[0],\"rej\":[1],\"pend\":[]}}");
    expect(RPCRDMA_CEL_01,
           V2_COMMON
           "00000005 00000000 00000004 00000010" PROPERTY_HEX("00000001", "00002000") "00000001",
           OPTIONAL_START("44") "\"optional\":{\"direction\":\"call\",\"type\":4,"
                                "\"name\":\"UPD_XCHAR\",\"now\":{\"id\":1,"
                                "\"name\":\"Receive Buffer Size\",\"value\":8192},"
                                "\"pendclr\":true}}");
    expect(RPCRDMA_CEL_01, V2_COMMON "00000005 00000000 00000063 00000003 01020300",
           OPTIONAL_START("32") "\"optional\":{\"direction\":\"call\",\"type\":99,"
                                "\"data\":\"010203\"}}");
    expect(RPCRDMA_CEL_00, V2_COMMON "00000005 00000063 00000000",
           START2("cel-00") "\"type\":\"RDMA_OPTIONAL\",\"header_length\":24,"
                            "\"payload_length\":0,\"optional\":{\"type\":99,\"data\":\"\"}}");
    /* an xchar message whose fields cannot be right shows its bytes, too */
    expect(RPCRDMA_CEL_01, V2_COMMON "00000005 00000000 00000002 00000004 00000009",
           OPTIONAL_START("32") "\"optional\":{\"direction\":\"call\",\"type\":2,"
                                "\"name\":\"REQ_XCHAR\",\"data\":\"00000009\"}}");
}

/* The header's own direction word stands before what the caller knows. */
static void direction_from_outside(void **state)
{
    (void)state;
    sink_walk(&out, RPCRDMA_V1, V1_COMMON "00000003", 1, SIZE_MAX);
    assert_string_equal(out.text, START "\"type\":\"RDMA_DONE\",\"header_length\":16,"
                                        "\"payload_length\":0,\"direction\":\"reply\"}");
    sink_walk(&out, RPCRDMA_CEL_02,
              V2_COMMON "00000001 00000000 00000000 00000000 00000000 00000000", 1, SIZE_MAX);
    assert_non_null(strstr(out.text, "\"direction\":\"call\",\"inv_handle\""));
    assert_null(strstr(out.text, "\"reply\","));
}

static void text_tree(void **state)
{
    struct rpcrdma_visitor text = text_sink(&out);
    struct rpcrdma_message m;
    size_t len;
    unsigned char *bytes =
        unhex(V2_COMMON "00000001 00000002 00000a0b 00000000 00000001 00000001" SEGMENT_HEX
                        "00000000 00000000",
              &len);

    (void)state;
    rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_IETF_00), bytes, len, len, &m);
    rpcrdma_walk_message(&m, -1, &text);
    assert_string_equal(out.text, "XID: 0x11223344\n"
                                  "Version: 2\n"
                                  "Dialect: ietf-00\n"
                                  "Credits: 32\n"
                                  "Type: RDMA2_NOMSG (1)\n"
                                  "Header length: 60\n"
                                  "Payload length: 0\n"
                                  "Flags: 0x00000002\n"
                                  "Handle to invalidate: 0x00000a0b\n"
                                  "Read list\n"
                                  "Write list\n"
                                  "  Write chunk\n"
                                  "    Segment\n"
                                  "      Handle: 0x00000a0b\n"
                                  "      Length: 4096\n"
                                  "      Offset: 0x00007f0000001000\n"
                                  "Reply chunk\n");
    free(bytes);
}

/* -- places -------------------------------------------------------------------------------- */

/* Cut at every byte, too: then what is told lies within what was captured. */
static void judge_message(enum rpcrdma_dialect_id dialect, const char *hex)
{
    size_t len;
    unsigned char *bytes = unhex(hex, &len);
    unsigned checked = 0;

    for (size_t caplen = 0; caplen <= len; caplen++) {
        uint8_t *copy = heap_copy(bytes, caplen);
        struct rpcrdma_message m;
        struct judge j;
        struct rpcrdma_visitor v = start_judge(&j, copy, caplen);

        rpcrdma_message_decode(rpcrdma_dialect(dialect), copy, caplen, len, &m);
        rpcrdma_walk_message(&m, -1, &v);
        assert_int_equal(j.depth, 0);
        assert_true(j.checked >= checked); /* more bytes never tell less */
        checked = j.checked;
        free(copy);
    }
    assert_true(checked >= 4);
    free(bytes);
}

static void values_stand_where_the_table_says(void **state)
{
    (void)state;
    for (const struct vector_table *const *t = vector_tables(); *t; t++)
        for (size_t i = 0; i < (*t)->count; i++) {
            print_message("%s\n", (*t)->vectors[i].name);
            judge_message((*t)->vectors[i].dialect, (*t)->vectors[i].hex);
        }
    judge_message(
        RPCRDMA_CEL_01, V2_COMMON
        "00000005 00000000 00000001 00000030 00000003" PROPERTY_HEX("00000001", "00002000")
            PROPERTY_HEX("00000002", "00000001") "ffffff01 00000002 aabb0000 00000001 00000005");
}

/* -- RPC and private data ------------------------------------------------------------------- */

static void rpc_as_the_contract_has_it(void **state)
{
    const struct rpcrdma_rpc call = {
        .present = RPCRDMA_RPC_HAS_PROGRAM, .program = 100003, .version = 3, .procedure = 6};
    const struct rpcrdma_rpc cut = {.present = RPCRDMA_RPC_HAS_XID | RPCRDMA_RPC_HAS_TYPE};
    struct rpcrdma_visitor json = json_sink(&out);

    (void)state;
    rpcrdma_walk_rpc(RPCRDMA_RPC_CALL, &call, "READ", &json);
    json_end(&out);
    assert_string_equal(out.text, "{\"rpc\":{\"direction\":\"call\",\"program\":100003,"
                                  "\"version\":3,\"procedure\":6,\"name\":\"READ\"}}");
    json = json_sink(&out);
    rpcrdma_walk_rpc(RPCRDMA_RPC_REPLY, NULL, NULL, &json);
    json_end(&out);
    assert_string_equal(out.text, "{\"rpc\":{\"direction\":\"reply\"}}");
    json = json_sink(&out);
    rpcrdma_walk_rpc(-1, &cut, NULL, &json);
    json_end(&out);
    assert_string_equal(out.text, "{\"rpc\":{}}");
}

/* At an offset, as it stands behind a transport header; cut at every byte. */
static void judge_rpc(const char *hex, const char *last_line)
{
    enum { BEFORE = 28 };
    size_t len;
    unsigned char *bytes = unhex(hex, &len);
    struct rpcrdma_rpc rpc;
    unsigned checked = 0;

    for (size_t caplen = 0; caplen <= len; caplen++) {
        uint8_t *copy = calloc(1, BEFORE + caplen);
        struct judge j;
        struct rpcrdma_visitor v = start_judge(&j, copy, BEFORE + caplen);

        memcpy(copy + BEFORE, bytes, caplen);
        rpcrdma_rpc_decode(copy + BEFORE, caplen, len, &rpc);
        rpcrdma_walk_rpc_header(&rpc, BEFORE, NULL, &v);
        assert_int_equal(j.depth, 0);
        assert_true(j.checked >= checked);
        checked = j.checked;
        free(copy);
    }
    rpcrdma_rpc_decode(bytes, len, len, &rpc);
    struct rpcrdma_visitor text = text_sink(&out);
    rpcrdma_walk_rpc_header(&rpc, 0, "READ", &text);
    assert_non_null(strstr(out.text, last_line));
    assert_string_equal(strstr(out.text, last_line), last_line);
    free(bytes);
}

static void rpc_headers(void **state)
{
    (void)state;
    judge_rpc("11223344 00000000 00000002 000186a3 00000003 00000006 00000006 00000013"
              "00000001 00000000 00000009 00000003 01020300 00000006 00000003 07080900",
              "  GSS version: 1\n"
              "  GSS procedure: RPCSEC_GSS_DATA (0)\n"
              "  GSS sequence number: 9\n"
              "  GSS service: rpc_gss_svc_privacy (3)\n"
              "  Verifier: RPCSEC_GSS (6)\n"
              "  Verifier body: 070809\n");
    judge_rpc("11223344 00000001 00000000 00000000 00000000 00000002 00000003 00000004",
              "  Reply status: MSG_ACCEPTED (0)\n"
              "  Verifier: AUTH_NONE (0)\n"
              "  Accept status: PROG_MISMATCH (2)\n"
              "  Lowest version: 3\n"
              "  Highest version: 4\n");
    judge_rpc("11223344 00000001 00000001 00000001 0000000d",
              "  Reject status: AUTH_ERROR (1)\n"
              "  Authentication status: RPCSEC_GSS_CREDPROBLEM (13)\n");
    judge_rpc("11223344 00000001 00000001 00000000 00000002 00000002",
              "  Reject status: RPC_MISMATCH (0)\n"
              "  Lowest version: 2\n"
              "  Highest version: 2\n");
}

static void private_data(void **state)
{
    static const uint8_t bytes[] = {0, 0, 0, 0, 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 0};

    (void)state;
    for (size_t caplen = 0; caplen <= sizeof(bytes); caplen++) {
        static const unsigned counts[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 6};
        uint8_t *copy = heap_copy(bytes, caplen);
        struct rpcrdma_private_data pd;
        struct judge j;
        struct rpcrdma_visitor v = start_judge(&j, copy, caplen);

        rpcrdma_private_data_find(copy, caplen, sizeof(bytes), &pd);
        j.off[0] = 4;
        rpcrdma_walk_private_data(&pd, 0, &v);
        assert_int_equal(j.checked, counts[caplen]);
        if (caplen == sizeof(bytes)) {
            struct rpcrdma_visitor json = json_sink(&out);

            rpcrdma_walk_private_data(&pd, 0, &json);
            json_end(&out);
            assert_string_equal(out.text,
                                "{\"format\":\"0xf6ab0e18\",\"version\":1,\"flags\":\"0x01\","
                                "\"remote_invalidation\":true,\"send_size\":4096,"
                                "\"receive_size\":1024}");
        }
        free(copy);
    }
}

static void told_by_the_caller(void **state)
{
    struct rpcrdma_visitor json = json_sink(&out);

    (void)state;
    rpcrdma_visit_number(&json, RPCRDMA_FIELD_FRAME, 7);
    rpcrdma_visit_number(&json, RPCRDMA_FIELD_SENDER, 1);
    rpcrdma_visit_text(&json, RPCRDMA_FIELD_SRC, "192.0.2.1");
    rpcrdma_visit_begin(&json, RPCRDMA_RECORD_CREDITS_IN_FLIGHT);
    rpcrdma_visit_real(&json, RPCRDMA_FIELD_CREDITS_IN_FLIGHT_MEAN, 1.5);
    rpcrdma_visit_end(&json, RPCRDMA_RECORD_CREDITS_IN_FLIGHT);
    rpcrdma_visit_bytes(&json, RPCRDMA_FIELD_EXTRACT_SHA256, "\x01\xff", 2);
    json_end(&out);
    assert_string_equal(out.text, "{\"frame\":7,\"sender\":\"client\",\"src\":\"192.0.2.1\","
                                  "\"in_flight\":{\"mean\":1.5},\"sha256\":\"01ff\"}");
}

/* Runs last: the tests above have met every field that has a place on the wire. */
static void no_field_was_left_out(void **state)
{
    (void)state;
    for (int i = 0; i < RPCRDMA_FIELD_COUNT; i++)
        if (!told[i] && rpcrdma_field((enum rpcrdma_field_id)i)->offset >= 0)
            fail_msg("%s", rpcrdma_field((enum rpcrdma_field_id)i)->abbrev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1),
        cmocka_unit_test(version_2),
        cmocka_unit_test(errors),
        cmocka_unit_test(properties),
        cmocka_unit_test(characteristics),
        cmocka_unit_test(direction_from_outside),
        cmocka_unit_test(text_tree),
        cmocka_unit_test(values_stand_where_the_table_says),
        cmocka_unit_test(rpc_as_the_contract_has_it),
        cmocka_unit_test(rpc_headers),
        cmocka_unit_test(private_data),
        cmocka_unit_test(told_by_the_caller),
        cmocka_unit_test(no_field_was_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
