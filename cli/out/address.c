/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "common/hosts.h"

_Static_assert((int)HOST_NAME < (int)ADDRESS_SIZE, "a name takes the place of an address");

static char *decimal(char *p, unsigned v)
{
    if (v >= 100)
        *p++ = (char)('0' + v / 100);
    if (v >= 10)
        *p++ = (char)('0' + v / 10 % 10);
    *p++ = (char)('0' + v % 10);
    return p;
}

size_t address_format(const struct rpcrdma_address *address, char text[ADDRESS_SIZE])
{
    char *p = text;

    switch (address->family) {
    case RPCRDMA_ADDRESS_IPV4:
        for (int i = 0; i < 4; i++) {
            if (i > 0)
                *p++ = '.';
            p = decimal(p, address->bytes[i]);
        }
        return (size_t)(p - text);
    case RPCRDMA_ADDRESS_IPV6:
        return inet_ntop(AF_INET6, address->bytes, text, ADDRESS_SIZE) ? strlen(text) : 0;
    case RPCRDMA_ADDRESS_LID:
        return (size_t)snprintf(text, ADDRESS_SIZE, "LID %u",
                                (unsigned)address->bytes[0] << 8 | address->bytes[1]);
    default:
        text[0] = '?';
        return 1;
    }
}

/* Lines that follow each other are of few hosts. */
enum { TEXTS = 16 };
static struct {
    struct rpcrdma_address address;
    uint8_t n; /* 0: none yet */
    char text[ADDRESS_SIZE];
} texts[TEXTS];

void out_address(struct out *out, const struct rpcrdma_address *address)
{
    /* hosts of one network differ in their last bytes, those of two in the second */
    size_t at = (address->bytes[1] ^ address->bytes[3] ^ address->bytes[15]) % TEXTS;

    if (texts[at].n == 0 || texts[at].address.family != address->family ||
        memcmp(texts[at].address.bytes, address->bytes, sizeof(address->bytes)) != 0) {
        texts[at].address = *address;
        texts[at].n = (uint8_t)address_format(address, texts[at].text);
    }
    out_room(out);
    memcpy(out->buf + out->n, texts[at].text, ADDRESS_SIZE);
    out->n += texts[at].n;
}

size_t address_or_name(const struct rpcrdma_address *address, char text[ADDRESS_SIZE])
{
    const char *name = hosts_name(address);
    size_t n;

    if (!name)
        return address_format(address, text);
    n = strlen(name);
    memcpy(text, name, n);
    return n;
}
