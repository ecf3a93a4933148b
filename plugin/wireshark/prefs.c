/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wireshark/prefs.h"

#include "wire/dialect.h"
#include "wireshark/protocol.h"

struct settings settings = {
    .dialect = RPCRDMA_DIALECT_COUNT,
    .put_together = TRUE,
    .old_names = TRUE,
    .memory_mib = 256,
};

static void register_dialects(module_t *module)
{
    static enum_val_t values[RPCRDMA_DIALECT_COUNT + 1];
    size_t n = 0;

    values[n++] = (enum_val_t){"auto", "Find out", RPCRDMA_DIALECT_COUNT};
    for (int id = RPCRDMA_CEL_00; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *dialect = rpcrdma_dialect((enum rpcrdma_dialect_id)id);

        values[n++] = (enum_val_t){dialect->name, dialect->name, id};
    }
    prefs_register_enum_preference(
        module, "dialect", "Version 2 dialect",
        "Version 2 was published in ten wire formats, which can often be distinguished.",
        &settings.dialect, values, FALSE);
}

static void register_credits(module_t *module)
{
    static const enum_val_t values[] = {
        {"auto", "Find out", CREDITS_FIND_OUT},
        {"sent", "Messages sent + credits", CREDITS_AS_SENT},
        {"received", "Messages received + credits", CREDITS_AS_RECEIVED},
        {"none", "Leave credits alone", CREDITS_NONE},
        {NULL, NULL, -1},
    };

    prefs_register_enum_preference(
        module, "credits", "Credit reading",
        "Credits are accounted for in each connection. From ietf-02 on version 2 counts messages, "
        "and its text can be read in two ways: what the sender adds the credits it advertises to "
        "is the number of messages it has sent, or of those it has received.",
        &settings.credits, values, FALSE);
}

void settings_register(void)
{
    module_t *module = prefs_register_protocol(proto_rpcrdma, NULL);

    range_convert_str(wmem_epan_scope(), &settings.ports, "20049", 65535);
    prefs_register_range_preference(
        module, "ports", "Service ports",
        "Connections to these ports are RPC-over-RDMA. Others are taken for it where RFC 8797 "
        "private "
        "data in their set-up says so, or their messages leave no doubt.",
        &settings.ports, 65535);
    register_dialects(module);
    register_credits(module);
    prefs_register_bool_preference(
        module, "put_together", "Put RPC messages back together",
        "Chunks and continued messages become whole RPC messages, which are "
        "given to the dissector for RPC.",
        &settings.put_together);
    prefs_register_uint_preference(
        module, "memory", "Memory limit (MiB)",
        "For whole RPC messages that are kept, and again for what waits to be "
        "put together. Beyond it messages are shown as far as they fit.",
        10, &settings.memory_mib);
    prefs_register_bool_preference(
        module, "old_names", "Fields of Wireshark's dissector (rpcordma)",
        "Filters and columns that name the fields of RPCoRDMA, the dissector that Wireshark brings "
        "along, find version 1's messages here, too.",
        &settings.old_names);
    prefs_register_bool_preference(
        module, "leave_version1", "Leave version 1 to Wireshark's dissector",
        "Version 1 is then dissected by the protocol RPCoRDMA that Wireshark "
        "brings along; version 2 still here.",
        &settings.leave_version1);
}
