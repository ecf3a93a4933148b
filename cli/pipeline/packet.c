/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet unlike the one before it: what changed, and whether it can be read. */
#include "pipeline/private.h"

#include <inttypes.h>

#include "common/escape.h"
#include "common/times.h"

/* Says once of a link type that its packets cannot be read. */
static void refuse(struct pipeline *pipeline, const struct source_packet *packet)
{
    struct pipeline_private *own = pipeline->own;
    uint32_t linktype = packet->packet.linktype;
    struct source_interface interface = {0};
    char name[200] = "";

    for (size_t i = 0; i < own->n_links_refused; i++)
        if (own->links_refused[i] == linktype)
            return;
    if (own->n_links_refused < N_LINKS)
        own->links_refused[own->n_links_refused++] = linktype;
    source_interface(own->source, packet->interface, &interface);
    if (interface.name)
        escape_text(name, sizeof(name), interface.name);
    pipeline_unusable(pipeline,
                      "%s: packet %" PRIu64 ": link type %" PRIu32
                      "%s%s is not known here; its packets are left out",
                      interface.input, packet->packet.frame, linktype, interface.name ? " of " : "",
                      name);
}

static bool link_known(struct pipeline *pipeline, const struct source_packet *packet)
{
    struct pipeline_private *own = pipeline->own;
    uint32_t linktype = packet->packet.linktype;

    if (own->link_checked && own->link_known == linktype)
        return true;
    if (!rpcrdma_net_link_known(linktype)) {
        if (pipeline->by_file)
            pipeline_by_file_left_out(pipeline, packet->packet.frame);
        refuse(pipeline, packet);
        return false;
    }
    own->link_checked = true;
    own->link_known = linktype;
    return true;
}

enum {
    QUEUES_NS = 10000000, /* an interface's own queues may change places: that is no clock */
    TURNS_NS = 1000000000 /* several interfaces are read by turns */
};

static void note_back(struct pipeline *pipeline, int64_t by_ns)
{
    if (pipeline->back_frame == 0)
        pipeline->back_frame = pipeline->clock.frame;
    pipeline->back_ns = MAX(pipeline->back_ns, by_ns);
}

static void set_back(struct pipeline *pipeline, struct interface_clock *clock, int64_t by_ns)
{
    struct pipeline_private *own = pipeline->own;

    if (by_ns < QUEUES_NS) {
        own->disorder++;
        own->disorder_ns = MAX(own->disorder_ns, by_ns);
        return;
    }
    note_back(pipeline, by_ns);
    if (++clock->set_back > own->set_back) /* the same clock, as a rule, seen at each interface */
        pipeline->n_back = own->set_back = clock->set_back;
    if (by_ns > own->set_back_ns)
        own->set_back_ns = by_ns;
}

/* A new interface of a file: does it begin before the end of what stands before it? */
static void begin_part(struct pipeline *pipeline, struct interface_clock *clock, int64_t now_ns)
{
    struct pipeline_private *own = pipeline->own;
    struct source_interface interface = {0};
    bool sections = false;
    int64_t by_ns = 0;
    size_t before = 0;

    if (pipeline->options->n_devices > 0 ||
        !source_interface(own->source, clock->interface, &interface))
        return;
    clock->input = interface.input;
    clock->section = interface.section;
    for (size_t i = 0; i < N_CLOCKS; i++) {
        const struct interface_clock *other = &own->clocks[i];

        if (!other->started || other == clock || other->input != clock->input)
            continue;
        before++;
        sections |= other->section != clock->section;
        if (now_ns < other->latest_ns && time_less(other->latest_ns, now_ns) > by_ns)
            by_ns = time_less(other->latest_ns, now_ns);
    }
    if (by_ns < (sections && before == 1 ? QUEUES_NS : TURNS_NS))
        return;
    note_back(pipeline, by_ns);
    /* each interface of a section begins there */
    if (!sections || own->parts.newest != clock->input || own->parts.section != clock->section)
        own->parts.back++;
    own->parts.newest = clock->input;
    own->parts.section = clock->section;
    own->parts.sections |= sections;
    if (by_ns > own->parts.back_ns)
        own->parts.back_ns = by_ns;
    if (!own->parts.input)
        own->parts.input = g_strdup(interface.input);
}

/* Nothing at all passed between these. */
static void note_idle(struct pipeline *pipeline, int64_t since_ns, int64_t until_ns)
{
    if (time_less(until_ns, since_ns) >= (int64_t)PIPELINE_IDLE_NS)
        pipeline->idle[pipeline->n_idle++ % PIPELINE_IDLE_KEPT] =
            (struct pipeline_idle){since_ns, until_ns};
}

/* Steps of a clock: of fine ones, packets of RDMA are closer together, or have times of their own.
 */
static void look_at_steps(struct pipeline *pipeline, struct interface_clock *clock, int64_t now_ns)
{
    enum { LEAST = 32, MANY = 1024, SHARE = 8 };
    int64_t ns = now_ns > clock->latest_ns ? time_less(now_ns, clock->latest_ns)
                                           : time_less(clock->latest_ns, now_ns);

    clock->looked++;
    clock->same += ns == 0;
    if (ns > 0 && (clock->step_ns == 0 || ns < clock->step_ns))
        clock->step_ns = ns;
    clock->fine = (clock->step_ns > 0 && clock->step_ns < PIPELINE_STEP_NS) ||
                  (clock->looked >= MANY && clock->same * SHARE < clock->looked);
    pipeline->step_ns = 0;
    for (size_t i = 0; i < N_CLOCKS; i++) {
        const struct interface_clock *one = &pipeline->own->clocks[i];

        if (one->started && !one->fine && one->looked >= LEAST && one->same * SHARE >= one->looked)
            pipeline->step_ns = MAX(pipeline->step_ns, one->step_ns > 0 ? one->step_ns : INT64_MAX);
    }
}

static void look_at_clock(struct pipeline *pipeline, const struct source_packet *one)
{
    struct pipeline_private *own = pipeline->own;
    struct interface_clock *clock = &own->clocks[one->interface % N_CLOCKS];
    int64_t now = one->packet.time_ns;

    if (!clock->started || clock->interface != one->interface) {
        *clock = (struct interface_clock){.started = true, .interface = one->interface};
        begin_part(pipeline, clock, now);
    } else {
        if (!clock->fine)
            look_at_steps(pipeline, clock, now);
        if (now < clock->latest_ns) {
            set_back(pipeline, clock, time_less(clock->latest_ns, now));
            own->newest_ns = now;
        }
    }
    clock->latest_ns = now;
    if (own->any_newest)
        note_idle(pipeline, own->newest_ns, now);
    own->newest_ns = own->any_newest ? MAX(own->newest_ns, now) : now;
    own->any_newest = true;
}

static void start_clock(struct pipeline *pipeline, const struct source_packet *one)
{
    struct source_interface interface = {0};

    pipeline->clock.started = !one->replayed;
    pipeline->own->any_time = true;
    pipeline->clock.start_ns = one->packet.time_ns;
    if (source_interface(pipeline->own->source, one->interface, &interface))
        pipeline->clock.nanoseconds = interface.ticks > 1000000;
    if (pipeline->clock.started && pipeline->first)
        pipeline->first(pipeline->first_context);
}

static void note(struct pipeline *pipeline, const struct source_packet *one)
{
    if (!pipeline->clock.notes)
        pipeline->clock.notes = g_new0(struct packet_notes, 1);
    packet_notes_add(pipeline->clock.notes, one->packet.frame, (uint8_t)one->direction,
                     one->comment, one->comment_len);
}

/* It stays out of the way of usual packets. */
__attribute__((noinline)) bool pipeline_look_at(struct pipeline *pipeline,
                                                const struct source_packet *one)
{
    struct pipeline_private *own = pipeline->own;
    struct interface_clock *clock;

    if (own->usual)
        own->newest_ns = MAX(own->newest_ns, own->usual->latest_ns);
    own->usual = NULL;
    pipeline->in_cut = one->cut;
    if (!pipeline->clock.started && !(one->replayed && own->any_time))
        start_clock(pipeline, one);
    if (pipeline_has_notes(one))
        note(pipeline, one);
    if (!link_known(pipeline, one))
        return false;
    if (!one->replayed)
        look_at_clock(pipeline, one);
    if (!own->placed || one->interface != own->interface) {
        own->placed = true;
        own->interface = one->interface;
        rpcrdma_flow_tap(own->flow, one->interface < UINT8_MAX ? (uint8_t)(one->interface + 1) : 0);
    }
    clock = &own->clocks[one->interface % N_CLOCKS];
    if (!one->replayed && !one->cut && clock->fine)
        own->usual = clock;
    return true;
}
