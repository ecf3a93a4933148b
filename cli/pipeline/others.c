/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline/others.h"

#include <glib.h>
#include <inttypes.h>

#include "common/plural.h"
#include "each.h"

enum { SHOWN = 8 };

static const char *const kinds[] = {
    [RPCRDMA_OTHER_LINK] = "link-type",      [RPCRDMA_OTHER_ERF] = "erf-type",
    [RPCRDMA_OTHER_ETHERTYPE] = "ethertype", [RPCRDMA_OTHER_IP_PROTOCOL] = "ip-protocol",
    [RPCRDMA_OTHER_UDP_PORT] = "udp-port",   [RPCRDMA_OTHER_TCP_PORT] = "tcp-port",
    [RPCRDMA_OTHER_ENCRYPTED] = "encrypted", [RPCRDMA_OTHER_HEADER] = "header",
};
RPCRDMA_EACH(kinds, RPCRDMA_OTHER_COUNT);

/* The Ethertypes and IP protocols that are met where nothing is wrong. */
static const struct {
    enum rpcrdma_other_kind kind;
    uint32_t value;
    const char *name;
} names[] = {
    {RPCRDMA_OTHER_ETHERTYPE, 0, "802.3 with LLC"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x0806, "ARP"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x8100, "VLAN"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x8808, "MAC control (PFC, pause)"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x8809, "slow protocols (LACP)"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x888e, "802.1X"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x88cc, "LLDP"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x88f7, "PTP"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x8906, "FCoE"},
    {RPCRDMA_OTHER_ETHERTYPE, 0x8914, "FIP"},
    {RPCRDMA_OTHER_IP_PROTOCOL, 1, "ICMP"},
    {RPCRDMA_OTHER_IP_PROTOCOL, 2, "IGMP"},
    {RPCRDMA_OTHER_IP_PROTOCOL, 50, "ESP: encrypted"},
    {RPCRDMA_OTHER_IP_PROTOCOL, 58, "ICMPv6"},
    {RPCRDMA_OTHER_IP_PROTOCOL, 89, "OSPF"},
    {RPCRDMA_OTHER_IP_PROTOCOL, 112, "VRRP"},
    {RPCRDMA_OTHER_IP_PROTOCOL, 132, "SCTP"},
};

static const char *name_of(const struct rpcrdma_net_other *other)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (names[i].kind == other->kind && names[i].value == other->value)
            return names[i].name;
    return NULL;
}

static void describe(GString *line, const struct rpcrdma_net_other *other)
{
    const char *name = name_of(other);

    switch (other->kind) {
    case RPCRDMA_OTHER_LINK:
        g_string_append_printf(line, "link type %" PRIu32 " (not known)", other->value);
        break;
    case RPCRDMA_OTHER_ERF:
        g_string_append_printf(line, "ERF type %" PRIu32, other->value);
        break;
    case RPCRDMA_OTHER_ETHERTYPE:
        g_string_append_printf(line, "EtherType 0x%04" PRIx32 " (%s)", other->value,
                               name ? name : "not known");
        break;
    case RPCRDMA_OTHER_IP_PROTOCOL:
        g_string_append_printf(line, "IP protocol %" PRIu32 " (%s)", other->value,
                               name ? name : "not known");
        break;
    case RPCRDMA_OTHER_UDP_PORT:
        g_string_append_printf(line, "UDP port %" PRIu32, other->value);
        break;
    case RPCRDMA_OTHER_TCP_PORT:
        g_string_append_printf(line, "TCP port %" PRIu32, other->value);
        break;
    case RPCRDMA_OTHER_ENCRYPTED:
        g_string_append_printf(line, "EtherType 0x%04" PRIx32 ", encrypted", other->value);
        break;
    case RPCRDMA_OTHER_HEADER:
        g_string_append(line, "headers that contradict each other");
        break;
    case RPCRDMA_OTHER_COUNT:
        break; /* no kind */
    }
}

/* With fewer bytes a packet may have no room for a message's header, in a tunnel at least. */
enum { SNAPLEN_ENOUGH = 256 };

static uint32_t snaplen_of(const struct source *source)
{
    struct source_interface interface = {0};
    uint32_t least = SNAPLEN_ENOUGH;

    for (uint32_t i = 0; source_interface(source, i, &interface); i++)
        if (interface.snaplen > 0 && interface.snaplen < least)
            least = interface.snaplen;
    return least < SNAPLEN_ENOUGH ? least : 0;
}

void others_look(struct others *others, const struct source_packet *packets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct rpcrdma_packet *one = &packets[i].packet;
        uint32_t caplen = (uint32_t)MIN(one->caplen, UINT32_MAX);

        others->longest = MAX(others->longest, caplen);
        if (one->caplen < one->len)
            others->longest_cut = MAX(others->longest_cut, caplen);
    }
}

uint32_t others_cut_to(const struct others *others)
{
    const uint32_t cut = others->longest_cut;

    if (others->snaplen > 0)
        return others->snaplen;
    return cut >= others->longest && cut < SNAPLEN_ENOUGH ? cut : 0;
}

void others_collect(struct others *others, const struct rpcrdma_net *net,
                    const struct source *source)
{
    others->snaplen = snaplen_of(source);
    others->stats = *rpcrdma_net_stats(net);
    others->n = rpcrdma_net_others(net, others->entry, OTHERS);
    others->n_claimed = rpcrdma_net_claimed(net, others->claimed, OTHERS);
    others->n_unresolved = rpcrdma_net_unresolved(net, others->unresolved, OTHERS);
    others->n_unreachable = rpcrdma_net_unreachables(net, others->unreachable, OTHERS);
}

char *others_text(const struct others *others)
{
    const struct rpcrdma_net_stats *stats = &others->stats;
    uint64_t rest = stats->other + stats->unknown_link;
    GString *line = g_string_new(NULL);

    for (size_t i = 0; i < others->n && i < SHOWN; i++) {
        g_string_append_printf(line, "%s%" PRIu64 " of ", i ? ", " : "", others->entry[i].packets);
        describe(line, &others->entry[i]);
        rest -= others->entry[i].packets;
    }
    if (stats->fragments > 0)
        g_string_append_printf(line, "%s%" PRIu64 " IP fragment%s", line->len > 0 ? ", " : "",
                               stats->fragments, plural(stats->fragments));
    if (stats->truncated > 0)
        g_string_append_printf(line, "%s%" PRIu64 " truncated too early to be known",
                               line->len > 0 ? ", " : "", stats->truncated);
    if (rest > 0)
        g_string_append_printf(line, ", %" PRIu64 " other%s", rest, plural(rest));
    return g_string_free(line, FALSE);
}

void others_json(struct json *json, const struct others *others)
{
    json_key(json, KEY(not_rdma));
    json_open(json, '[');
    for (size_t i = 0; i < others->n; i++) {
        const struct rpcrdma_net_other *one = &others->entry[i];

        json_open(json, '{');
        json_key(json, KEY(kind)), json_plain(json, kinds[one->kind]);
        json_key(json, KEY(value)), json_u64(json, one->value);
        json_key(json, KEY(packets)), json_u64(json, one->packets);
        json_close(json, '}');
    }
    json_close(json, ']');
}
