/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "connections/connections.h"

#include <epan/conversation.h>
#include <epan/conversation_filter.h>
#include <epan/dissectors/packet-tcp.h>

#include "common/keyed_hash.h"
#include "connections/decode_as.h"
#include "wireshark/address.h"
#include "wireshark/numbers.h"

struct known {
    uint32_t number;
    enum rpcrdma_carrier carrier;
    bool given; /* by the user, to another dissector */
    struct rpcrdma_endpoint end[2];
    uint64_t stream[2];
    char *label;
};

/* What is sent towards one end. */
struct stream {
    uint64_t name;
    const struct known *of; /* NULL: not known, or not RPC-over-RDMA */
};

static GPtrArray *known;         /* struct known by number - 1; NULL where there is none */
static GArray *streams;          /* struct stream; the first is none */
static wmem_map_t *stream_index; /* name -> index in streams */

/* What a TCP segment says of where it is from and where to. */
struct ends {
    struct rpcrdma_address address[2];
    uint16_t port[2];
};
static wmem_map_t *tcp; /* struct ends, either way -> the latest struct known */

static unsigned hash_ends(const void *ends)
{
    return keyed_hash(ends, sizeof(struct ends));
}

static gboolean equal_ends(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct ends)) == 0;
}

void connections_file_end(void)
{
    if (!known)
        return;
    g_ptr_array_free(known, TRUE);
    g_array_free(streams, TRUE);
    known = NULL;
    streams = NULL;
    stream_index = NULL;
    tcp = NULL;
}

void connections_file(void)
{
    const struct stream none = {0, NULL};

    connections_file_end();
    known = g_ptr_array_new();
    streams = g_array_new(FALSE, TRUE, sizeof(struct stream));
    g_array_append_val(streams, none);
    stream_index = wmem_map_new(wmem_file_scope(), wmem_int64_hash, g_int64_equal);
    tcp = wmem_map_new(wmem_file_scope(), hash_ends, equal_ends);
}

/* The same stream comes again and again. */
static uint32_t index_of(uint64_t name)
{
    static uint32_t recent[64];
    size_t at = name % G_N_ELEMENTS(recent);
    uint32_t index = recent[at];
    struct stream stream = {name, NULL};

    if (index < streams->len && g_array_index(streams, struct stream, index).name == name)
        return index;
    index = GPOINTER_TO_UINT(wmem_map_lookup(stream_index, &name));
    if (index == 0) {
        index = streams->len;
        g_array_append_val(streams, stream);
        wmem_map_insert(stream_index, wmem_memdup(wmem_file_scope(), &name, sizeof(name)),
                        GUINT_TO_POINTER(index));
    }
    recent[at] = index;
    return index;
}

void connections_frame(uint32_t frame, uint64_t stream)
{
    if (stream != 0)
        store_stream_set(frame, index_of(stream));
}

static char *label_of(const struct rpcrdma_connection *connection)
{
    int first = connection->role[1] == RPCRDMA_ROLE_CLIENT ? 1 : 0;
    bool client_known = connection->role[0] != RPCRDMA_ROLE_UNKNOWN;
    const char *from = address_text(wmem_file_scope(), &connection->end[first].address);
    const char *to = address_text(wmem_file_scope(), &connection->end[1 - first].address);

    return wmem_strdup_printf(wmem_file_scope(), "#%u %s %s %s", connection->number,
                              from ? from : "?", client_known ? "->" : "<->", to ? to : "?");
}

static void know_tcp(struct known *k)
{
    for (int i = 0; i < 2; i++) {
        struct ends *ends = store_new(sizeof(*ends));

        for (int j = 0; j < 2; j++) {
            ends->address[j] = k->end[i ^ j].address;
            ends->port[j] = k->end[i ^ j].port;
        }
        wmem_map_insert(tcp, ends, k);
    }
}

void connections_know(const struct rpcrdma_connection *connection)
{
    struct known *k;

    if (connection->number == 0)
        return;
    if (connection->number > known->len)
        g_ptr_array_set_size(known, (int)connection->number);
    k = known->pdata[connection->number - 1];
    if (!k) {
        k = known->pdata[connection->number - 1] = store_new(sizeof(struct known));
        k->number = connection->number;
        k->carrier = connection->carrier;
        k->label = label_of(connection);
        memcpy(k->end, connection->end, sizeof(k->end));
        if (k->carrier == RPCRDMA_CARRIER_IWARP)
            know_tcp(k);
    }
    memcpy(k->end, connection->end, sizeof(k->end)); /* one may become known later */
    k->given = decode_as_given(connection);
    for (int i = 0; i < 2; i++) {
        uint32_t index;

        if (connection->stream[i] == 0 || connection->stream[i] == k->stream[i])
            continue;
        k->stream[i] = connection->stream[i];
        index = index_of(k->stream[i]); /* which may move them */
        g_array_index(streams, struct stream, index).of = k;
    }
}

void connections_end(void *context, const struct rpcrdma_connection *connection)
{
    (void)context;
    connections_know(connection);
}

static const struct known *find(uint32_t frame)
{
    return streams ? g_array_index(streams, struct stream, store_stream(frame)).of : NULL;
}

uint32_t connections_of(uint32_t frame)
{
    const struct known *k = find(frame);

    return k && !k->given ? k->number : 0;
}

static bool read_address(struct rpcrdma_address *to, const address *from)
{
    if (from->type == AT_IPv4)
        to->family = RPCRDMA_ADDRESS_IPV4;
    else if (from->type == AT_IPv6)
        to->family = RPCRDMA_ADDRESS_IPV6;
    else
        return false;
    memcpy(to->bytes, from->data, (size_t)from->len);
    return true;
}

bool connections_tcp(const packet_info *pinfo)
{
    struct ends ends = {.port = {(uint16_t)pinfo->srcport, (uint16_t)pinfo->destport}};
    const struct known *k;

    if (!tcp || !read_address(&ends.address[0], &pinfo->src) ||
        !read_address(&ends.address[1], &pinfo->dst))
        return false;
    k = wmem_map_lookup(tcp, &ends);
    return k && !k->given;
}

int connections_qpns(uint32_t frame, uint32_t qpns[2])
{
    const struct known *k = find(frame);
    int n = 0;

    for (int i = 0; k && i < 2; i++)
        if (k->end[i].has_qpn)
            qpns[n++] = k->end[i].qpn;
    return n;
}

const char *connections_label(uint32_t number)
{
    const struct known *k =
        known && number > 0 && number <= known->len ? known->pdata[number - 1] : NULL;

    return k ? k->label : "?";
}

static ws_bool has_filter(packet_info *pinfo AND_USER_DATA)
{
    return connections_of(numbers_fed(pinfo)) != 0;
}

/* TCP's own packets, without RDMA in them, are of an iWARP connection, too. */
static char *tcp_filter(const struct known *k, uint32_t frame)
{
    const struct rpcrdma_endpoint *end = k->end;
    const struct tcp_analysis *analysis = NULL;
    conversation_t *conversation;
    address a, b;

    if (!address_set(&a, &end[0].address) || !address_set(&b, &end[1].address))
        return NULL;
    conversation = find_conversation(frame, &a, &b, CONVERSATION_TCP, end[0].port, end[1].port, 0);
    if (conversation)
        analysis = conversation_get_proto_data(conversation, proto_get_id_by_filter_name("tcp"));
    return analysis ? g_strdup_printf("tcp.stream == %u", analysis->stream) : NULL;
}

static char *build_filter(packet_info *pinfo AND_USER_DATA)
{
    const struct known *k = find(numbers_fed(pinfo));
    char *filter = k && k->carrier == RPCRDMA_CARRIER_IWARP ? tcp_filter(k, pinfo->num) : NULL;

    return filter || !k ? filter : g_strdup_printf("rpcrdma.connection == %u", k->number);
}

/* The RPC that a frame's first message, or the bytes that it moves, are part of. */
static bool rpc_of(uint32_t frame, uint32_t *xid)
{
    const struct frame_note *note = store_find(frame);
    const struct message_note *message_note = note ? note->messages : NULL;
    const struct carried *carried = note ? note_more(note)->carried : NULL;

    while (message_note && store_left_alone(message_note))
        message_note = message_note->next;
    while (carried && carried->left_alone)
        carried = carried->next;
    if (connections_of(frame) == 0 || (!message_note && !carried))
        return false;
    *xid = message_note ? message_note->xid : carried->xid;
    return true;
}

static ws_bool has_rpc_filter(packet_info *pinfo AND_USER_DATA)
{
    uint32_t xid;

    return rpc_of(numbers_fed(pinfo), &xid);
}

static char *build_rpc_filter(packet_info *pinfo AND_USER_DATA)
{
    uint32_t xid;

    return rpc_of(numbers_fed(pinfo), &xid)
               ? g_strdup_printf("rpcrdma.connection == %u && (rpcrdma.xid == 0x%08x || "
                                 "rpcrdma.data.xid == 0x%08x)",
                                 connections_of(numbers_fed(pinfo)), xid, xid)
               : NULL;
}

void connections_register(void)
{
    register_conversation_filter("rpcrdma", "RPC-over-RDMA: one RPC", has_rpc_filter,
                                 build_rpc_filter AND_NO_USER_DATA);
    register_conversation_filter("rpcrdma", "RPC-over-RDMA connection", has_filter,
                                 build_filter AND_NO_USER_DATA);
}
