/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets to messages. Input: Ethernet packets, each after three bytes: captured length (16 bits,
 * big-endian) and how many bytes more there were on the wire.
 */
#include "fuzz.h"
#include "mutate.h"
#include "watch.h"
#include "wire/cursor.h"

const enum mutate_format mutate_format = MUTATE_RECORDS;

/* What of each packet is captured: so many bytes, and so many of its last are not. */
struct cut {
    uint32_t snaplen, lost;
};

static void run(struct fuzz_choices from, const struct watch_config *config, struct cut cut,
                struct watch *watch)
{
    uint64_t frame = 0;

    watch_begin(watch, config);
    while (from.size >= 3) {
        uint32_t caplen = fuzz_u16(&from);
        uint8_t more = fuzz_u8(&from), *copy;
        struct rpcrdma_packet packet = {.linktype = 1, .frame = ++frame};
        size_t got;
        const uint8_t *bytes = fuzz_bytes(&from, caplen, &got);

        packet.len = (uint32_t)got + more;
        packet.caplen = got > cut.snaplen ? cut.snaplen : (uint32_t)got;
        packet.caplen -= packet.caplen > cut.lost ? cut.lost : packet.caplen;
        copy = fuzz_copy(bytes, packet.caplen); /* gone after the call: nothing may keep it */
        packet.data = copy;
        packet.time_ns = (int64_t)frame * 1000;
        watch_packet(watch, &packet);
        free(copy);
    }
    watch_end(watch);
}

enum { ETHERTYPE = 12, IP = 14, UDP = 34, BTH = 42, LEAST = BTH + 12, ICRC = 4 };

/* The next packet of RoCEv2 over IPv4; NULL: there is none. */
static const uint8_t *next_roce(struct fuzz_choices *from)
{
    while (from->size >= 3) {
        uint32_t caplen = fuzz_u16(from);
        size_t got;
        const uint8_t *p;

        fuzz_u8(from);
        p = fuzz_bytes(from, caplen, &got);
        if (got >= LEAST && rpcrdma_get_be16(p + ETHERTYPE) == 0x0800 && p[IP] == 0x45)
            return p;
    }
    return NULL;
}

/* Read Requests to a QP have ever higher PSNs. */
static bool reads_go_up(struct fuzz_choices from)
{
    enum { QPS = 64, READ_REQUEST = 12 };
    struct {
        bool known;
        uint32_t qpn, psn;
    } last[QPS] = {{0}};
    const uint8_t *p;

    while ((p = next_roce(&from))) {
        uint32_t qpn = rpcrdma_get_be32(p + BTH + 4) & 0xffffff;
        uint32_t psn = rpcrdma_get_be32(p + BTH + 8) & 0xffffff;

        if (p[BTH] != READ_REQUEST)
            continue;
        if (last[qpn % QPS].known && last[qpn % QPS].qpn == qpn &&
            rpcrdma_psn_diff(psn, last[qpn % QPS].psn) <= 0)
            return false;
        last[qpn % QPS].known = true;
        last[qpn % QPS].qpn = qpn;
        last[qpn % QPS].psn = psn;
    }
    return true;
}

/* What stands behind the BTH of a first or middle packet of a Send, Write or Response. -1: it is
 * none. */
static int header_bytes(uint8_t opcode)
{
    switch (opcode) {
    case 0: /* Send First, Send Middle, Write Middle, Read Response Middle */
    case 1:
    case 7:
    case 14:
        return 0;
    case 6: /* Write First */
        return 16;
    case 13: /* Read Response First */
        return 4;
    default:
        return -1;
    }
}

/* Packets that are not the last of their message have the length that the REQ says; or one that is
 * no path MTU. 0: no REQ says one. */
static bool as_long_as_said(struct fuzz_choices from, uint32_t path_mtu)
{
    const uint8_t *p;

    while (path_mtu != 0 && (p = next_roce(&from))) {
        int header = header_bytes(p[BTH]), pad = p[BTH + 1] >> 4 & 3;
        int length = rpcrdma_get_be16(p + UDP + 4) - (8 + 12 + header + pad + ICRC);

        if (header >= 0 && length >= 256 && (length & (length - 1)) == 0 &&
            (uint32_t)length != path_mtu)
            return false;
    }
    return true;
}

/*
 * What is well formed is so with less of it captured; unless it is not taken for the same,
 * because what told it from something else is gone. That can be
 * - that it is a message, and of which connection,
 * - where FPDUs begin in a TCP stream whose start was not captured, or which has holes:
 * segments that contradict each other (other bytes at the same place) are read from another one
 * on,
 * - the dialect of version 2: of messages that no dialect explains all, the first one of which
 *   enough was captured chooses, and it is another's turn to be malformed; or one is of another
 *   connection, which has another dialect; or fewer are left, all of which have its direction in
 *   a flag, and else the RPC message has it,
 * - that it continues another message, of which nothing was captured,
 * - where a Send begins: of paths without a connection few are kept, and which of them are
 *   forgotten depends on which packets were captured enough to have one.
 * A Read Response is as long as was asked for, too, where the same ends make a connection, no
 * two Reads ask for the same one (`reads_go_up`), packets are as long as a REQ says that may be cut
 * (`as_long_as_said`), and what is held back until a dialect is chosen is given at the same packet:
 * the bounds, which are small here, let one run forget the Read. `fits`: the first two of these.
 * `start`: of each packet that is captured; else which of two start-up frames at one place is read
 * depends on which of them is cut.
 */
static void compare(const struct watch *whole, const struct watch *part, bool start, bool fits)
{
    if (part->inferred || part->dialects != whole->dialects)
        return;
    MUST(!part->malformed_net || !start);
    MUST(!part->read_long || whole->read_long || !fits || part->pairs != whole->pairs ||
         part->waited != whole->waited);
    for (size_t i = 0; i < WATCH_FRAMES; i++)
        MUST(!part->at[i].malformed || !whole->at[i].message ||
             part->at[i].decoded != whole->at[i].decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct watch whole, part;
    /* some with little memory, so that limits bite */
    const struct watch_config config = {
        .credits = true, .whole = true, .max_memory = size >= 3 && data[2] & 1 ? 300000 : 0};
    const struct fuzz_choices from = {data, size};
    /* a snap length; or what is shorter than most headers, of packets that are known by the others:
     * of a Read Request there is not much more than its header */
    const struct cut cuts[] = {{64 + (uint32_t)(size % 200), 0},
                               {UINT32_MAX, 1 + (uint32_t)(size % 32)}};

    run(from, &config, (struct cut){UINT32_MAX, 0}, &whole);
    if (size < 3 || whole.malformed > 0 || config.max_memory)
        return 0;
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        run(from, &config, cuts[i], &part);
        compare(&whole, &part, i == 0, reads_go_up(from) && as_long_as_said(from, whole.path_mtu));
    }
    return 0;
}
