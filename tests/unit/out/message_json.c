/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lines of messages have in common is formatted once: what differs is seen all the same,
 * and so is each byte, wherever the buffer is written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "out/view.h"

/* A message on a connection, and the RPC header of its Call. */
struct sent {
    struct rpcrdma_connection connection;
    struct rpcrdma_message message;
    struct rpcrdma_rpc call;
    struct rpcrdma_flow_message m;
};

static const char getattr_line[] =
    "{\"frame\":7,\"time_ns\":0,\"connection\":1,\"sender\":\"client\",\"src\":\"10.0.0.1\","
    "\"dst\":\"10.1.0.1\",\"src_qpn\":256,\"dst_qpn\":512,\"xid\":\"0x000000ab\","
    "\"direction\":\"call\",\"rpc\":{\"direction\":\"call\",\"program\":100003,\"version\":3,"
    "\"procedure\":1,\"name\":\"GETATTR\"}}\n";

static void make_getattr(struct sent *sent)
{
    *sent = (struct sent){
        .connection = {.number = 1, .carrier = RPCRDMA_CARRIER_ROCEV2},
        .message = {.present = RPCRDMA_HAS_XID,
                    .xid = 0xab,
                    .dialect = rpcrdma_dialect(RPCRDMA_V1)},
        .call = {.present = RPCRDMA_RPC_HAS_TYPE | RPCRDMA_RPC_HAS_PROGRAM,
                 .program = 100003,
                 .version = 3,
                 .procedure = 1},
        .m = {.sender = RPCRDMA_ROLE_CLIENT,
              .direction = RPCRDMA_DIRECTION_CALL,
              .frame = 7,
              .src = {{RPCRDMA_ADDRESS_IPV4, {10, 0, 0, 1}}, 256, 99, true},
              .dst = {{RPCRDMA_ADDRESS_IPV4, {10, 1, 0, 1}}, 512, 20049, true}},
    };
    sent->m.connection = &sent->connection;
    sent->m.message = &sent->message;
    sent->m.rpc = &sent->call;
    sent->m.call = &sent->call;
}

static void put(struct out *out, const struct sent *sent)
{
    struct view_clock clock = {.started = true};
    struct view view = view_new(&view_json, out, &clock);

    view.ops->message(&view, &sent->m);
}

static void expect(struct out *out, const struct sent *sent, const char *want)
{
    put(out, sent);
    out->buf[out->n] = '\0';
    assert_string_equal(out->buf, want);
    out->n = 0;
}

/* The line with the first `of` in it replaced. */
static void replaced(char *line, const char *of, const char *into)
{
    char *at = strstr(getattr_line, of) - getattr_line + line, rest[sizeof(getattr_line)];

    assert_non_null(strstr(getattr_line, of));
    strcpy(line, getattr_line);
    strcpy(rest, at + strlen(of));
    strcpy(at, into);
    strcat(line, rest);
}

static void expect_changed(struct out *out, const struct sent *changed, const char *of,
                           const char *into)
{
    struct sent sent;
    char line[2 * sizeof(getattr_line)];

    make_getattr(&sent);
    replaced(line, of, into);
    expect(out, &sent, getattr_line);
    expect(out, changed, line);
    expect(out, changed, line);
    expect(out, &sent, getattr_line);
}

#define EXPECT_CHANGED(out, assignment, of, into)                                                  \
    do {                                                                                           \
        struct sent sent;                                                                          \
                                                                                                   \
        make_getattr(&sent);                                                                       \
        sent.assignment;                                                                           \
        expect_changed(out, &sent, of, into);                                                      \
    } while (0)

static void test_changes(void **state)
{
    struct out out;

    (void)state;
    assert_true(out_open(&out, -1));
    /* 17 is kept where 1 is, of connections and of procedures */
    EXPECT_CHANGED(&out, connection.number = 17, "\"connection\":1", "\"connection\":17");
    EXPECT_CHANGED(&out, m.sender = RPCRDMA_ROLE_UNKNOWN, "\"sender\":\"client",
                   "\"sender\":\"unknown");
    EXPECT_CHANGED(&out, m.src.address.bytes[3] = 2, "10.0.0.1", "10.0.0.2");
    EXPECT_CHANGED(&out, m.src.address.family = RPCRDMA_ADDRESS_NONE, "\"src\":\"10.0.0.1\",", "");
    EXPECT_CHANGED(&out, m.dst.address.bytes[0] = 11, "10.1.0.1", "11.1.0.1");
    EXPECT_CHANGED(&out, m.src.qpn = 257, "\"src_qpn\":256", "\"src_qpn\":257");
    EXPECT_CHANGED(&out, m.src.has_qpn = false, "\"src_qpn\":256,", "");
    EXPECT_CHANGED(&out, m.dst.qpn = 513, "\"dst_qpn\":512", "\"dst_qpn\":513");
    EXPECT_CHANGED(&out, connection.carrier = RPCRDMA_CARRIER_IWARP,
                   "\"src_qpn\":256,\"dst_qpn\":512", "\"src_port\":99,\"dst_port\":20049");
    EXPECT_CHANGED(&out, call.procedure = 17, "\"procedure\":1,\"name\":\"GETATTR",
                   "\"procedure\":17,\"name\":\"READDIRPLUS");
    EXPECT_CHANGED(&out, call.version = 9, "\"version\":3,\"procedure\":1,\"name\":\"GETATTR\"",
                   "\"version\":9,\"procedure\":1");
    EXPECT_CHANGED(&out, call.program = 100227,
                   "\"program\":100003,\"version\":3,\"procedure\":1,\"name\":\"GETATTR\"",
                   "\"program\":100227,\"version\":3,\"procedure\":1,\"name\":\"GETACL\"");
    EXPECT_CHANGED(&out, call.present = RPCRDMA_RPC_HAS_TYPE,
                   ",\"program\":100003,\"version\":3,\"procedure\":1,\"name\":\"GETATTR\"", "");
    EXPECT_CHANGED(&out, m.direction = RPCRDMA_DIRECTION_REPLY,
                   "\"direction\":\"call\",\"rpc\":{\"direction\":\"call\"",
                   "\"direction\":\"reply\",\"rpc\":{\"direction\":\"reply\"");
    out_close(&out);
}

/* Of iWARP the ports are shown. */
static void test_ports(void **state)
{
    struct out out;
    struct sent sent;
    char line[2 * sizeof(getattr_line)];

    (void)state;
    assert_true(out_open(&out, -1));
    make_getattr(&sent);
    sent.connection.carrier = RPCRDMA_CARRIER_IWARP;
    replaced(line, "\"src_qpn\":256,\"dst_qpn\":512", "\"src_port\":99,\"dst_port\":20049");
    expect(&out, &sent, line);
    sent.m.src.port = 98;
    replaced(line, "\"src_qpn\":256,\"dst_qpn\":512", "\"src_port\":98,\"dst_port\":20049");
    expect(&out, &sent, line);
    out_close(&out);
}

/* From server to client, a number that no program has is the callback program. */
static void test_reverse(void **state)
{
    struct out out;
    struct sent sent;

    (void)state;
    assert_true(out_open(&out, -1));
    make_getattr(&sent);
    sent.call.program = 0x40000001; /* a client chooses it: RFC 8881, section 2.10.3.1 */
    sent.call.version = 1;
    put(&out, &sent);
    out.n = 0;
    sent.m.reverse = true;
    put(&out, &sent);
    out.buf[out.n] = '\0';
    assert_non_null(strstr(out.buf, "\"name\":\"CB_COMPOUND\""));
    out.n = 0;
    sent.m.reverse = false;
    put(&out, &sent);
    out.buf[out.n] = '\0';
    assert_null(strstr(out.buf, "\"name\""));
    out_close(&out);
}

struct written {
    char text[OUT_SIZE + 2 * sizeof(getattr_line)];
    size_t n;
};

static int take(void *context, const char *bytes, size_t n)
{
    struct written *written = context;

    assert_true(written->n + n < sizeof(written->text));
    memcpy(written->text + written->n, bytes, n);
    written->n += n;
    return 0;
}

/* The line, put where `n` bytes wait in the buffer, which is written out in it or behind it. */
static void expect_behind(struct out *out, struct written *written, size_t n,
                          const struct sent *sent)
{
    memset(out->buf, ' ', n);
    out->n = n;
    written->n = 0;
    put(out, sent);
    out_flush(out);
    written->text[written->n] = '\0';
    assert_string_equal(written->text + n, getattr_line);
}

/* The buffer is full somewhere in a line that is formatted anew, at each of its bytes, and then in
 * one that is copied. */
static void test_written_between(void **state)
{
    static struct written written;
    struct sent sent, other;
    struct out out;

    (void)state;
    assert_true(out_open(&out, -1));
    out.write = take;
    out.write_context = &written;
    make_getattr(&sent);
    make_getattr(&other);
    other.connection.number = 17;
    other.call.procedure = 17;
    for (size_t before = 0; before < sizeof(getattr_line); before++) {
        size_t n = OUT_SIZE - OUT_SLACK - before;

        put(&out, &other); /* what was kept goes */
        expect_behind(&out, &written, n, &sent);
        out.n = 0;
        expect(&out, &sent, getattr_line);
        expect_behind(&out, &written, n, &sent);
    }
    out_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_written_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
