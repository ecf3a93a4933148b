/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include "each.h"

/* How a frame leaves the credits of its connection, as the store has it: feed/keep_credits.c. */

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
