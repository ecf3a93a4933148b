/* SPDX-License-Identifier: BSD-2-Clause */
/* What is told of connections that failed, whichever rule finds it. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "out/connection.h"

/* An end, as it is called. */
static const char *end_name(const struct report_connection *c, int end)
{
    return end == report_server_end(&c->pub) ? "server" : "client";
}

static void tell_given_up(const struct report *r, const struct report_connection *c, int end,
                          char *text, size_t size)
{
    snprintf(text, size,
             " The %s had given it up, as the %s stood still: it sent nothing any more from "
             "%.3f s into the capture on.",
             end_name(c, end), end_name(c, 1 - end),
             report_seconds(c->pub.life.silence[end].heard_ns - r->pipeline->clock.start_ns));
}

/* It was heard, if ever, at heard_ns into the capture. */
static void tell_silent_end(const struct report *r, const struct report_connection *c, int end,
                            const char *on_it, char *text, size_t size)
{
    const struct rpcrdma_silence *silence = &c->pub.life.silence[end];
    int64_t heard = silence->heard_ns - r->pipeline->clock.start_ns;

    if (silence->probes)
        snprintf(text, size,
                 " The %s did not answer TCP's probes%s, of which %u came from %.3f s into the "
                 "capture on: it was down or stood still, or the path was.",
                 end_name(c, end), on_it, (unsigned)silence->transmissions,
                 report_seconds(silence->since_ns - r->pipeline->clock.start_ns));
    else if (silence->heard_ns == 0)
        snprintf(text, size,
                 " One packet was sent to the %s%s %u times from %.3f s into the capture on, so no "
                 "answer came; what the %s sends was not captured.",
                 end_name(c, end), on_it, (unsigned)silence->transmissions,
                 report_seconds(silence->since_ns - r->pipeline->clock.start_ns), end_name(c, end));
    else if (silence->heard_ns - silence->since_ns >= SECOND)
        snprintf(text, size,
                 " The %s did not answer%s what was sent %u times from %.3f s into the capture "
                 "on, though it was heard at %.3f s.",
                 end_name(c, end), on_it, (unsigned)silence->transmissions,
                 report_seconds(silence->since_ns - r->pipeline->clock.start_ns),
                 report_seconds(heard));
    else
        snprintf(text, size,
                 " The %s stopped answering%s: it was heard last %.3f s into the capture, and one "
                 "packet was sent to it %u times.",
                 end_name(c, end), on_it, report_seconds(heard), (unsigned)silence->transmissions);
}

/* Who sent it is not known: what does that in another's name. */
static void tell_denied(const struct report_connection *c, char *text, size_t size)
{
    const struct rpcrdma_life *life = &c->pub.life;
    const char *end = end_name(c, life->ended_by);

    snprintf(text, size,
             " A RST in the %s's name ended it (frame %" PRIu64
             "), which the %s did not send: it sent more on it (frame %" PRIu64
             "). A firewall or another device on the way resets connections.",
             end, life->ended_frame, end, life->denied_frame);
}

void report_tell_silence(const struct report *r, const struct report_connection *c, guint beside,
                         char *text, size_t size)
{
    int gave_up = c ? report_gave_up(c) : -1;

    text[0] = '\0';
    if (c && c->pub.life.denied_frame != 0) {
        tell_denied(c, text, size);
        return;
    }
    if (gave_up >= 0) {
        tell_given_up(r, c, gave_up, text, size);
        return;
    }
    if (c && report_out_of_order(c) >= 0) {
        snprintf(
            text, size,
            " What was sent to the %s came out of order, also what its Naks asked for, until its "
            "sender gave up.",
            end_name(c, report_out_of_order(c)));
        return;
    }
    for (int end = 0; c && end < 2 && !text[0]; end++) {
        int64_t ns;

        if (connection_silent(&c->pub, end, &ns) &&
            (c->pub.life.silence[end].heard_ns > 0 ||
             c->pub.life.silence[end].transmissions >= REPORT_RETRIES))
            tell_silent_end(r, c, end, beside > 0 ? " on it" : "", text, size);
    }
}

bool report_attempt_unanswered(const struct report *r, const struct report_connection *c)
{
    return connection_unanswered(&c->pub) ||
           (connection_awaits_answer(&c->pub) &&
            time_less(report_now_ns(r), c->pub.first_time_ns) >= 5 * SECOND);
}

bool report_attempt_in_vain(const struct report *r, const struct report_connection *c)
{
    return report_refused(&c->pub) || report_attempt_unanswered(r, c);
}

struct report_tried report_look_attempts(const struct report *r,
                                         const struct report_connection *last)
{
    struct report_tried attempts = {.before = last, .heard = true};
    const struct report_connection *one;

    while ((one = attempts.before) != NULL && report_attempt_unanswered(r, one)) {
        attempts.n += 1 + one->attempts_between;
        attempts.first = one;
        attempts.heard &= one->pub.life.unheard == 0 && !one->unheard_between;
        attempts.before = report_numbered(r, one->pub.life.previous);
    }
    return attempts;
}

void report_tell_attempts(const struct report_tried *attempts, uint32_t first, char *text,
                          size_t size)
{
    snprintf(text, size,
             attempts->heard
                 ? "The server did not answer: %" PRIu64 " attempt%s to connect, from connection "
                   "%u on, got no answer"
                 : "The server's answers did not reach the client: it accepted %" PRIu64
                   " attempt%s to connect, from connection %u on, and the same request came again",
             attempts->n, plural(attempts->n), (unsigned)first);
}
