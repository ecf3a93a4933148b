/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/field.h"

#include <assert.h>

typedef const struct rpcrdma_value_name value_names[];

/* RFC 5531 section 9 for what is of RPC, RFC 2203 section 5.3.1 for what is of GSS. */
static value_names direction_names = {{0, "call"}, {1, "reply"}, {0, NULL}};
static value_names chunk_names = {{0, "call"}, {1, "read"}, {2, "write"}, {3, "reply"}, {0, NULL}};
static value_names rpc_direction_names = {{0, "forward"}, {1, "reverse"}, {0, NULL}};
static value_names role_names = {{0, "unknown"}, {1, "client"}, {2, "server"}, {0, NULL}};
static value_names delivery_names = {
    {0, "unknown"}, {1, "delivered"}, {2, "not_delivered"}, {0, NULL}};
static value_names stall_names = {
    {0, "none"},           {1, "lost_to_server"},
    {2, "lost_to_client"}, {3, "receiver_not_ready"},
    {4, "credits"},        {5, "unknown"},
    {6, "server_late"},    {7, "client_late"},
    {8, "set_up"},         {0, NULL},
};
static value_names flavor_names = {
    {0, "AUTH_NONE"},  {1, "AUTH_SYS"}, {2, "AUTH_SHORT"}, {3, "AUTH_DH"},
    {6, "RPCSEC_GSS"}, {7, "AUTH_TLS"}, {0, NULL},
};
static value_names reply_stat_names = {{0, "MSG_ACCEPTED"}, {1, "MSG_DENIED"}, {0, NULL}};
static value_names accept_stat_names = {
    {0, "SUCCESS"},      {1, "PROG_UNAVAIL"}, {2, "PROG_MISMATCH"},
    {3, "PROC_UNAVAIL"}, {4, "GARBAGE_ARGS"}, {5, "SYSTEM_ERR"},
    {0, NULL},
};
static value_names reject_stat_names = {{0, "RPC_MISMATCH"}, {1, "AUTH_ERROR"}, {0, NULL}};
static value_names auth_stat_names = {
    {0, "AUTH_OK"},
    {1, "AUTH_BADCRED"},
    {2, "AUTH_REJECTEDCRED"},
    {3, "AUTH_BADVERF"},
    {4, "AUTH_REJECTEDVERF"},
    {5, "AUTH_TOOWEAK"},
    {6, "AUTH_INVALIDRESP"},
    {7, "AUTH_FAILED"},
    {8, "AUTH_KERB_GENERIC"},
    {9, "AUTH_TIMEEXPIRE"},
    {10, "AUTH_TKT_FILE"},
    {11, "AUTH_DECODE"},
    {12, "AUTH_NET_ADDR"},
    {13, "RPCSEC_GSS_CREDPROBLEM"},
    {14, "RPCSEC_GSS_CTXPROBLEM"},
    {0, NULL},
};
static value_names gss_procedure_names = {
    {0, "RPCSEC_GSS_DATA"},
    {1, "RPCSEC_GSS_INIT"},
    {2, "RPCSEC_GSS_CONTINUE_INIT"},
    {3, "RPCSEC_GSS_DESTROY"},
    {0, NULL},
};
static value_names gss_service_names = {
    {1, "rpc_gss_svc_none"},
    {2, "rpc_gss_svc_integrity"},
    {3, "rpc_gss_svc_privacy"},
    {0, NULL},
};

static const struct rpcrdma_record records[] = {
#define RECORD(id, path, key, shape, name, section, help)                                          \
    [RPCRDMA_RECORD_##id] = {RPCRDMA_RECORD_##id,                                                  \
                             key,                                                                  \
                             "rpcrdma." path key,                                                  \
                             RPCRDMA_SHAPE_##shape,                                                \
                             name,                                                                 \
                             section,                                                              \
                             help},
#define FIELD(record, id, path, key, offset, width, base, names, name, section, help)
#include "wire/field.def"
#undef RECORD
#undef FIELD
};

static const struct rpcrdma_field fields[] = {
#define RECORD(id, path, key, shape, name, section, help)
#define FIELD(record, id, path, key, offset, width, base, names, name, section, help)              \
    [RPCRDMA_FIELD_##id] = {RPCRDMA_FIELD_##id,                                                    \
                            RPCRDMA_RECORD_##record,                                               \
                            key,                                                                   \
                            "rpcrdma." path key,                                                   \
                            offset,                                                                \
                            width,                                                                 \
                            RPCRDMA_BASE_##base,                                                   \
                            names,                                                                 \
                            name,                                                                  \
                            section,                                                               \
                            help},
#include "wire/field.def"
#undef RECORD
#undef FIELD
};

const struct rpcrdma_record *rpcrdma_record(enum rpcrdma_record_id id)
{
    assert((size_t)id < RPCRDMA_RECORD_COUNT);
    return &records[id];
}

const struct rpcrdma_field *rpcrdma_field(enum rpcrdma_field_id id)
{
    assert((size_t)id < RPCRDMA_FIELD_COUNT);
    return &fields[id];
}

const char *rpcrdma_value_name(const struct rpcrdma_value_name *names, uint64_t value)
{
    for (; names && names->name; names++)
        if (names->value == value)
            return names->name;
    return NULL;
}
