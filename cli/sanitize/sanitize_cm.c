/* SPDX-License-Identifier: BSD-2-Clause */
/* Communication management (IBTA 12.6): identifiers and numbers of queue pairs stay, addresses and
 * GUIDs are replaced; of private data stays RPC-over-RDMA's (RFC 8797), and RDMA CM's addresses
 * (annex A11) are replaced like others. */
#include "sanitize/headers.h"

#include <string.h>

#include "wire/cursor.h"
#include "wire/private_data.h"

enum { MAD = 256, MAD_HEADER = 24, MESSAGE = MAD - MAD_HEADER, CLASS_CM = 7, METHOD_SEND = 3 };
enum { REQ = 0x10, MRA, REJ, REP, RTU, DREQ, DREP };
enum { IP_ADDRESSES = 36 }; /* RDMA CM's header in private data */

struct cm {
    struct sanitize_headers *headers;
    uint8_t *p;
    size_t caplen;
};

static void zero(struct cm *m, size_t off, size_t n)
{
    if (off < m->caplen)
        memset(m->p + off, 0, n < m->caplen - off ? n : m->caplen - off);
}

/* What is not there whole is zeroed. */
static bool whole(struct cm *m, size_t off, size_t n)
{
    if (off + n <= m->caplen)
        return true;
    zero(m, off, n);
    return false;
}

static void guid(struct cm *m, size_t off)
{
    uint64_t value;

    if (!whole(m, off, 8))
        return;
    value = sanitize_hyper(m->headers->addresses.key, rpcrdma_get_be64(m->p + off));
    for (int i = 0; i < 8; i++)
        m->p[off + (size_t)i] = (uint8_t)(value >> (56 - 8 * i));
}

static void gid(struct cm *m, size_t off)
{
    if (whole(m, off, 16))
        sanitize_ipv6(&m->headers->addresses, m->p + off);
}

static void lid(struct cm *m, size_t off)
{
    if (whole(m, off, 2))
        sanitize_lid(&m->headers->addresses, m->p + off);
}

void sanitize_private_data(uint8_t *p, size_t caplen, size_t len)
{
    struct rpcrdma_private_data found;
    uint8_t kept[RPCRDMA_PRIVATE_DATA_SIZE];
    /* where it was found; the bytes of its later versions are not known */
    bool is_known = caplen >= sizeof(kept) &&
                    rpcrdma_private_data_find(p, caplen, len, &found) == RPCRDMA_OK &&
                    found.version == RPCRDMA_PRIVATE_DATA_VERSION;

    if (is_known)
        memcpy(kept, p + found.off, sizeof(kept));
    memset(p, 0, caplen);
    if (is_known)
        memcpy(p + found.off, kept, sizeof(kept));
}

/* Of `before` bytes at off it was taken care. */
static void private_data(struct cm *m, size_t off, size_t before)
{
    size_t begin = off + before;

    if (begin < m->caplen)
        sanitize_private_data(m->p + begin, m->caplen - begin, MESSAGE - begin);
}

/* Version 0, and the IP version in the second byte; a port; two addresses of 16 bytes. */
static size_t ip_addresses(struct cm *m, size_t off)
{
    uint8_t version;

    if (!whole(m, off, IP_ADDRESSES))
        return IP_ADDRESSES;
    version = m->p[off + 1] >> 4;
    m->p[off + 1] &= 0xf0;
    for (size_t i = off + 4; i < off + IP_ADDRESSES; i += 16) {
        if (version == 4) {
            memset(m->p + i, 0, 12);
            sanitize_ipv4(&m->headers->addresses, m->p + i + 12);
        } else if (version == 6) {
            sanitize_ipv6(&m->headers->addresses, m->p + i);
        } else {
            memset(m->p + i, 0, 16);
        }
    }
    return IP_ADDRESSES;
}

static void request(struct cm *m)
{
    static const uint8_t ip_service[5] = {0, 0, 0, 0, 1}; /* of the service ID: A11.4 */
    bool by_ip = m->caplen >= 16 && memcmp(m->p + 8, ip_service, sizeof(ip_service)) == 0;

    guid(m, 16);
    for (size_t path = 52; path <= 96; path += 44) { /* primary, alternate */
        lid(m, path);
        lid(m, path + 2);
        gid(m, path + 4);
        gid(m, path + 20);
    }
    private_data(m, 140, by_ip ? ip_addresses(m, 140) : 0);
}

bool sanitize_cm(struct sanitize_headers *headers, uint8_t *mad, size_t caplen)
{
    struct cm m = {.headers = headers, .p = mad + MAD_HEADER};

    if (caplen < MAD_HEADER || mad[0] != 1 || mad[1] != CLASS_CM || mad[2] != 2 ||
        mad[3] != METHOD_SEND)
        return false;
    m.caplen = caplen - MAD_HEADER < MESSAGE ? caplen - MAD_HEADER : MESSAGE;
    if (caplen > MAD)
        memset(mad + MAD, 0, caplen - MAD);
    switch (rpcrdma_get_be16(mad + 16)) {
    case REQ:
        request(&m);
        return true;
    case MRA:
        zero(&m, 10, MESSAGE);
        return true;
    case REJ:
        zero(&m, 12, MESSAGE);
        return true;
    case REP:
        guid(&m, 28);
        private_data(&m, 36, 0);
        return true;
    case DREQ:
        zero(&m, 12, MESSAGE);
        return true;
    case RTU:
    case DREP:
        zero(&m, 8, MESSAGE);
        return true;
    default:
        return false;
    }
}
