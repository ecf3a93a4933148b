/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wireshark/address.h"

#include <epan/address.h>
#include <epan/to_str.h>

bool address_set(address *to, const struct rpcrdma_address *from)
{
    if (from->family == RPCRDMA_ADDRESS_IPV4)
        set_address(to, AT_IPv4, 4, from->bytes);
    else if (from->family == RPCRDMA_ADDRESS_IPV6)
        set_address(to, AT_IPv6, 16, from->bytes);
    else if (from->family == RPCRDMA_ADDRESS_LID)
        set_address(to, AT_IB, 2, from->bytes);
    else
        return false;
    return true;
}

const char *address_text(wmem_allocator_t *scope, const struct rpcrdma_address *from)
{
    address to;

    if (from->family == RPCRDMA_ADDRESS_LID)
        return wmem_strdup_printf(scope, "LID %u", (unsigned)from->bytes[0] << 8 | from->bytes[1]);
    return address_set(&to, from) ? address_to_str(scope, &to) : NULL;
}
