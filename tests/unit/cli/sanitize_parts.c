/* SPDX-License-Identifier: BSD-2-Clause */
/* What a sanitized capture rests on: addresses that stay apart, checksums, and the ring of packets
 * that wait. */
#include "test.h"

#include <stdlib.h>

#include "base/internet_sum.h"
#include "sanitize/address.h"
#include "sanitize/headers.h"
#include "sanitize/queue.h"
#include "source/source.h"

static struct sanitize_key key;
static struct sanitize_headers headers;

static int setup(void **state)
{
    char error[100];

    (void)state;
    if (!sanitize_key_make(&key, NULL, error, sizeof(error)))
        return -1;
    sanitize_headers_begin(&headers, &key);
    return 0;
}

/* Each local identifier becomes one of its own, unicast or multicast as it was; the two that are no
 * port's stay, and none becomes one of them. */
static void local_identifiers(void **state)
{
    enum { LIDS = 65536, MULTICAST = 0xc000, PERMISSIVE = 0xffff };
    static bool taken[LIDS];

    (void)state;
    memset(taken, 0, sizeof(taken));
    for (unsigned lid = 0; lid < LIDS; lid++) {
        uint8_t p[2] = {(uint8_t)(lid >> 8), (uint8_t)lid};
        unsigned to;

        sanitize_lid(&headers.addresses, p);
        to = (unsigned)p[0] << 8 | p[1];
        assert_false(taken[to]);
        taken[to] = true;
        assert_int_equal(to >= MULTICAST, lid >= MULTICAST);
        assert_int_equal(to == 0, lid == 0);
        assert_int_equal(to == PERMISSIVE, lid == PERMISSIVE);
    }
}

static unsigned common_bits(const uint8_t *a, const uint8_t *b, unsigned most)
{
    unsigned n = 0;

    while (n < most && ((a[n / 8] ^ b[n / 8]) & 0x80 >> n % 8) == 0)
        n++;
    return n;
}

/* Two addresses have as many first bits in common as they had; a mapped one is the same as its IPv4
 * address. */
static void prefixes(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 32; n++) {
        uint8_t one[4] = {192, 0, 2, 77}, other[4] = {192, 0, 2, 77};
        uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = 77};

        other[n / 8] ^= (uint8_t)(0x80 >> n % 8);
        sanitize_ipv4(&headers.addresses, one);
        sanitize_ipv4(&headers.addresses, other);
        sanitize_ipv6(&headers.addresses, mapped);
        assert_int_equal(common_bits(one, other, 32), n);
        assert_memory_equal(mapped + 12, one, 4);
        assert_int_equal(one[0] >> 4, 192 >> 4);
    }
    for (unsigned n = 0; n < 128; n++) {
        uint8_t one[16] = {0x20, 1, 0xd, 0xb8, [15] = 9}, other[16];

        memcpy(other, one, sizeof(one));
        other[n / 8] ^= (uint8_t)(0x80 >> n % 8);
        sanitize_ipv6(&headers.addresses, one);
        sanitize_ipv6(&headers.addresses, other);
        assert_int_equal(common_bits(one, other, 128), n);
    }
}

/* A RoCEv2 packet whose UDP has a checksum: it is right, and never 0, which would say that there is
 * none (RFC 768), whatever else the packet has. */
static bool udp_checksum(uint32_t port, uint8_t id)
{
    enum { NETWORK = 14, UDP = NETWORK + 20, BTH = UDP + 8, END = BTH + 12 + 4 };
    struct rpcrdma_packet packet = {.linktype = 1, .caplen = END, .len = END};
    uint8_t data[END] = {[12] = 8,
                         [NETWORK] = 0x45,
                         [NETWORK + 3] = END - NETWORK,
                         [NETWORK + 5] = id,
                         [NETWORK + 9] = 17,
                         [NETWORK + 12] = 192,
                         [NETWORK + 16] = 192,
                         [UDP] = (uint8_t)(port >> 8),
                         [UDP + 1] = (uint8_t)port,
                         [UDP + 2] = 4791 >> 8,
                         [UDP + 3] = 4791 & 0xff,
                         [UDP + 5] = END - UDP,
                         [UDP + 7] = 1};
    const uint8_t pseudo[4] = {0, 17, 0, END - UDP};
    struct sanitize_layout layout;
    uint64_t sum;

    packet.data = data;
    layout = sanitize_layout(&packet);
    assert_int_equal(layout.drop, DROP_NOT);
    sanitize_headers(&headers, &layout, data, END, SANITIZE_ICRC_RIGHT);
    sum = rpcrdma_internet_sum(0, pseudo, sizeof(pseudo));
    sum = rpcrdma_internet_sum(sum, data + NETWORK + 12, 8);
    sum = rpcrdma_internet_sum(sum, data + UDP, END - UDP);
    assert_int_equal(rpcrdma_internet_folded(sum), 0xffff);
    assert_true(data[UDP + 6] != 0 || data[UDP + 7] != 0);
    assert_true(sanitize_icrc_good(&headers, &layout, data, END));
    return data[UDP + 6] == 0xff && data[UDP + 7] == 0xff;
}

/* About one of 65,536 has the sum 0, as its ICRC depends on a key of chance. */
static void udp_checksums(void **state)
{
    enum { IDS = 64 };
    uint64_t ones = 0;

    (void)state;
    for (unsigned id = 0; id < IDS && ones == 0; id++)
        for (uint32_t port = 0; port < 65536; port++)
            ones += udp_checksum(port, (uint8_t)id);
    assert_true(ones > 0);
}

static uint8_t content(uint64_t frame, uint32_t i)
{
    return (uint8_t)(frame * 31 + i);
}

static bool never_ready(void *context, struct sanitize_packet *packet)
{
    (void)context;
    (void)packet;
    return false;
}

static void on_emit(void *context, struct sanitize_packet *packet)
{
    uint64_t *emitted = context;

    assert_int_equal(packet->packet.frame, ++*emitted);
}

/* Whatever the sizes of packets are: those that are still in the ring have their bytes, and as many
 * are as there is room for. */
static void ring_of_packets(void **state)
{
    enum { PACKETS = 4000, LARGEST = 9000 };
    uint64_t emitted = 0;
    struct sanitize_queue queue = {.ready = never_ready, .emit = on_emit, .context = &emitted};
    uint8_t *bytes = malloc(LARGEST);
    uint32_t seed = 7;

    (void)state;
    assert_non_null(bytes);
    assert_true(sanitize_queue_begin(&queue, 0));
    for (uint64_t frame = 1; frame <= PACKETS; frame++) {
        struct rpcrdma_packet packet = {.data = bytes};
        uint64_t all = 0;

        seed = seed * 1664525 + 1013904223;
        packet.caplen = packet.len = (seed >> 8) % (frame % 3 ? 100 : LARGEST);
        for (uint32_t i = 0; i < packet.caplen; i++)
            bytes[i] = content(frame, i);
        assert_int_equal(sanitize_queue_add(&queue, &packet)->packet.frame, frame);
        for (uint64_t before = frame; frame % 50 == 0 && before > 0; before--) {
            const struct sanitize_packet *one = sanitize_queue_at(&queue, before);

            if (!one) {
                assert_true(all + 2 * LARGEST > queue.n_bytes || frame - before >= queue.n_packets);
                break;
            }
            all += one->packet.caplen;
            for (uint32_t i = 0; i < one->packet.caplen; i++)
                if (one->packet.data[i] != content(before, i))
                    fail_msg("packet %u of %u", (unsigned)before, (unsigned)frame);
        }
    }
    assert_true(emitted > 0);
    sanitize_queue_go_on(&queue, true);
    assert_int_equal(emitted, PACKETS);
    sanitize_queue_free(&queue);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(local_identifiers, setup),
        cmocka_unit_test_setup(prefixes, setup),
        cmocka_unit_test_setup(udp_checksums, setup),
        cmocka_unit_test_setup(ring_of_packets, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
