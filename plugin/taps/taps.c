/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "taps/taps.h"

#include <epan/tap.h>

#include "wire/chunk.h"
#include "wireshark/numbers.h"

static int ids[TAPS];
static GPtrArray *fresh[TAPS]; /* reported since the last frame; only what somebody listens to */

const char *tap_name(enum tap tap)
{
    static const char *const names[TAPS] = {"rpcrdma", "rpcrdma_credits", "rpcrdma_transactions",
                                            "rpcrdma_eo"};

    return names[tap];
}

void taps_register(int rpcs)
{
    for (int i = 0; i < TAPS; i++) {
        ids[i] = i == TAP_RPCS ? rpcs : register_tap(tap_name((enum tap)i));
        fresh[i] = g_ptr_array_new();
    }
}

void taps_file(void)
{
    for (int i = 0; i < TAPS; i++)
        g_ptr_array_set_size(fresh[i], 0);
}

const GPtrArray *taps_left(enum tap tap)
{
    return fresh[tap];
}

static void emit(enum tap tap, const void *what)
{
    if (have_tap_listener(ids[tap]))
        g_ptr_array_add(fresh[tap], (void *)(uintptr_t)what);
}

static struct chunk_note *add_chunk(struct extra *extra, enum chunk_place place)
{
    /* a power of two of them is room for one less than the next */
    if ((extra->n_chunks & (extra->n_chunks - 1)) == 0)
        extra->chunks = wmem_realloc(wmem_file_scope(), extra->chunks,
                                     MAX(2 * extra->n_chunks, 1) * sizeof(*extra->chunks));
    extra->chunks[extra->n_chunks] = (struct chunk_note){.place = (uint8_t)place};
    return &extra->chunks[extra->n_chunks++];
}

static void add_whole(struct extra *extra, enum chunk_place place,
                      const struct rpcrdma_chunk *chunk)
{
    struct chunk_note *note = add_chunk(extra, place);

    note->segments = chunk->declared;
    note->length = rpcrdma_chunk_length(chunk);
    note->cut = chunk->count < chunk->declared;
}

/* Segments of one position that follow each other are one chunk (RFC 8166 section 3.4.5). cut: the
 * last one may have more. */
static void add_reads(struct extra *extra, const struct rpcrdma_read_list *list, bool call,
                      bool cut)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment segment;
    uint32_t position = 0, segments = 0;

    while (rpcrdma_read_next(&it, &segment)) {
        if (segments++ == 0 || segment.position != position) {
            add_chunk(extra, call                    ? CHUNK_CALL
                             : segment.position == 0 ? CHUNK_READ_ALL
                                                     : CHUNK_READ);
            position = segment.position;
        }
        extra->chunks[extra->n_chunks - 1].segments++;
        extra->chunks[extra->n_chunks - 1].length += segment.segment.length;
    }
    if (segments > 0)
        extra->chunks[extra->n_chunks - 1].cut = cut;
}

static bool has_chunks(const struct rpcrdma_message *m)
{
    return m->call.count > 0 || m->read.count > 0 || m->write.count > 0 ||
           (m->present & RPCRDMA_HAS_REPLY && m->reply_present);
}

static void set_chunks(struct extra *extra, const struct rpcrdma_message *m)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk;
    uint32_t behind = m->present & RPCRDMA_HAS_HEADER_LENGTH ? UINT32_MAX : m->present;

    extra->n_chunks = 0;
    extra->chunks = NULL;
    add_reads(extra, &m->call, true, !(behind & RPCRDMA_HAS_READ));
    add_reads(extra, &m->read, false, !(behind & RPCRDMA_HAS_WRITE));
    while (rpcrdma_write_next(&it, &chunk))
        add_whole(extra, CHUNK_WRITE, &chunk);
    if (m->present & RPCRDMA_HAS_REPLY && m->reply_present)
        add_whole(extra, CHUNK_REPLY, &m->reply);
}

void tap_message(struct message_note *message_note, const struct rpcrdma_message *m)
{
    if (message_note->extra || has_chunks(m))
        set_chunks(store_extra(message_note), m);
    if (!store_left_alone(message_note))
        emit(TAP_MESSAGES, message_note);
}

void tap_credits(const struct credit_state *state)
{
    emit(TAP_CREDITS, state);
}

static bool has_bytes(const struct message_note *message_note)
{
    return note_extra(message_note)->whole || (message_note->has_rpc && !message_note->reduced);
}

void tap_rpc(const struct message_note *message_note)
{
    if (has_bytes(message_note) && !store_left_alone(message_note))
        emit(TAP_RPCS, message_note);
}

void tap_transaction(const struct transacted *transacted)
{
    emit(TAP_TRANSACTIONS, transacted);
}

static void first_pass(packet_info *pinfo)
{
    for (int i = 0; i < TAPS; i++) {
        for (unsigned j = 0; j < fresh[i]->len; j++)
            tap_queue_packet(ids[i], pinfo, fresh[i]->pdata[j]);
        if (fresh[i]->len > 0)
            g_ptr_array_set_size(fresh[i], 0);
    }
}

static void tap_later(packet_info *pinfo, const struct message_note *message_note)
{
    tap_queue_packet(ids[TAP_MESSAGES], pinfo, message_note);
    if (has_bytes(message_note))
        tap_queue_packet(ids[TAP_RPCS], pinfo, message_note);
}

static void later_pass(packet_info *pinfo, const struct frame_note *note)
{
    uint32_t fed = numbers_fed(pinfo);

    taps_file();
    if (!note)
        return;
    for (const struct message_note *message_note = note->messages; message_note;
         message_note = message_note->next)
        if (!message_note->held_back && !store_left_alone(message_note))
            tap_later(pinfo, message_note);
    for (const struct credit_state *state = note->credits; state; state = state->next)
        tap_queue_packet(ids[TAP_CREDITS], pinfo, state);
    for (const struct transacted *t = note->transacted; t; t = transacted_next(t, fed))
        if (fed == (numbers_shown(t->reply_frame) != 0 ? t->reply_frame : t->call_frame) &&
            !t->left_alone)
            tap_queue_packet(ids[TAP_TRANSACTIONS], pinfo, t);
}

void taps_frame(packet_info *pinfo, const struct frame_note *note)
{
    if (pinfo->fd->visited)
        later_pass(pinfo, note);
    else
        first_pass(pinfo);
}
