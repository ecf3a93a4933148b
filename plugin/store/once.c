/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/once.h"

#include "store/timing.h"

#include <epan/column-utils.h>
#include <epan/frame_data.h>
#include <wsutil/wslog.h>

/*
 * tshark in one pass keeps no frame, and visits none again: there, what the store has of an RPC is
 * given back once the RPC has ended and the frame in which it did is done. Only of inline messages,
 * each alone in its frame and of which nothing is out of the ordinary; what is rare stays.
 */

enum { FIRST_ASKED = 64, ENDED = 64 };

static struct {
    bool once;
    uint32_t before; /* the frame fed before */
    unsigned n;
    struct transacted *ended[ENDED]; /* in the frame before */
} once;

void once_file(void)
{
    memset(&once, 0, sizeof(once));
}

/* Whether Wireshark has a frame's time still: then frames that are said to follow it differ by how
 * long after it they came. Of a frame that it has not it would warn. */
static bool is_kept(const packet_info *pinfo, uint32_t frame)
{
    const frame_data early = {.num = frame + 1, .has_ts = 1, .abs_ts.secs = 0};
    const frame_data late = {.num = frame + 1, .has_ts = 1, .abs_ts.secs = 1};
    enum ws_log_level level = ws_log_get_level();
    bool kept;

    ws_log_set_level(LOG_LEVEL_CRITICAL);
    kept = frame_data_compare(pinfo->epan, &early, &late, COL_DELTA_TIME) != 0;
    ws_log_set_level(level);
    return kept;
}

void once_ended(struct transacted *transacted)
{
    if (once.once && once.n < ENDED)
        once.ended[once.n++] = transacted;
}

/* Whether a frame has this RPC, a message of it, and nothing else. */
static struct frame_note *plain(const struct transacted *t, uint32_t frame)
{
    struct frame_note *note = store_find(frame);
    const struct message_note *m = note ? note->messages : NULL;

    return m && !m->next && !m->extra && m->xid == t->xid && m->rpc_frame == frame &&
                   !m->held_back && !m->unseen && !note->more && note->transacted == t &&
                   !transacted_next(t, frame)
               ? note
               : NULL;
}

static void give_back(uint32_t frame, struct frame_note *note)
{
    store_free(note->messages, sizeof(*note->messages));
    store_note_free(frame);
}

static void give_back_rpc(struct transacted *t)
{
    uint32_t call_frame = t->call_frame, reply_frame = t->reply_frame;
    struct frame_note *call = plain(t, call_frame), *reply = plain(t, reply_frame);

    if (call_frame == reply_frame || !call || !reply)
        return;
    give_back(call_frame, call);
    give_back(reply_frame, reply);
    timing_free(t->timing);
    store_free(t, sizeof(*t));
}

/* A frame of which only the credits behind it are known. */
static void give_back_frame(uint32_t frame)
{
    const struct frame_note *note = store_find(frame);

    if (note && !note->messages && !note->transacted && !note->more)
        store_note_free(frame);
}

void once_frame(const packet_info *pinfo)
{
    uint32_t frame = pinfo->num;

    if (!once.once && frame >= FIRST_ASKED && (frame & (frame - 1)) == 0)
        once.once = is_kept(pinfo, frame - 1) && !is_kept(pinfo, frame / 2);
    if (once.once) {
        for (unsigned i = 0; i < once.n; i++)
            give_back_rpc(once.ended[i]);
        give_back_frame(once.before);
        store_passed(frame);
    }
    once.n = 0;
    once.before = frame;
}
