/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "connections.h"

#include <epan/conversation.h>
#include <epan/conversation_filter.h>
#include <epan/dissectors/packet-tcp.h>

#include "message.h"

struct known {
    uint32_t number;
    enum rpcrdma_carrier carrier;
    uint64_t stream[2];
    char *label;
};

static GPtrArray *known;    /* by number - 1; NULL where it is not known */
static wmem_map_t *streams; /* name -> struct known */

void connections_file(void)
{
    if (known)
        g_ptr_array_free(known, TRUE);
    known = g_ptr_array_new();
    streams = wmem_map_new(wmem_file_scope(), wmem_int64_hash, g_int64_equal);
}

static char *label_of(const struct rpcrdma_connection *connection)
{
    int first = connection->role[1] == RPCRDMA_ROLE_CLIENT ? 1 : 0;
    bool client_known = connection->role[0] != RPCRDMA_ROLE_UNKNOWN;
    const char *from = summary_address(wmem_file_scope(), &connection->end[first].address);
    const char *to = summary_address(wmem_file_scope(), &connection->end[1 - first].address);

    return wmem_strdup_printf(wmem_file_scope(), "#%u %s %s %s", connection->number,
                              from ? from : "?", client_known ? "->" : "<->", to ? to : "?");
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
        k = known->pdata[connection->number - 1] = wmem_new0(wmem_file_scope(), struct known);
        k->number = connection->number;
        k->carrier = connection->carrier;
        k->label = label_of(connection);
    }
    for (int i = 0; i < 2; i++) {
        uint64_t *name;

        if (connection->stream[i] == 0 || connection->stream[i] == k->stream[i])
            continue;
        k->stream[i] = connection->stream[i];
        name = wmem_memdup(wmem_file_scope(), &connection->stream[i], sizeof(*name));
        wmem_map_insert(streams, name, k);
    }
}

void connections_end(void *context, const struct rpcrdma_connection *connection)
{
    (void)context;
    connections_know(connection);
}

static const struct known *find(const struct frame_note *note)
{
    return note && note->stream ? wmem_map_lookup(streams, &note->stream) : NULL;
}

uint32_t connections_of(const struct frame_note *note)
{
    const struct known *k = find(note);

    return k ? k->number : 0;
}

const char *connections_label(uint32_t number)
{
    const struct known *k = number > 0 && number <= known->len ? known->pdata[number - 1] : NULL;

    return k ? k->label : "?";
}

static ws_bool has_filter(packet_info *pinfo AND_USER_DATA)
{
    return find(store_find(pinfo->num)) != NULL;
}

/* TCP's own packets, without RDMA in them, are of an iWARP connection, too. */
static char *tcp_filter(packet_info *pinfo)
{
    conversation_t *conversation = find_conversation_pinfo(pinfo, 0);
    const struct tcp_analysis *tcp =
        conversation ? get_tcp_conversation_data(conversation, pinfo) : NULL;

    return tcp ? g_strdup_printf("tcp.stream == %u", tcp->stream) : NULL;
}

static char *build_filter(packet_info *pinfo AND_USER_DATA)
{
    const struct known *k = find(store_find(pinfo->num));
    char *filter = k && k->carrier == RPCRDMA_CARRIER_IWARP ? tcp_filter(pinfo) : NULL;

    return filter || !k ? filter : g_strdup_printf("rpcrdma.connection == %u", k->number);
}

void connections_register(void)
{
    register_conversation_filter("rpcrdma", "RPC-over-RDMA connection", has_filter,
                                 build_filter AND_NO_USER_DATA);
}
