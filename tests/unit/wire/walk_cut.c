/* SPDX-License-Identifier: BSD-2-Clause */
/* The walks of messages that were not captured whole. */
#include "sink.h"
#include "test.h"

static struct sink out;

#define V1_COMMON "11223344 00000001 00000020 "
#define SEGMENT_HEX "00000a0b 00001000 00007f0000001000"
#define SEGMENT_JSON "{\"handle\":\"0x00000a0b\",\"length\":4096,\"offset\":\"0x00007f0000001000\"}"
#define START "{\"xid\":\"0x11223344\",\"version\":1,\"credits\":32,"

/* What was captured of a message is told, and nothing that was not. */
static void cut_short(void **state)
{
#define TWO_CHUNKS                                                                                 \
    V1_COMMON "00000001 00000000 00000001 00000002" SEGMENT_HEX SEGMENT_HEX                        \
              "00000001 00000001" SEGMENT_HEX "00000000 00000000"
    static const struct {
        size_t caplen;
        const char *json;
    } cases[] = {
        {0, "{}"},
        {4, "{\"xid\":\"0x11223344\"}"},
        {16, START "\"type\":\"RDMA_NOMSG\"}"},
        {19, START "\"type\":\"RDMA_NOMSG\"}"},
        {20, START "\"type\":\"RDMA_NOMSG\",\"read\":[]}"},
        {24, START "\"type\":\"RDMA_NOMSG\",\"read\":[]}"}, /* it has chunks: it is not empty */
        {28, START "\"type\":\"RDMA_NOMSG\",\"read\":[]}"},
        {43, START "\"type\":\"RDMA_NOMSG\",\"read\":[]}"},
        {44, START "\"type\":\"RDMA_NOMSG\",\"read\":[],\"write\":[[" SEGMENT_JSON "]]}"},
        {68, START "\"type\":\"RDMA_NOMSG\",\"read\":[],"
                   "\"write\":[[" SEGMENT_JSON "," SEGMENT_JSON "]]}"},
        {88, START "\"type\":\"RDMA_NOMSG\",\"read\":[],"
                   "\"write\":[[" SEGMENT_JSON "," SEGMENT_JSON "],[" SEGMENT_JSON "]]}"},
        {92, START "\"type\":\"RDMA_NOMSG\",\"header_length\":92,\"payload_length\":0,"
                   "\"read\":[],\"write\":[[" SEGMENT_JSON "," SEGMENT_JSON "],"
                   "[" SEGMENT_JSON "]],\"reply\":[]}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sink_walk(&out, RPCRDMA_V1, TWO_CHUNKS, -1, cases[i].caplen);
        assert_string_equal(out.text, cases[i].json);
    }
}

/* A Read list and a Reply chunk of which no segment was captured are not told to be empty. */
static void cut_before_segments(void **state)
{
    static const char read[] = V1_COMMON "00000001 00000001 00000000" SEGMENT_HEX "00000000"
                                         "00000000 00000000",
                      reply[] =
                          V1_COMMON "00000001 00000000 00000000 00000001 00000001" SEGMENT_HEX,
                      empty[] = V1_COMMON "00000001 00000000 00000000 00000001 00000000";

    (void)state;
    sink_walk(&out, RPCRDMA_V1, read, -1, 39);
    assert_string_equal(out.text, START "\"type\":\"RDMA_NOMSG\"}");
    for (size_t caplen = 28; caplen < 48; caplen += 4) {
        sink_walk(&out, RPCRDMA_V1, reply, -1, caplen);
        assert_string_equal(out.text, START "\"type\":\"RDMA_NOMSG\",\"read\":[],\"write\":[]}");
    }
    sink_walk(&out, RPCRDMA_V1, empty, -1,
              28); /* one of no segments is as one whose count was cut */
    assert_null(strstr(out.text, "reply"));
    sink_walk(&out, RPCRDMA_V1, empty, -1, 32);
    assert_non_null(strstr(out.text, "\"reply\":[]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_short),
        cmocka_unit_test(cut_before_segments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
