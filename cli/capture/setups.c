/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/setups.h"

#include <string.h>

#include "common/keyed_hash.h"

enum { NET_MEMORY = 4 << 20, BLOCK = 96 /* bytes that a file needs besides the packet's */ };

/* Who opened it, to whom, and CM's number or TCP's ports. Without padding that is not zero. */
struct setup_key {
    struct rpcrdma_address opener, acceptor;
    uint16_t iwarp;
    uint32_t id;
};

struct setup_packet {
    struct rpcrdma_packet packet;
    uint32_t interface;
};

struct setup {
    struct setup_key key;
    uint32_t acceptor_id; /* CM's; 0: not known */
    uint32_t qpn;         /* the opener's */
    uint64_t ended_frame; /* 0: it is open */
    unsigned n;
    struct setup_packet packets[SETUP_PACKETS];
    GList link;
};

static guint key_hash(gconstpointer key)
{
    return keyed_hash(key, sizeof(struct setup_key));
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct setup_key)) == 0;
}

static void setup_free(gpointer data)
{
    struct setup *setup = data;

    for (unsigned i = 0; i < setup->n; i++)
        g_free((void *)setup->packets[i].packet.data);
    g_free(setup);
}

static void on_op(void *context, const struct rpcrdma_op *op)
{
    capture_setups_op(context, op);
}

bool capture_setups_begin(struct capture_setups *setups, bool decodes)
{
    struct rpcrdma_net_config config = {.size = sizeof(config), .max_memory = NET_MEMORY};
    struct rpcrdma_net_sink sink = {.size = sizeof(sink), .op = on_op, .context = setups};

    setups->known = g_hash_table_new_full(key_hash, key_equal, NULL, setup_free);
    g_queue_init(&setups->open);
    g_queue_init(&setups->ended);
    setups->net = decodes ? rpcrdma_net_new(&config, &sink) : NULL;
    return !decodes || setups->net;
}

void capture_setups_end(struct capture_setups *setups)
{
    if (!setups->known)
        return;
    rpcrdma_net_free(setups->net);
    g_hash_table_destroy(setups->known);
    *setups = (struct capture_setups){0};
}

void capture_setups_packet(struct capture_setups *setups, uint32_t interface,
                           const struct rpcrdma_packet *packet)
{
    setups->interface = interface;
    setups->packet = packet;
    if (setups->net && rpcrdma_net_link_known(packet->linktype) &&
        !rpcrdma_net_packet(setups->net, packet)) {
        rpcrdma_net_free(setups->net); /* memory is short: those that are known stay */
        setups->net = NULL;
    }
}

static struct setup_key key_of(const struct rpcrdma_op *op, bool by_opener, uint32_t comm_id)
{
    struct setup_key key;
    bool iwarp = op->carrier == RPCRDMA_CARRIER_IWARP;
    uint16_t opener = by_opener ? op->src_port : op->dst_port;
    uint16_t acceptor = by_opener ? op->dst_port : op->src_port;

    memset(&key, 0, sizeof(key));
    key.opener = by_opener ? op->src : op->dst;
    key.acceptor = by_opener ? op->dst : op->src;
    key.iwarp = iwarp;
    key.id = iwarp ? (uint32_t)opener << 16 | acceptor : comm_id;
    return key;
}

static GQueue *queue_of(struct capture_setups *setups, const struct setup *setup)
{
    return setup->ended_frame > 0 ? &setups->ended : &setups->open;
}

static void forget(struct capture_setups *setups, struct setup *setup)
{
    g_queue_unlink(queue_of(setups, setup), &setup->link);
    g_hash_table_remove(setups->known, &setup->key);
}

static void add_packet(const struct capture_setups *setups, struct setup *setup)
{
    const struct rpcrdma_packet *packet = setups->packet;
    struct setup_packet *to = &setup->packets[setup->n];

    if (setup->n == SETUP_PACKETS || packet->caplen > SETUP_CAPTURED)
        return;
    *to = (struct setup_packet){.packet = *packet, .interface = setups->interface};
    to->packet.data = g_memdup2(packet->data, packet->caplen);
    setup->n++;
}

/* A REQ, an MPA Request: one that was sent again is known; else the number is in use anew. */
static void request(struct capture_setups *setups, const struct rpcrdma_op *op)
{
    struct setup_key key = key_of(op, true, op->connect->local_comm_id);
    struct setup *setup = g_hash_table_lookup(setups->known, &key);

    if (setup && key.iwarp == 0 && setup->ended_frame == 0 && setup->qpn == op->connect->qpn)
        return;
    if (setup)
        forget(setups, setup);
    if (g_hash_table_size(setups->known) == SETUPS_MOST) {
        GQueue *from = setups->ended.length > 0 ? &setups->ended : &setups->open;

        setups->forgotten += from == &setups->open;
        forget(setups, g_queue_peek_head(from));
    }
    setup = g_new0(struct setup, 1);
    setup->key = key;
    setup->qpn = op->connect->qpn;
    setup->link.data = setup;
    g_hash_table_insert(setups->known, &setup->key, setup);
    g_queue_push_tail_link(&setups->open, &setup->link);
    add_packet(setups, setup);
}

static bool is_of(const struct setup *setup, uint32_t acceptor_id)
{
    return setup &&
           (setup->acceptor_id == 0 || acceptor_id == 0 || setup->acceptor_id == acceptor_id);
}

/* What either end may send. */
static struct setup *find(const struct capture_setups *setups, const struct rpcrdma_op *op)
{
    uint32_t local = op->connect ? op->connect->local_comm_id : 0;
    uint32_t remote = op->connect ? op->connect->remote_comm_id : 0;
    struct setup_key key = key_of(op, true, local);
    struct setup *setup = g_hash_table_lookup(setups->known, &key);

    if (is_of(setup, remote))
        return setup;
    key = key_of(op, false, remote);
    setup = g_hash_table_lookup(setups->known, &key);
    return is_of(setup, local) ? setup : NULL;
}

static void answer(struct capture_setups *setups, const struct rpcrdma_op *op)
{
    struct setup_key key = key_of(op, false, op->connect->remote_comm_id);
    struct setup *setup = g_hash_table_lookup(setups->known, &key);

    if (!setup || setup->ended_frame > 0 || setup->n != 1)
        return;
    setup->acceptor_id = op->connect->local_comm_id;
    add_packet(setups, setup);
}

static void ended(struct capture_setups *setups, const struct rpcrdma_op *op)
{
    struct setup *setup = find(setups, op);

    if (!setup || setup->ended_frame > 0)
        return;
    g_queue_unlink(&setups->open, &setup->link);
    setup->ended_frame = setups->packet->frame;
    g_queue_push_tail_link(&setups->ended, &setup->link);
}

void capture_setups_op(struct capture_setups *setups, const struct rpcrdma_op *op)
{
    struct setup *setup;

    switch (op->kind) {
    case RPCRDMA_OP_CONNECT:
        if (op->connect)
            request(setups, op);
        break;
    case RPCRDMA_OP_ACCEPT:
        if (op->connect)
            answer(setups, op);
        break;
    case RPCRDMA_OP_ESTABLISHED:
        setup = op->connect ? find(setups, op) : NULL;
        if (setup && setup->ended_frame == 0 && setup->n == 2)
            add_packet(setups, setup);
        break;
    case RPCRDMA_OP_REJECT:
    case RPCRDMA_OP_DISCONNECT:
    case RPCRDMA_OP_RESET:
        ended(setups, op);
        break;
    default:
        break;
    }
}

static int by_frame(const void *left, const void *right)
{
    const struct setup_packet *const *a = left, *const *b = right;

    return ((*a)->packet.frame > (*b)->packet.frame) - ((*a)->packet.frame < (*b)->packet.frame);
}

/* Those of one connection before `frame`; how many bytes a file needs for them. */
static uint64_t choose(const struct setup *setup, uint64_t frame, GPtrArray *to)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < setup->n; i++)
        if (setup->packets[i].packet.frame < frame) {
            g_ptr_array_add(to, (gpointer)&setup->packets[i]);
            bytes += setup->packets[i].packet.caplen + BLOCK;
        }
    return bytes;
}

/* Those that ended before it are of no use any more. */
static void forget_ended(struct capture_setups *setups, uint64_t frame)
{
    struct setup *setup;

    while ((setup = g_queue_peek_head(&setups->ended)) && setup->ended_frame < frame)
        forget(setups, setup);
}

/* Of one queue the latest that fit into so many bytes; how many bytes they need. Where some in
 * sequence do not, older ones are not tried: there is hardly any room left. */
static uint64_t choose_latest(struct capture_setups *setups, const GQueue *queue, uint64_t frame,
                              uint64_t bytes, GPtrArray *chosen)
{
    enum { TRIED = 16 };
    uint64_t used = 0;
    guint left = queue->length, tried = 0;

    for (const GList *at = queue->tail; at && tried < TRIED; at = at->prev, left--) {
        guint before = chosen->len;
        uint64_t needed = choose(at->data, frame, chosen);

        if (needed > bytes - used) {
            g_ptr_array_set_size(chosen, (gint)before);
            setups->no_room++;
            tried++;
            continue;
        }
        used += needed;
        tried = 0;
    }
    if (tried == TRIED)
        setups->no_room += left;
    return used;
}

uint64_t capture_setups_each(struct capture_setups *setups, uint64_t frame, uint64_t bytes,
                             void (*each)(void *context, uint32_t interface,
                                          const struct rpcrdma_packet *packet),
                             void *context)
{
    GPtrArray *chosen = g_ptr_array_new();
    uint64_t used;

    forget_ended(setups, frame);
    used = choose_latest(setups, &setups->ended, frame, bytes, chosen);
    used += choose_latest(setups, &setups->open, frame, bytes - used, chosen);
    if (chosen->len > 1)
        qsort(chosen->pdata, chosen->len, sizeof(*chosen->pdata), by_frame);
    for (guint i = 0; i < chosen->len; i++) {
        const struct setup_packet *one = g_ptr_array_index(chosen, i);

        each(context, one->interface, &one->packet);
    }
    g_ptr_array_unref(chosen);
    return used;
}
