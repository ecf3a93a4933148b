/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/fields.h"

#include <string.h>

#include "finding.h"
#include "wire/dialect.h"

/* Fields, subtrees and expert items from the codec's tables: there is no second list. */

static int hf_field[RPCRDMA_FIELD_COUNT];
static int hf_record[RPCRDMA_RECORD_COUNT];
static int hf_beside[BESIDES];
static int ett_record[RPCRDMA_RECORD_COUNT];
static expert_field ei_rule[RPCRDMA_RULE_COUNT];
static expert_field ei_repeat[4] = {EI_INIT, EI_INIT, EI_INIT,
                                    EI_INIT}; /* by enum rpcrdma_repeat */

int field_hf(enum rpcrdma_field_id id)
{
    return hf_field[id];
}

int beside_hf(enum beside which)
{
    return hf_beside[which];
}

int record_hf(enum rpcrdma_record_id id)
{
    return hf_record[id];
}

int record_ett(enum rpcrdma_record_id id)
{
    return ett_record[id];
}

/* What the plugin shows of the table: messages and what they carry, set-up, transactions. The other
 * records are sums over a capture. */
static bool shown(enum rpcrdma_record_id id)
{
    return id <= RPCRDMA_RECORD_FINDING || id == RPCRDMA_RECORD_PRIVATE_DATA ||
           id == RPCRDMA_RECORD_RPCS_PHASES || id == RPCRDMA_RECORD_RPCS_CALL_DELIVERY ||
           id == RPCRDMA_RECORD_RPCS_REPLY_DELIVERY || id == RPCRDMA_RECORD_CREDIT;
}

/* Of a transaction: the rest of it is what "rpc" and "nfs" show. */
static bool of_transaction(enum rpcrdma_field_id id)
{
    switch (id) {
    case RPCRDMA_FIELD_RPCS_XID:
    case RPCRDMA_FIELD_RPCS_PROGRAM:
    case RPCRDMA_FIELD_RPCS_VERSION:
    case RPCRDMA_FIELD_RPCS_CALL_FRAME:
    case RPCRDMA_FIELD_RPCS_REPLY_FRAME:
    case RPCRDMA_FIELD_RPCS_LATENCY:
    case RPCRDMA_FIELD_RPCS_RESPONSE:
    case RPCRDMA_FIELD_RPCS_RDMA:
    case RPCRDMA_FIELD_RPCS_STALLED:
    case RPCRDMA_FIELD_RPCS_STALLED_BY:
    case RPCRDMA_FIELD_RPCS_STALLED_FROM:
    case RPCRDMA_FIELD_RPCS_STALLED_TO:
    case RPCRDMA_FIELD_RPCS_CALL_LENGTH:
    case RPCRDMA_FIELD_RPCS_REPLY_LENGTH:
    case RPCRDMA_FIELD_RPCS_READ_CHUNK_LENGTH:
    case RPCRDMA_FIELD_RPCS_WRITE_CHUNK_LENGTH:
    case RPCRDMA_FIELD_RPCS_REPLY_CHUNK_LENGTH:
    case RPCRDMA_FIELD_RPCS_COMPLETE:
    case RPCRDMA_FIELD_RPCS_RETRANSMITTED:
        return true;
    default:
        return false;
    }
}

/* Of the RPC header "rpc" shows the rest; a finding's frame is where it stands. */
static bool left_out(const struct rpcrdma_field *field)
{
    switch (field->id) {
    case RPCRDMA_FIELD_RPC_DIRECTION:
    case RPCRDMA_FIELD_RPC_PROGRAM:
    case RPCRDMA_FIELD_RPC_VERSION:
    case RPCRDMA_FIELD_RPC_PROCEDURE:
    case RPCRDMA_FIELD_RPC_NAME:
        return false;
    case RPCRDMA_FIELD_FINDING_FRAME:
    case RPCRDMA_FIELD_RPCS_CALL_DELIVERY_FIRST_FRAME:
    case RPCRDMA_FIELD_RPCS_CALL_DELIVERY_LAST_FRAME:
    case RPCRDMA_FIELD_RPCS_REPLY_DELIVERY_FIRST_FRAME:
    case RPCRDMA_FIELD_RPCS_REPLY_DELIVERY_LAST_FRAME:
        return true;
    default:
        return field->record == RPCRDMA_RECORD_RPC;
    }
}

static bool is_clock(const struct rpcrdma_field *field)
{
    return strcmp(field->key, "time_ns") == 0 || g_str_has_suffix(field->key, "_time_ns");
}

/* Those of a sum that its parts have, too. */
static bool field_shown(const struct rpcrdma_field *field)
{
    if (left_out(field) || is_clock(field))
        return false;
    return shown(field->record) || of_transaction(field->id);
}

/* "frame", "call_frame": a number that can be gone to. */
static bool is_frame(const struct rpcrdma_field *field)
{
    size_t n = strlen(field->key);

    return field->base == RPCRDMA_BASE_DEC && n >= 5 && strcmp(field->key + n - 5, "frame") == 0;
}

/* What the packet list draws beside the packet. */
static ft_framenum_type_t arrow(const char *key)
{
    return strcmp(key, "call_frame") == 0    ? FT_FRAMENUM_REQUEST
           : strcmp(key, "reply_frame") == 0 ? FT_FRAMENUM_RESPONSE
                                             : FT_FRAMENUM_NONE;
}

/* "latency_ns": a length of time, in seconds in Wireshark, and without the unit in its name. */
static bool is_time(const struct rpcrdma_field *field)
{
    return field->base == RPCRDMA_BASE_DEC && field->id != RPCRDMA_FIELD_TIME &&
           g_str_has_suffix(field->key, "_ns");
}

static enum ftenum integer(uint32_t width)
{
    return width <= 8    ? FT_UINT8
           : width <= 16 ? FT_UINT16
           : width <= 24 ? FT_UINT24
           : width <= 32 ? FT_UINT32
                         : FT_UINT64;
}

/* The registry keeps what it is given. */
static const value_string *value_strings(const struct rpcrdma_value_name *names)
{
    value_string *strings;
    size_t n = 0;

    while (names[n].name)
        n++;
    strings = g_new0(value_string, n + 1);
    for (size_t i = 0; i < n; i++) {
        strings[i].value = (uint32_t)names[i].value;
        strings[i].strptr = names[i].name;
    }
    return strings;
}

static const char *explanation(const char *help, const char *section)
{
    return g_strdup_printf("%s (%s)", help, section);
}

/* Every dialect's names: some numbers have several, each of which a filter may use. */
static const value_string *type_names(void)
{
    GArray *names = g_array_new(TRUE, TRUE, sizeof(value_string));

    for (int id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *dialect = rpcrdma_dialect((enum rpcrdma_dialect_id)id);

        for (size_t i = 0; i < dialect->n_types; i++) {
            value_string name = {dialect->types[i].value, dialect->types[i].name};
            bool known = false;

            for (unsigned j = 0; j < names->len && !known; j++)
                known = g_array_index(names, value_string, j).value == name.value &&
                        strcmp(g_array_index(names, value_string, j).strptr, name.strptr) == 0;
            if (!known)
                g_array_append_val(names, name);
        }
    }
    return (const value_string *)(void *)g_array_free(names, FALSE);
}

static void describe_field(const struct rpcrdma_field *field, header_field_info *info)
{
    info->name = field->name;
    info->abbrev = field->abbrev;
    info->blurb = explanation(field->help, field->section);
    info->display = BASE_NONE;
    if (is_frame(field)) {
        info->type = FT_FRAMENUM;
        info->strings = FRAMENUM_TYPE(arrow(field->key));
        return;
    }
    if (is_time(field)) {
        info->abbrev = g_strndup(field->abbrev, strlen(field->abbrev) - strlen("_ns"));
        info->type = FT_RELATIVE_TIME;
        return;
    }
    switch (field->id) {
    case RPCRDMA_FIELD_SRC:
    case RPCRDMA_FIELD_DST:
        info->type = FT_IPv4;
        return;
    case RPCRDMA_FIELD_TYPE:
        info->type = FT_UINT32;
        info->display = BASE_DEC;
        info->strings = VALS(type_names());
        return;
    case RPCRDMA_FIELD_CREDIT_AT_LIMIT:
        info->type = FT_BOOLEAN;
        return;
    default:
        break;
    }
    switch (field->base) {
    case RPCRDMA_BASE_DEC:
        info->type = integer(field->width);
        info->display = BASE_DEC;
        break;
    case RPCRDMA_BASE_HEX:
        info->type = integer(field->width);
        info->display = BASE_HEX;
        break;
    case RPCRDMA_BASE_NAME:
        if (field->names) {
            info->type = integer(field->width);
            info->display = BASE_DEC;
            info->strings = VALS(value_strings(field->names));
        } else {
            /* the names are the dialect's: one number, many names */
            info->type = FT_STRING;
        }
        break;
    case RPCRDMA_BASE_BOOL:
        info->type = FT_BOOLEAN;
        break;
    case RPCRDMA_BASE_BYTES:
        info->type = FT_BYTES;
        break;
    case RPCRDMA_BASE_TEXT:
        info->type = FT_STRING;
        break;
    case RPCRDMA_BASE_REAL:
        info->type = FT_DOUBLE;
        break;
    }
}

static void describe_record(const struct rpcrdma_record *record, header_field_info *info)
{
    info->name = record->name;
    info->abbrev = record->abbrev;
    info->type = FT_NONE;
    info->display = BASE_NONE;
    info->blurb = explanation(record->help, record->section);
}

static void register_one(int *id, const header_field_info *info)
{
    hf_register_info *hf = g_new0(hf_register_info, 1);

    hf->p_id = id;
    hf->hfinfo = *info;
    proto_register_field_array(proto_rpcrdma, hf, 1);
}

static const header_field_info nothing = {NULL, NULL, FT_NONE, BASE_NONE, NULL, 0, NULL, HFILL};

static void register_fields(void)
{
    int *ett[RPCRDMA_RECORD_COUNT];

    for (int i = 0; i < RPCRDMA_FIELD_COUNT; i++) {
        const struct rpcrdma_field *field = rpcrdma_field((enum rpcrdma_field_id)i);
        header_field_info info = nothing;

        hf_field[i] = -1;
        if (!field_shown(field))
            continue;
        describe_field(field, &info);
        register_one(&hf_field[i], &info);
    }
    for (int i = 0; i < RPCRDMA_RECORD_COUNT; i++) {
        const struct rpcrdma_record *record = rpcrdma_record((enum rpcrdma_record_id)i);
        header_field_info info = nothing;

        hf_record[i] = -1;
        ett_record[i] = -1;
        ett[i] = &ett_record[i];
        if (!shown(record->id) || record->key[0] == '\0' || record->id == RPCRDMA_RECORD_FINDINGS ||
            record->id == RPCRDMA_RECORD_PRIVATE_DATA)
            continue; /* of the last two there is a subtree only */
        describe_record(record, &info);
        register_one(&hf_record[i], &info);
    }
    proto_register_subtree_array(ett, RPCRDMA_RECORD_COUNT);
}

/* By the kinds of RDMA operations that move chunks. */
static const value_string operations[] = {
    {RPCRDMA_OP_WRITE, "RDMA Write"},
    {RPCRDMA_OP_READ_REQUEST, "RDMA Read request"},
    {RPCRDMA_OP_READ_RESPONSE, "RDMA Read response"},
    {0, NULL},
};

static void register_beside(void)
{
    static hf_register_info hf[] = {
        {&hf_beside[BESIDE_ADDR],
         {"Source or destination", "rpcrdma.addr", FT_IPv4, BASE_NONE, NULL, 0,
          "IPv4 address of either end", HFILL}},
        {&hf_beside[BESIDE_ADDR_IPV6],
         {"Source or destination", "rpcrdma.addr_ipv6", FT_IPv6, BASE_NONE, NULL, 0,
          "IPv6 address, or GID, of either end", HFILL}},
        {&hf_beside[BESIDE_PORT],
         {"Source or destination port", "rpcrdma.port", FT_UINT16, BASE_DEC, NULL, 0,
          "TCP port of either end (iWARP)", HFILL}},
        {&hf_beside[BESIDE_SRC_IPV6],
         {"Source", "rpcrdma.src_ipv6", FT_IPv6, BASE_NONE, NULL, 0,
          "IPv6 address, or GID, of the sender", HFILL}},
        {&hf_beside[BESIDE_DST_IPV6],
         {"Destination", "rpcrdma.dst_ipv6", FT_IPv6, BASE_NONE, NULL, 0,
          "IPv6 address, or GID, of the receiver", HFILL}},
        {&hf_beside[BESIDE_SRC_LID],
         {"Source LID", "rpcrdma.src_lid", FT_UINT16, BASE_DEC, NULL, 0,
          "InfiniBand's local identifier of the sender", HFILL}},
        {&hf_beside[BESIDE_DST_LID],
         {"Destination LID", "rpcrdma.dst_lid", FT_UINT16, BASE_DEC, NULL, 0,
          "InfiniBand's local identifier of the receiver", HFILL}},
        {&hf_beside[BESIDE_RPC_OPERATION],
         {"Operation", "rpcrdma.rpcs.operation", FT_UINT32, BASE_DEC, NULL, 0,
          "Number of the procedure; of an NFSv4 COMPOUND, of its main operation", HFILL}},
        {&hf_beside[BESIDE_TRANSACTION],
         {"RPC transaction", "rpcrdma.rpcs", FT_NONE, BASE_NONE, NULL, 0, "A Call and its Reply",
          HFILL}},
        {&hf_beside[BESIDE_CREDIT_STATE],
         {"Credits", "rpcrdma.credits.state", FT_NONE, BASE_NONE, NULL, 0,
          "How one direction of RPC, or one sender, stands", HFILL}},
        {&hf_beside[BESIDE_DATA_FRAMES],
         {"Chunk data", "rpcrdma.data.frames", FT_NONE, BASE_NONE, NULL, 0,
          "The packets that move bytes of a Call's chunks", HFILL}},
        {&hf_beside[BESIDE_DATA_OPERATION],
         {"Operation", "rpcrdma.data.operation", FT_UINT8, BASE_DEC, VALS(operations), 0,
          "Whether the packet moves bytes, or asks for them", HFILL}},
        {&hf_beside[BESIDE_READ_CHUNKS],
         {"Read chunks", "rpcrdma.read.chunks", FT_UINT32, BASE_DEC, NULL, 0,
          "Chunks in the read list: segments of one position are one", HFILL}},
        {&hf_beside[BESIDE_READ_SEGMENTS],
         {"Read segments", "rpcrdma.read.segments", FT_UINT32, BASE_DEC, NULL, 0,
          "Segments in the read list", HFILL}},
        {&hf_beside[BESIDE_WRITE_CHUNKS],
         {"Write chunks", "rpcrdma.write.chunks", FT_UINT32, BASE_DEC, NULL, 0,
          "Chunks in the write list", HFILL}},
        {&hf_beside[BESIDE_WRITE_SEGMENTS],
         {"Write segments", "rpcrdma.write.segments", FT_UINT32, BASE_DEC, NULL, 0,
          "Segments of all chunks in the write list", HFILL}},
        {&hf_beside[BESIDE_REPLY_SEGMENTS],
         {"Reply segments", "rpcrdma.reply.segments", FT_UINT32, BASE_DEC, NULL, 0,
          "Segments of the reply chunk", HFILL}},
        {&hf_beside[BESIDE_DATA_REPLY_FRAME],
         {"Reply frame", "rpcrdma.data.reply_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RESPONSE), 0, "The Reply of the RPC whose bytes these are",
          HFILL}},
        {&hf_beside[BESIDE_ORIGINAL_FRAME],
         {"First sent in frame", "rpcrdma.analysis.original_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_PREV), 0, "The packet that this one repeats", HFILL}},
        {&hf_beside[BESIDE_AGAIN_FRAME],
         {"Retransmitted in frame", "rpcrdma.analysis.again_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_NEXT), 0, "The next packet that repeats this one",
          HFILL}},
        {&hf_beside[BESIDE_RPC_ORIGINAL_FRAME],
         {"Call first sent in frame", "rpcrdma.rpcs.original_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_PREV), 0,
          "The same Call, where it was first sent, on another connection", HFILL}},
        {&hf_beside[BESIDE_RPC_AGAIN_FRAME],
         {"Call retransmitted in frame", "rpcrdma.rpcs.again_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_RETRANS_NEXT), 0,
          "The same Call, where it was next sent, on another connection", HFILL}},
        {&hf_beside[BESIDE_MESSAGE_FRAME],
         {"Message of frame", "rpcrdma.message_frame", FT_FRAMENUM, BASE_NONE,
          FRAMENUM_TYPE(FT_FRAMENUM_NONE), 0,
          "In one pass: where a message is that was held back until this frame", HFILL}},
    };

    proto_register_field_array(proto_rpcrdma, hf, G_N_ELEMENTS(hf));
}

static int severity(enum rpcrdma_severity of)
{
    return of == RPCRDMA_NOTE ? PI_NOTE : of == RPCRDMA_WARNING ? PI_WARN : PI_ERROR;
}

static int group(const struct rpcrdma_rule *rule)
{
    if (rule->id == RPCRDMA_RULE_TRUNCATED)
        return PI_UNDECODED;
    return rule->severity == RPCRDMA_ERROR ? PI_MALFORMED : PI_PROTOCOL;
}

/* A rule's text without what each finding puts in: "{s}: {0} {0:byte|bytes} at position {1}" is
 * "N bytes at position N". */
static const char *summary(const char *text)
{
    GString *out = g_string_new(NULL);

    while (*text) {
        if (*text != '{' || !strchr(text, '}')) {
            g_string_append_c(out, *text++);
            continue;
        }
        if (g_str_has_prefix(text, "{s}: ")) {
            text += strlen("{s}: ");
            continue;
        }
        if (text[2] == ':') {
            const char *many = strchr(text, '|') + 1;

            g_string_append_len(out, many, strchr(many, '}') - many);
            text = strchr(text, '}') + 1;
            continue;
        }
        g_string_append(out, text[1] == 's' || text[1] == 'd' ? "..." : "N");
        text = strchr(text, '}') + 1;
    }
    return g_string_free(out, FALSE);
}

/* As TCP's dissector has them. */
static void register_repeats(expert_module_t *module)
{
    static ei_register_info ei[] = {
        {&ei_repeat[RPCRDMA_REPEAT_RETRANSMISSION],
         {"rpcrdma.analysis.retransmission", PI_SEQUENCE, PI_NOTE, "Retransmission", EXPFILL}},
        {&ei_repeat[RPCRDMA_REPEAT_DUPLICATE],
         {"rpcrdma.analysis.duplicate", PI_SEQUENCE, PI_NOTE, "Duplicate of an earlier packet",
          EXPFILL}},
        {&ei_repeat[RPCRDMA_REPEAT_OUT_OF_ORDER],
         {"rpcrdma.analysis.out_of_order", PI_SEQUENCE, PI_NOTE, "Out of order", EXPFILL}},
        {&ei_repeat[RPCRDMA_REPEAT_ELSEWHERE],
         {"rpcrdma.analysis.elsewhere", PI_SEQUENCE, PI_CHAT,
          "The same packet, at another place of capture", EXPFILL}},
    };

    expert_register_field_array(module, ei, G_N_ELEMENTS(ei));
}

static void register_rules(void)
{
    ei_register_info *ei = g_new0(ei_register_info, RPCRDMA_RULE_COUNT);
    expert_module_t *module = expert_register_protocol(proto_rpcrdma);
    int n = 0;

    for (int i = 0; i < RPCRDMA_RULE_COUNT; i++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)i);

        ei_rule[i] = (expert_field)EI_INIT;
        if (rule->id == RPCRDMA_RULE_ICRC || rule->id == RPCRDMA_RULE_MPA_CRC)
            continue; /* not asked for: the dissectors below check them */
        ei[n].ids = &ei_rule[i];
        ei[n].eiinfo.name = g_strdup_printf("rpcrdma.expert.%s", rule->name);
        ei[n].eiinfo.group = group(rule);
        ei[n].eiinfo.severity = severity(rule->severity);
        ei[n++].eiinfo.summary = summary(rule->text);
    }
    expert_register_field_array(module, ei, n);
    register_repeats(module);
}

void fields_register(void)
{
    register_fields();
    register_beside();
    register_rules();
}

void field_expert(packet_info *pinfo, proto_item *item, const struct rpcrdma_finding *finding,
                  const char *text)
{
    expert_add_info_format(pinfo, item, &ei_rule[finding->rule], "%s", text);
}

void repeat_expert(packet_info *pinfo, proto_item *item, enum rpcrdma_repeat repeat)
{
    expert_add_info(pinfo, item, &ei_repeat[repeat]);
}
