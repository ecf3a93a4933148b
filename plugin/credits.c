/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dissect_message.h"

#include "decode_as.h"
#include "each.h"
#include "keep.h"
#include "taps.h"

/* How a frame leaves the credits of its connection: reported by codec/flow on the first pass, as
 * the lines of `rpcrdma credits --series`, and shown with the frame from then on. */

/* A side of a connection: since when it is at its limit. */
struct side {
    bool at_limit;
    int64_t since_ns;
};

static wmem_map_t *sides; /* connection and end -> struct side */

void credits_file(void)
{
    sides = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
}

static struct side *side_of(uint32_t connection, int end)
{
    void *key = GUINT_TO_POINTER(connection << 1 | (unsigned)end);
    struct side *side = wmem_map_lookup(sides, key);

    if (!side) {
        side = store_new(sizeof(struct side));
        wmem_map_insert(sides, key, side);
    }
    return side;
}

static int64_t stall(struct side *side, const struct rpcrdma_credit_point *point)
{
    bool at_limit = point->bound != RPCRDMA_BOUND_NEITHER, ends = side->at_limit && !at_limit;
    int64_t since_ns = side->since_ns;

    if (at_limit && !side->at_limit)
        side->since_ns = point->time_ns;
    side->at_limit = at_limit;
    return ends ? MAX(point->time_ns - since_ns, 0) : -1;
}

static void read_advertised(struct credit_state *state, const struct rpcrdma_credit_point *point)
{
    state->reading = (uint8_t)(settings.credits == CREDITS_AS_SENT       ? RPCRDMA_READING_SENT
                               : settings.credits == CREDITS_AS_RECEIVED ? RPCRDMA_READING_RECEIVED
                                                                         : point->reading);
    if (state->reading == RPCRDMA_READING_SENT) {
        state->has_advertised = point->has_sent;
        state->advertised = point->advertised_sent;
    } else if (state->reading == RPCRDMA_READING_RECEIVED) {
        state->has_advertised = point->has_received;
        state->advertised = point->advertised_received;
    }
}

/* A state is the same in many frames: where a frame has several, all but the last are its own. */
static void add_state(uint32_t frame, const struct credit_state *state)
{
    const struct credit_state **at = &store_get(frame)->credits;

    while (*at) {
        struct credit_state *own = (struct credit_state *)(uintptr_t)*at;

        if (!own->next) {
            own = store_new(sizeof(*own));
            *own = **at;
            *at = own;
        }
        at = &own->next;
    }
    *at = state;
}

void keep_credits(void *context, const struct rpcrdma_connection *connection, int end,
                  const struct rpcrdma_credit_point *point)
{
    const struct credit_state *shared;
    struct credit_state *state, new_state;

    (void)context;
    if ((settings.leave_version1 && connection->version == 1) || decode_as_given(connection))
        return;
    state = memset(&new_state, 0, sizeof(new_state)); /* its padding, too */
    state->connection = connection->number;
    state->role = (uint8_t)connection->role[end];
    state->counting = point->counting;
    state->closed = point->closed;
    state->at_limit = point->bound != RPCRDMA_BOUND_NEITHER;
    state->has_requested = point->has_requested;
    state->has_granted = point->has_granted;
    state->has_limit = point->has_limit;
    state->requested = point->requested;
    state->granted = point->granted;
    state->limit = point->limit;
    state->in_flight = (uint32_t)MIN(point->in_flight, UINT32_MAX);
    state->stall_ns = stall(side_of(connection->number, end), point);
    if (point->counting)
        read_advertised(state, point);
    shared = store_share(state, sizeof(*state));
    add_state((uint32_t)point->frame, shared);
    tap_credits(shared);
}

static void put(proto_tree *tree, enum rpcrdma_field_id field, tvbuff_t *tvb, bool has,
                uint32_t value)
{
    if (has)
        proto_item_set_generated(proto_tree_add_uint(tree, field_hf(field), tvb, 0, 0, value));
}

static const char *whose(const struct credit_state *state)
{
    static const char *const senders[] = {"", ", of the client's messages",
                                          ", of the server's messages"};
    RPCRDMA_EACH(senders, RPCRDMA_ROLE_COUNT);
    static const char *const directions[] = {"", ", forward", ", reverse"};
    RPCRDMA_EACH(directions, RPCRDMA_ROLE_COUNT);

    return state->counting ? senders[state->role] : directions[state->role];
}

static void put_state(const struct credit_state *state, tvbuff_t *tvb, proto_tree *parent)
{
    bool known = state->role != RPCRDMA_ROLE_UNKNOWN;
    proto_item *item =
        proto_tree_add_item(parent, beside_hf(BESIDE_CREDIT_STATE), tvb, 0, 0, ENC_NA);
    proto_tree *tree = proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_CREDIT));

    proto_item_set_generated(item);
    proto_item_append_text(item, "%s: %u in flight%s", whose(state), state->in_flight,
                           state->at_limit ? ", at the limit" : "");
    if (state->has_limit)
        proto_item_append_text(item, ", limit %u", state->limit);
    /* a frame may end another connection: a Call waits there that is retransmitted here */
    put(tree, RPCRDMA_FIELD_CREDITS_CONNECTION_NUMBER, tvb, true, state->connection);
    put(tree, RPCRDMA_FIELD_CREDITS_DIRECTION, tvb, known && !state->counting,
        state->role != RPCRDMA_ROLE_CLIENT);
    put(tree, RPCRDMA_FIELD_CREDITS_SENDER, tvb, state->counting, state->role);
    put(tree, RPCRDMA_FIELD_CREDIT_REQUESTED, tvb, state->has_requested, state->requested);
    put(tree, RPCRDMA_FIELD_CREDIT_GRANTED, tvb, state->has_granted, state->granted);
    put(tree, RPCRDMA_FIELD_CREDIT_LIMIT, tvb, state->has_limit, state->limit);
    put(tree, RPCRDMA_FIELD_CREDIT_IN_FLIGHT, tvb, true, state->in_flight);
    if (state->has_limit)
        proto_item_set_generated(proto_tree_add_boolean(
            tree, field_hf(RPCRDMA_FIELD_CREDIT_AT_LIMIT), tvb, 0, 0, state->at_limit));
    put(tree, RPCRDMA_FIELD_CREDIT_ADVERTISED, tvb, state->has_advertised, state->advertised);
    if (state->has_advertised)
        proto_item_set_generated(proto_tree_add_string(
            tree, field_hf(RPCRDMA_FIELD_CREDITS_READING), tvb, 0, 0,
            rpcrdma_credit_reading_name((enum rpcrdma_credit_reading)state->reading)));
}

void show_credits(const struct frame_note *note, tvbuff_t *raw, proto_tree *tree)
{
    proto_item *item;

    if (!note->credits || !proto_field_is_referenced(tree, proto_rpcrdma))
        return;
    item = proto_tree_add_protocol_format(tree, proto_rpcrdma, raw, 0, 0, "RPC-over-RDMA, credits");
    put_credits(note, raw, proto_item_add_subtree(item, record_ett(RPCRDMA_RECORD_CREDITS)));
}

void put_credits(const struct frame_note *note, tvbuff_t *tvb, proto_tree *tree)
{
    for (const struct credit_state *state = note->credits; state; state = state->next)
        put_state(state, tvb, tree);
}
