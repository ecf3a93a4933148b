/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

#include "connections/decode_as.h"
#include "taps/taps.h"
#include "wireshark/prefs.h"

/* How a frame leaves the credits of its connection: reported by codec/flow on the first pass, as
 * the lines of `rpcrdma credits --series`. show/credits.c shows it. */

/* A side of a connection: since when it is at its limit. */
struct side {
    bool at_limit;
    int64_t since_ns;
};

static wmem_map_t *sides; /* connection and end -> struct side */

void keep_credits_file(void)
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
