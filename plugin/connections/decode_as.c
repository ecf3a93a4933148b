/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "connections/decode_as.h"

#include <epan/decode_as.h>

#include "connections/connections.h"
#include "wireshark/numbers.h"
#include "wireshark/protocol.h"

/*
 * Decode As: who says that a QP, a TCP port or every InfiniBand payload is RPC-over-RDMA is right,
 * whatever its set-up or its bytes say. What was chosen is in Wireshark's tables; it changes only
 * between two readings of a file.
 *
 *   tshark -d rpcrdma.qpn==17,rpcrdma -d tcp.port==20050,rpcrdma -d infiniband,rpcrdma
 *
 * Who gives one of them to another dissector gets that, and no word of ours.
 */

static const char qpn_table[] = "rpcrdma.qpn";
static const char tcp_table[] = "tcp.port";
static const char payload_table[] = "infiniband";

static dissector_handle_t tcp_handle;

/* MPA keeps the stream's state; what it carries comes back to our heuristic. */
static int dissect_tcp(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    heur_dtbl_entry_t *mpa = find_heur_dissector_by_unique_short_name("iwarp_mpa_tcp");

    if (!mpa)
        return 0;
    call_heur_dissector_direct(mpa, tvb, pinfo, tree, data);
    return (int)tvb_captured_length(tvb);
}

static void qpn_label(packet_info *pinfo, char *result)
{
    snprintf(result, MAX_DECODE_AS_PROMPT_LEN, "Destination QP %u as", pinfo->destport);
}

static void *qpn_value(packet_info *pinfo)
{
    return GUINT_TO_POINTER(pinfo->destport);
}

void decode_as_register(void)
{
    static build_valid_func values[] = {qpn_value};
    static decode_as_value_t value = {qpn_label, 1, values};
    static decode_as_t qpn = {
        .name = "infiniband",
        .table_name = qpn_table,
        .num_items = 1,
        .values = &value,
        .populate_list = decode_as_default_populate_list,
        .reset_value = decode_as_default_reset,
        .change_value = decode_as_default_change,
    };

    register_dissector_table(qpn_table, "RPC-over-RDMA QP", proto_rpcrdma, FT_UINT24, BASE_DEC);
    register_decode_as(&qpn);
    tcp_handle = create_dissector_handle(dissect_tcp, proto_rpcrdma);
}

void decode_as_handoff(void)
{
    dissector_add_for_decode_as(qpn_table, rpcrdma_handle);
    dissector_add_for_decode_as(tcp_table, tcp_handle);
    dissector_add_for_decode_as(payload_table, rpcrdma_handle);
}

/* What was given to another dissector is not ours. */
static struct {
    GArray *qpns, *tcp_ports; /* uint32_t */
    bool payload, udp;        /* all of InfiniBand; all of RoCE version 2 */
} others;

enum { ROCE_PORT = 4791 };

static bool is_ours(dissector_handle_t handle)
{
    return handle == rpcrdma_handle || handle == tcp_handle;
}

static void collect_changed(const char *table, ftenum_t type, void *key, void *entry, void *numbers)
{
    dissector_handle_t handle = dtbl_entry_get_handle(entry);
    uint32_t number = GPOINTER_TO_UINT(key);

    (void)type;
    /* a TCP port is also given to nobody where a preference takes it from its protocol */
    if (handle != dtbl_entry_get_initial_handle(entry) && !is_ours(handle) &&
        (handle || strcmp(table, tcp_table) != 0))
        g_array_append_val((GArray *)numbers, number);
}

void decode_as_file(void)
{
    dissector_table_t payload = find_dissector_table(payload_table);
    dissector_handle_t handle = payload ? dissector_get_payload_handle(payload) : NULL;

    if (!others.qpns) {
        others.qpns = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        others.tcp_ports = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    }
    g_array_set_size(others.qpns, 0);
    g_array_set_size(others.tcp_ports, 0);
    dissector_table_foreach(qpn_table, collect_changed, others.qpns);
    dissector_table_foreach(tcp_table, collect_changed, others.tcp_ports);
    others.payload = handle && !is_ours(handle);
    others.udp = dissector_is_uint_changed(find_dissector_table("udp.port"), ROCE_PORT);
}

static bool has(const GArray *numbers, uint32_t number)
{
    for (unsigned i = 0; i < numbers->len; i++)
        if (g_array_index(numbers, uint32_t, i) == number)
            return true;
    return false;
}

bool decode_as_other(const struct rpcrdma_op *op)
{
    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return has(others.tcp_ports, op->src_port) || has(others.tcp_ports, op->dst_port);
    return (!op->connect && others.payload) ||
           (others.udp && op->carrier == RPCRDMA_CARRIER_ROCEV2);
}

bool decode_as_all_given(void)
{
    return others.payload;
}

bool decode_as_given(const struct rpcrdma_connection *connection)
{
    if (others.qpns->len == 0 || !connection || connection->carrier == RPCRDMA_CARRIER_IWARP)
        return false;
    for (int i = 0; i < 2; i++)
        if (connection->end[i].has_qpn && has(others.qpns, connection->end[i].qpn))
            return true;
    return false;
}

bool decode_as_qpn(const packet_info *pinfo, dissector_handle_t *handle)
{
    uint32_t qpns[3] = {pinfo->destport};
    int n = 1;

    if (pinfo->ptype != PT_IBQP || others.qpns->len == 0)
        return false;
    n += connections_qpns(numbers_fed(pinfo), qpns + 1);
    for (int i = 0; i < n; i++) {
        if (!has(others.qpns, qpns[i]))
            continue;
        *handle = dissector_get_uint_handle(find_dissector_table(qpn_table), qpns[i]);
        return true;
    }
    return false;
}

struct collected {
    dissector_handle_t handle;
    GArray *numbers; /* uint32_t */
};

static void collect(const char *table, ftenum_t type, void *key, void *entry, void *context)
{
    struct collected *to = context;
    uint32_t number = GPOINTER_TO_UINT(key);

    (void)table;
    (void)type;
    if (dtbl_entry_get_handle(entry) == to->handle)
        g_array_append_val(to->numbers, number);
}

void decode_as_chosen(struct chosen *chosen)
{
    struct collected qpns = {rpcrdma_handle, g_array_new(FALSE, FALSE, sizeof(uint32_t))};
    struct collected ports = {tcp_handle, g_array_new(FALSE, FALSE, sizeof(uint32_t))};
    dissector_table_t payload = find_dissector_table(payload_table);

    dissector_table_foreach(qpn_table, collect, &qpns);
    dissector_table_foreach(tcp_table, collect, &ports);
    chosen->all = payload && dissector_get_payload_handle(payload) == rpcrdma_handle;
    chosen->n_qpns = qpns.numbers->len;
    chosen->qpns = (uint32_t *)(void *)g_array_free(qpns.numbers, FALSE);
    chosen->n_tcp_ports = ports.numbers->len;
    chosen->tcp_ports = g_new(uint16_t, MAX(chosen->n_tcp_ports, 1));
    for (size_t i = 0; i < chosen->n_tcp_ports; i++)
        chosen->tcp_ports[i] = (uint16_t)g_array_index(ports.numbers, uint32_t, i);
    g_array_free(ports.numbers, TRUE);
}

void decode_as_free(struct chosen *chosen)
{
    g_free(chosen->qpns);
    g_free(chosen->tcp_ports);
}
