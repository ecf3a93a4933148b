/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/connection.h"
#include "out/credits.h"
#include "out/view.h"

static void put_range(struct json *json, struct json_key key,
                      const struct rpcrdma_credit_range *range, bool changes)
{
    if (!range->known)
        return;
    json_key(json, key);
    json_open(json, '{');
    json_key(json, KEY(min)), json_u64(json, range->min);
    json_key(json, KEY(max)), json_u64(json, range->max);
    json_key(json, KEY(last)), json_u64(json, range->last);
    if (changes)
        json_key(json, KEY(changes)), json_u64(json, range->changes);
    json_close(json, '}');
}

/* What one reading of the draft's formula makes of the peer's credits. */
static void put_advertised(struct json *json, struct json_key key,
                           const struct rpcrdma_credit_advertised *is)
{
    if (!is->known)
        return;
    json_key(json, key);
    json_open(json, '{');
    json_key(json, KEY(min)), json_i64(json, is->min);
    json_key(json, KEY(max)), json_i64(json, is->max);
    json_key(json, KEY(last)), json_i64(json, is->last);
    json_key(json, KEY(changes)), json_u64(json, is->changes);
    json_key(json, KEY(misfits)), json_u64(json, is->misfits);
    json_close(json, '}');
}

static void put_terms(struct json *json, const struct rpcrdma_credit_result *r)
{
    if (!r->counting) {
        json_key(json, KEY(calls)), json_u64(json, r->calls);
        json_key(json, KEY(replies)), json_u64(json, r->replies);
        json_key(json, KEY(unanswered)), json_u64(json, r->unanswered);
        if (r->undelivered > 0)
            json_key(json, KEY(undelivered)), json_u64(json, r->undelivered);
        json_key(json, KEY(followed)), json_bool(json, r->followed);
        put_range(json, KEY(requested), &r->requested, false);
        put_range(json, KEY(granted), &r->granted, true);
        put_range(json, KEY(limit), &r->limit, false);
        return;
    }
    json_key(json, KEY(messages)), json_u64(json, r->messages);
    put_range(json, KEY(limit), &r->limit, false);
    if (r->remaining_known) {
        json_key(json, KEY(remaining));
        json_open(json, '{');
        json_key(json, KEY(min)), json_i64(json, r->remaining_min);
        json_key(json, KEY(last)), json_i64(json, r->remaining_last);
        json_close(json, '}');
    }
    json_key(json, KEY(reading)), json_plain(json, rpcrdma_credit_reading_name(r->reading));
    if (r->sent.known || r->received.known) {
        json_key(json, KEY(advertised));
        json_open(json, '{');
        put_advertised(json, KEY(sent), &r->sent);
        put_advertised(json, KEY(received), &r->received);
        json_close(json, '}');
    }
}

static void put_in_flight(struct json *json, const struct rpcrdma_credit_in_flight *f)
{
    if (!f->known)
        return;
    json_key(json, KEY(in_flight));
    json_open(json, '{');
    json_key(json, KEY(max)), json_u64(json, f->max);
    json_key(json, KEY(mean)), json_real(json, f->mean);
    json_key(json, KEY(p50)), json_u64(json, f->p50);
    json_key(json, KEY(p95)), json_u64(json, f->p95);
    json_key(json, KEY(p99)), json_u64(json, f->p99);
    json_close(json, '}');
}

static void put_stalls(struct json *json, const struct rpcrdma_credit_stalls *stalls)
{
    json_key(json, KEY(stalls));
    json_open(json, '[');
    for (uint32_t i = 0; i < stalls->kept; i++) {
        const struct rpcrdma_credit_stall *stall = &stalls->longest[i];

        json_open(json, '{');
        json_key(json, KEY(from_ns)), json_i64(json, stall->from_ns);
        json_key(json, KEY(to_ns)), json_i64(json, stall->to_ns);
        json_key(json, KEY(ended_by));
        json_plain(json, rpcrdma_credit_cause_name(stall->ended_by));
        json_close(json, '}');
    }
    json_close(json, ']');
    json_key(json, KEY(stall_count)), json_u64(json, stalls->count);
}

/* How far to trust the numbers: only what limits them. */
static void put_trust(struct json *json, const struct rpcrdma_credit_result *r)
{
    const struct {
        struct json_key key;
        uint64_t value;
    } counts[] = {
        {KEY(retransmitted), r->retransmitted}, {KEY(replies_to_earlier), r->earlier},
        {KEY(replies_without_call), r->stray},  {KEY(replies_not_captured), r->missed},
        {KEY(unsettled_ns), r->unsettled_ns},
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (counts[i].value > 0)
            json_key(json, counts[i].key), json_u64(json, counts[i].value);
    json_key(json, KEY(settled)), json_bool(json, r->settled);
    if (r->gaps)
        json_key(json, KEY(gaps)), json_bool(json, true);
    if (r->clock)
        json_key(json, KEY(clock_set_back)), json_bool(json, true);
    if (r->memory)
        json_key(json, KEY(counted_roughly)), json_bool(json, true);
}

static void put_result(struct json *json, const struct credits_connection *c,
                       const struct rpcrdma_credit_result *r)
{
    char verdict[400];

    json_open(json, '{');
    json_key(json, r->counting ? KEY(sender) : KEY(direction));
    json_plain(json, credits_direction(&c->is, r->end, r->counting));
    put_terms(json, r);
    put_in_flight(json, &r->in_flight);
    json_key(json, KEY(measured_ns)), json_u64(json, r->measured_ns);
    json_key(json, KEY(busy_ns)), json_u64(json, r->busy_ns);
    json_key(json, KEY(at_limit_ns)), json_u64(json, r->at_limit_ns);
    json_key(json, KEY(at_limit_share));
    json_real(json, r->measured_ns ? (double)r->at_limit_ns / (double)r->measured_ns : 0);
    json_key(json, KEY(bound_by)), json_plain(json, rpcrdma_credit_bound_name(r->bound_by));
    put_stalls(json, &r->stalls);
    json_key(json, KEY(violations)), json_u64(json, r->violations);
    json_key(json, KEY(rnr_naks)), json_u64(json, r->rnr_naks);
    put_trust(json, r);
    credits_verdict(c, r, verdict, sizeof(verdict));
    json_key(json, KEY(verdict)), json_plain(json, verdict);
    json_close(json, '}');
}

void credits_json(struct json *json, const struct credits_connection *c)
{
    uint64_t kept = credits_findings_kept(c);

    json_open(json, '{');
    json_key(json, KEY(connection)), json_u64(json, c->is.number);
    json_key(json, KEY(time_ns)), json_i64(json, c->is.first_time_ns);
    if (c->is.version)
        json_key(json, KEY(version)), json_u64(json, c->is.version);
    if (c->is.version == 2 && c->is.dialect)
        json_key(json, KEY(dialect)), json_plain(json, c->is.dialect->name);
    view_json_ends(json, &c->is);
    connection_json_network(json, c->is.number);
    json_key(json, KEY(directions));
    json_open(json, '[');
    for (size_t i = 0; i < c->n_results; i++)
        put_result(json, c, &c->results[i]);
    json_close(json, ']');
    view_json_findings(json, c->findings, (size_t)kept, 0);
    if (c->n_findings > kept)
        json_key(json, KEY(findings_left_out)), json_u64(json, c->n_findings - kept);
    json_close(json, '}');
}
