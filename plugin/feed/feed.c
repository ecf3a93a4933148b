/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/feed.h"

#include <epan/column-utils.h>
#include <epan/plugin_if.h>
#include <epan/tvbuff.h>
#include <wiretap/pcap-encap.h>
#include <wiretap/wtap.h>
#include <wsutil/report_message.h>

#include "analyzer/analyzer.h"
#include "connections/connections.h"
#include "connections/decode_as.h"
#include "feed/keep.h"
#include "feed/late.h"
#include "net/packet/erf.h"
#include "rpc/handover.h"
#include "rules/order.h"
#include "source/source.h"
#include "store/once.h"
#include "store/store.h"
#include "store/titles.h"
#include "taps/taps.h"
#include "wire/dialect.h"
#include "wireshark/numbers.h"
#include "wireshark/prefs.h"

static struct {
    struct rpcrdma_analyzer *analyzer;
    struct rpcrdma_flow *flow; /* the analyzer's */
    uint32_t frame;            /* in hand; 0: none */
    uint32_t last;             /* that was fed */
    bool read;                 /* Wireshark read the whole file */
    bool failed;               /* no memory: nothing more comes */
} feed;

enum {
    LINK_ETHERNET = 1,
    LINK_RAW = 101,
    LINK_PPI = 192,
    LINK_INFINIBAND = 247,
    LINKS = 512,
    LINK_NONE = LINKS, /* that net/ reads */
};

/* Wireshark's number of an encapsulation -> 1 more than the file's, of those that net/ reads. */
static uint16_t links[1024];

static int proto_ppi;

static void find_links(void)
{
    proto_ppi = proto_get_id_by_filter_name("ppi");
    for (uint32_t link = 0; link < LINKS; link++) {
        int encap = rpcrdma_net_link_known(link) ? wtap_pcap_encap_to_wtap_encap((int)link) : -1;

        if (encap > WTAP_ENCAP_UNKNOWN && encap < (int)G_N_ELEMENTS(links))
            links[encap] = (uint16_t)(link + 1);
    }
}

/* A PPI header says what it carries, and that is what the record says once it was dissected. */
static bool in_ppi(const packet_info *pinfo)
{
    wmem_list_frame_t *first = wmem_list_head(pinfo->layers);

    first = first ? wmem_list_frame_next(first) : NULL; /* behind "frame" */
    return first && GPOINTER_TO_INT(wmem_list_frame_data(first)) == proto_ppi;
}

/* LINK_NONE: none that net/ reads. An ERF record's header is not in its bytes but beside them. */
static uint32_t link_of(const packet_info *pinfo)
{
    int encap = pinfo->rec->rec_header.packet_header.pkt_encap;

    if (encap == WTAP_ENCAP_ERF) {
        switch (erf_payload(pinfo->pseudo_header->erf.phdr.type & 0x7f)) {
        case ERF_ETHERNET:
            return LINK_ETHERNET;
        case ERF_IP:
            return LINK_RAW;
        case ERF_INFINIBAND:
            return LINK_INFINIBAND;
        default:
            return LINK_NONE;
        }
    }
    if (in_ppi(pinfo))
        return LINK_PPI;
    if (encap <= 0 || encap >= (int)G_N_ELEMENTS(links) || links[encap] == 0)
        return LINK_NONE;
    return links[encap] - 1u;
}

/* Nothing more will come of this file. */
static void fail(void)
{
    if (!feed.failed)
        report_failure("RPC-over-RDMA: there is no memory for what comes after frame %u.",
                       feed.frame);
    feed.failed = true;
}

static bool on_op(void *context, const struct rpcrdma_op *op)
{
    (void)context;
    if (decode_as_other(op))
        return false;
    keep_op(op);
    return true;
}

static void on_op_done(void *context, const struct rpcrdma_op *op)
{
    const struct rpcrdma_connection *connection;
    struct frame_note *note;

    (void)context;
    keep_op(NULL);
    connections_frame((uint32_t)op->frame, rpcrdma_flow_stream(feed.flow, op));
    if (op->kind == RPCRDMA_OP_ACK) /* nothing in it that anybody could claim */
        return;
    connection = rpcrdma_flow_connection(feed.flow, op);
    if (!connection)
        return;
    connections_know(connection);
    if (decode_as_given(connection))
        return;
    note = store_get((uint32_t)op->frame);
    note->ours = true;
    note->kind = op->kind;
    note->dst_qpn = op->dst_qpn;
}

static bool start(void)
{
    const struct rpcrdma_net_config net_config = {
        .size = sizeof(net_config),
        .max_memory = (uint64_t)settings.memory_mib << 20,
        .give_icrc = true, /* as check has it */
    };
    struct rpcrdma_flow_sink flow_sink = {
        .size = sizeof(flow_sink),
        .connection = connections_end,
        .message = keep_message,
        .partial = keep_partial,
        .finding = keep_finding,
        .transaction = keep_transaction,
        .answered = keep_answered,
        .repeated = keep_repeated,
        .data_transfer = keep_moved,
        .credit_point = keep_credits,
    };
    struct rpcrdma_flow_config flow_config = {
        .size = sizeof(flow_config),
        .max_memory = (uint64_t)settings.memory_mib << 20,
        .credits = settings.credits != CREDITS_NONE,
        .delivery = true,
        .unordered = true, /* what is reported late is not shown in the first pass */
    };
    static const uint16_t none = 0;
    uint16_t *ports = NULL;
    struct chosen chosen;
    size_t n = 0;

    decode_as_chosen(&chosen);
    flow_config.all = chosen.all;
    flow_config.qpns = chosen.qpns;
    flow_config.n_qpns = chosen.n_qpns;
    flow_config.tcp_ports = chosen.tcp_ports;
    flow_config.n_tcp_ports = chosen.n_tcp_ports;
    for (unsigned i = 0; settings.ports && i < settings.ports->nranges; i++) {
        for (uint32_t p = settings.ports->ranges[i].low; p <= settings.ports->ranges[i].high; p++) {
            ports = g_renew(uint16_t, ports, n + 1);
            ports[n++] = (uint16_t)p;
        }
    }
    flow_config.ports = ports ? ports : &none; /* NULL would be the port of the standard */
    flow_config.n_ports = n;
    if (settings.dialect < RPCRDMA_DIALECT_COUNT)
        flow_config.dialect = rpcrdma_dialect((enum rpcrdma_dialect_id)settings.dialect);
    if (settings.put_together)
        flow_sink.rpc = keep_rpc;
    feed.analyzer = rpcrdma_analyzer_new(
        &(struct rpcrdma_analyzer_config){.size = sizeof(struct rpcrdma_analyzer_config),
                                          .net = &net_config,
                                          .flow = &flow_config},
        &(struct rpcrdma_analyzer_sink){.size = sizeof(struct rpcrdma_analyzer_sink),
                                        .flow = &flow_sink,
                                        .op = on_op,
                                        .op_done = on_op_done});
    g_free(ports);
    decode_as_free(&chosen);
    if (!feed.analyzer)
        return false;
    feed.flow = rpcrdma_analyzer_flow(feed.analyzer);
    return true;
}

static void stop(void)
{
    rpcrdma_analyzer_free(feed.analyzer);
    feed.analyzer = NULL;
    feed.flow = NULL;
}

void feed_begin(void)
{
    feed_end();
    find_links();
    decode_as_file();
    store_begin();
    keep_file();
    keep_credits_file();
    connections_file();
    handover_file();
    titles_file();
    taps_file();
    once_file();
}

void feed_end(void)
{
    stop();
    keep_frame_done();
    keep_file();
    connections_file_end();
    handover_file();
    titles_file_end();
    taps_file();
    once_file();
    numbers_file();
    feed.frame = 0;
    feed.last = 0;
    feed.read = false;
    feed.failed = false;
    store_end();
}

void feed_finish(void)
{
    if (feed.analyzer && !feed.failed &&
        rpcrdma_analyzer_end(feed.analyzer) == RPCRDMA_ANALYZER_NO_MEMORY)
        fail();
    keep_frame_done();
    stop();
}

/* Whether there are frames that were never dissected: once a display filter is set while Wireshark
 * reads a file, it only counts those that follow, and dissects them after the end. tshark dissects
 * all, and has no answer. */
static bool awaited(void)
{
    ws_info_t *info = NULL;

    plugin_if_get_ws_info(&info);
    return info && info->ws_info_supported && info->cf_count > feed.last;
}

void feed_read(void)
{
    feed.read = awaited();
    if (!feed.read)
        feed_finish();
}

tvbuff_t *feed_raw(const packet_info *pinfo)
{
    return pinfo->data_src ? get_data_source_tvb((struct data_source *)pinfo->data_src->data)
                           : NULL;
}

/* Where it was captured; 0: not known. */
static uint8_t tap_of(const wtap_rec *rec)
{
    uint32_t interface = rec->rec_header.packet_header.interface_id;

    return rec->presence_flags & WTAP_HAS_INTERFACE_ID && interface < UINT8_MAX
               ? (uint8_t)(interface + 1)
               : 0;
}

/* Whether it set up a connection before the file: one of a ring buffer says so in a comment. */
static bool is_replayed(const wtap_rec *rec)
{
    char *comment = NULL;

    return rec->block &&
           wtap_block_get_nth_string_option_value(rec->block, OPT_COMMENT, 0, &comment) ==
               WTAP_OPTTYPE_SUCCESS &&
           strcmp(comment, SOURCE_REPLAYED) == 0;
}

static int64_t time_of(const nstime_t *time)
{
    int64_t ns;

    if (__builtin_mul_overflow((int64_t)time->secs, INT64_C(1000000000), &ns) ||
        __builtin_add_overflow(ns, (int64_t)time->nsecs, &ns))
        ns = time->secs < 0 ? -SOURCE_TIME_MAX : SOURCE_TIME_MAX;
    return source_time(ns);
}

void feed_frame(packet_info *pinfo)
{
    struct rpcrdma_packet packet = {0};
    tvbuff_t *tvb;

    if (pinfo->fd->visited || feed.frame == pinfo->num || feed.failed)
        return;
    if (!numbers_first_visit(pinfo))
        return;
    feed.frame = feed.last = pinfo->num;
    once_frame(pinfo);
    late_clear();
    tvb = feed_raw(pinfo);
    if (!tvb || !pinfo->rec || pinfo->rec->rec_type != REC_TYPE_PACKET)
        return;
    packet.linktype = link_of(pinfo);
    if (packet.linktype == LINK_NONE)
        return;
    if (!feed.analyzer && !start()) {
        fail();
        return;
    }
    packet.frame = numbers_fed(pinfo);
    packet.time_ns = time_of(&pinfo->abs_ts);
    packet.caplen = tvb_captured_length(tvb);
    packet.len = MAX(packet.caplen, tvb_reported_length(tvb));
    packet.data = tvb_get_ptr(tvb, 0, (int)packet.caplen);
    keep_begin(&packet);
    rpcrdma_flow_tap(rpcrdma_analyzer_flow(feed.analyzer), tap_of(pinfo->rec));
    if ((is_replayed(pinfo->rec) ? rpcrdma_analyzer_replay : rpcrdma_analyzer_packet)(
            feed.analyzer, &packet) == RPCRDMA_ANALYZER_NO_MEMORY) {
        keep_op(NULL); /* its end was not reported */
        fail();
    }
}

bool feed_doubts(enum rpcrdma_rule_id rule)
{
    return feed.analyzer && rpcrdma_analyzer_apart(feed.analyzer)->too_far && rule_by_order(rule);
}

void feed_frame_done(void)
{
    bool fed = feed.frame != 0;

    feed.frame = 0;
    keep_frame_done();
    if (fed && feed.read)
        feed_read();
}
