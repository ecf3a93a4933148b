/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/in_order.h"

#include <string.h>
#include <sys/queue.h>

#include <glib.h>

enum {
    STEPS = 1024, /* back from the newest; a line that belongs further back comes late */
    SPARE = 64,   /* entries kept to be used again */
};

struct entry {
    TAILQ_ENTRY(entry) by_time;
    SLIST_ENTRY(entry) spare;
    uint64_t key; /* 0: done */
    int64_t time_ns;
    char *line;
    size_t length;
    struct view_placeholder placeholder;
};

struct order {
    struct out *out, memory;
    struct view *view;
    TAILQ_HEAD(entries, entry) by_time; /* from the oldest on */
    struct entry **by_key; /* those that are expected; n_keys of them, most of them NULL */
    size_t n_keys;
    SLIST_HEAD(, entry) spare;
    unsigned n_spare;
    struct entry *current;
    bool direct; /* what is written goes to out */
    size_t bytes, max_bytes;
    bool hurried; /* a line was not waited for: lines may be late for that */
    uint64_t late;
    int64_t given_ns; /* of the last line given */
};

struct order *order_new(struct out *out, struct view *view, size_t max_bytes)
{
    struct order *order = g_new0(struct order, 1);

    order->out = out;
    order->view = view;
    order->max_bytes = max_bytes;
    order->given_ns = INT64_MIN;
    TAILQ_INIT(&order->by_time);
    SLIST_INIT(&order->spare);
    if (out_open(&order->memory, -1)) {
        order->memory.color = out->color;
        order->memory.columns = out->columns;
        order->memory.width = out->width; /* lines are made to fit */
        order->memory.fold = out->fold;
        return order;
    }
    order_free(order);
    return NULL;
}

/* Keys are small: the numbers of slots. */
static struct entry *find(const struct order *order, uint64_t key)
{
    return key < order->n_keys ? order->by_key[key] : NULL;
}

static void expect(struct order *order, struct entry *e)
{
    size_t n = order->n_keys;

    if (e->key >= n) {
        order->n_keys = MAX(64, 2 * (size_t)e->key);
        order->by_key = g_renew(struct entry *, order->by_key, order->n_keys);
        memset(order->by_key + n, 0, (order->n_keys - n) * sizeof(struct entry *));
    }
    order->by_key[e->key] = e;
}

static void entry_free(struct order *order, struct entry *e)
{
    TAILQ_REMOVE(&order->by_time, e, by_time);
    if (e->key)
        order->by_key[e->key] = NULL;
    order->bytes -= sizeof(*e) + e->length;
    g_free(e->line);
    if (order->n_spare == SPARE) {
        g_free(e);
        return;
    }
    SLIST_INSERT_HEAD(&order->spare, e, spare);
    order->n_spare++;
}

static struct entry *entry_new(struct order *order)
{
    struct entry *e = SLIST_FIRST(&order->spare);

    if (!e)
        return g_new0(struct entry, 1);
    SLIST_REMOVE_HEAD(&order->spare, spare);
    order->n_spare--;
    *e = (struct entry){0};
    return e;
}

void order_free(struct order *order)
{
    struct entry *e;

    if (!order)
        return;
    while ((e = TAILQ_FIRST(&order->by_time)))
        entry_free(order, e);
    while (!SLIST_EMPTY(&order->spare))
        g_free(entry_new(order));
    g_free(order->by_key);
    order->memory.n = 0; /* it goes nowhere */
    out_close(&order->memory);
    g_free(order);
}

/* In order of time; nearly always the newest. */
static struct entry *insert(struct order *order, uint64_t key, int64_t time_ns)
{
    struct entry *e = entry_new(order), *oldest = TAILQ_FIRST(&order->by_time);
    struct entry *older = TAILQ_LAST(&order->by_time, entries);

    e->key = key;
    e->time_ns = time_ns;
    if (oldest && time_ns < oldest->time_ns)
        older = NULL;
    for (unsigned steps = 0; older && older->time_ns > time_ns && steps < STEPS; steps++)
        older = TAILQ_PREV(older, entries, by_time);
    if (older)
        TAILQ_INSERT_AFTER(&order->by_time, older, e, by_time);
    else
        TAILQ_INSERT_HEAD(&order->by_time, e, by_time);
    order->bytes += sizeof(*e);
    if (key)
        expect(order, e);
    return e;
}

/* Gives lines from the oldest on, until one is expected; beyond the bound without it. */
static void give(struct order *order)
{
    struct entry *e;

    while ((e = TAILQ_FIRST(&order->by_time))) {
        /* where more waits than may, it is not waited for */
        if (e->key && order->bytes <= order->max_bytes)
            return;
        order->hurried |= e->key != 0;
        if (e->line) {
            order->late += order->hurried && e->time_ns < order->given_ns;
            order->given_ns = e->time_ns;
            order->view->out = order->out;
            view_put_kept(order->view, e->line, e->length - 1, e->placeholder);
        }
        entry_free(order, e);
    }
}

void order_expect(struct order *order, uint64_t key, int64_t time_ns)
{
    if (key && !find(order, key))
        insert(order, key, time_ns);
}

struct out *order_begin(struct order *order, uint64_t key, int64_t time_ns)
{
    struct entry *e = key ? find(order, key) : NULL;

    if (!e)
        e = insert(order, key, time_ns);
    order->current = e;
    order->direct = e == TAILQ_FIRST(&order->by_time) && !order->memory.n && e->time_ns == time_ns;
    order->view->time_open = !order->direct;
    order->view->placeholder = (struct view_placeholder){0};
    return order->direct ? order->out : &order->memory;
}

void order_done(struct order *order, bool drop)
{
    struct entry *e = order->current;

    if (e->key)
        order->by_key[e->key] = NULL;
    e->key = 0;
    if (order->direct && !drop) {
        order->late += order->hurried && e->time_ns < order->given_ns;
        order->given_ns = e->time_ns;
    } else if (!drop) {
        e->line = g_memdup2(order->memory.buf, order->memory.n);
        e->length = order->memory.n;
        e->placeholder = order->view->placeholder;
        order->bytes += e->length;
    }
    order->memory.n = 0;
    give(order);
}

uint64_t order_end(struct order *order)
{
    order->max_bytes = 0;
    give(order);
    return order->late;
}
