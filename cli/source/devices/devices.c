/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/devices/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "common/plural.h"
#include "source/bytes/pipe_feed.h"
#include "source/devices/pump.h"
#include "source/devices/record.h"
#include "source/formats/file.h"
#include "source/formats/pcapng_writer.h"
#include "source/rights/descriptors.h"
#include "source/rights/privilege.h"
#include "source/rights/sandbox.h"

enum { PIPE_SIZE = 1024 * 1024, NEWS = 64 };

/* How a line of the other process begins that reports no failure. */
#define NEWS_MARK "\n"

struct devices {
    struct source source;
    struct source *file; /* what comes through the pipe */
    struct feed *feed;   /* how; the file's */
    int packets;         /* the pipe; the file's to close */
    int control;         /* the other process's words: one line each */
    pid_t child;         /* 0: it was waited for */
    bool ended;
    char error[DEVICE_ERROR]; /* source.error */
    char *news[NEWS];         /* what happened to devices, reported at the end */
    size_t n_news;
};

/* The capturing process. */

struct capturing {
    struct pump pump;
    struct pcapng_writer writer;
    int control;
    size_t news;
};

static void say(int control, const char *line)
{
    char message[DEVICE_ERROR + 1];
    int n = snprintf(message, sizeof(message), "%s", line);

    /* a caller that is gone needs no word, and SIGPIPE is ignored */
    if (write(control, message, (size_t)n + 1) < 0)
        return;
}

static void on_packet(void *context, uint32_t device, const struct rpcrdma_packet *packet)
{
    struct capturing *capturing = context;

    pcapng_write_packet(&capturing->writer, device, false, packet, NULL);
    capturing->pump.stop = capturing->writer.error != 0;
}

static void on_pause(void *context)
{
    struct capturing *capturing = context;

    capturing->pump.stop = !pcapng_writer_flush(&capturing->writer);
}

static void on_tick(void *context)
{
    struct capturing *capturing = context;

    for (uint32_t i = 0; i < capturing->pump.n; i++)
        record_statistics(&capturing->writer, i, capturing->pump.devices[i]);
}

static void on_lost(void *context, uint32_t device, const char *error)
{
    struct capturing *capturing = context;

    (void)device;
    say(capturing->control, error);
}

/* Those beyond would fill the socket, which is read at the end. */
static void on_news(void *context, uint32_t device, const char *line)
{
    struct capturing *capturing = context;
    char marked[DEVICE_ERROR];

    (void)device;
    if (capturing->news++ >= NEWS)
        return;
    snprintf(marked, sizeof(marked), NEWS_MARK "%s", line);
    say(capturing->control, marked);
}

static bool open_all(struct capturing *capturing, char *const *names,
                     const struct devices_config *config, char *error, size_t size)
{
    for (uint32_t i = 0; i < capturing->pump.n; i++) {
        capturing->pump.devices[i] = device_open(names[i], &config->device, error, size);
        if (!capturing->pump.devices[i])
            return false;
    }
    return device_confine(capturing->pump.devices, capturing->pump.n, config->no_sandbox, error,
                          size);
}

_Noreturn static void capture(char *const *names, size_t n, const struct devices_config *config,
                              int control, int pipe)
{
    static const struct pump_sink sink = {on_packet, on_pause, on_tick, on_lost, on_news, NULL};
    struct capturing capturing = {.control = control};
    struct pump_sink mine = sink;
    int keep[] = {control, pipe, interrupt_fd()};
    char error[DEVICE_ERROR];

    signal(SIGPIPE, SIG_IGN);
    descriptors_close_but(keep, sizeof(keep) / sizeof(keep[0]));
    mine.context = &capturing;
    capturing.pump.n = (uint32_t)n;
    capturing.pump.devices = calloc(n, sizeof(struct device *));
    capturing.pump.count = config->count;
    capturing.pump.duration_ns = config->duration_ns;
    snprintf(error, sizeof(error), "out of memory");
    if (!capturing.pump.devices || !open_all(&capturing, names, config, error, sizeof(error)) ||
        !pcapng_writer_open(&capturing.writer, pipe, NULL)) {
        say(control, error);
        _exit(EXIT_FAILURE);
    }
    capturing.writer.patient = true; /* the analysis may take longer, and its end closes the pipe */
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* a change of user would have cleared it */
    say(control, "");                 /* so far, so good */
    for (uint32_t i = 0; i < n; i++)
        record_interface(&capturing.writer, capturing.pump.devices[i]);
    on_tick(&capturing); /* what can be counted at all */
    pump_run(&capturing.pump, &mine);
    on_tick(&capturing);
    pcapng_writer_close(&capturing.writer);
    for (uint32_t i = 0; i < n; i++)
        device_close(capturing.pump.devices[i]);
    free(capturing.pump.devices);
    _exit(EXIT_SUCCESS);
}

/* The caller's process. */

/* The next line the other process says, or said. False: it will say nothing more. */
static bool heard(int control, char *line, size_t size)
{
    ssize_t n;

    do {
        n = recv(control, line, size - 1, 0);
    } while (n < 0 && errno == EINTR);
    line[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The same of a line that reports a failure; the others are kept. */
static bool heard_failure(struct devices *devices, char *line, size_t size)
{
    while (heard(devices->control, line, size)) {
        if (*line != *NEWS_MARK)
            return true;
        if (devices->n_news < NEWS)
            devices->news[devices->n_news++] = strdup(line + 1);
    }
    return false;
}

/* How the other process ended: false where that was in good order, or was reported before. Its last
 * word was heard. */
static bool failed(struct devices *devices, char *text, size_t size)
{
    int status = 0;

    if (devices->child == 0)
        return false;
    while (waitpid(devices->child, &status, 0) < 0 && errno == EINTR)
        continue;
    devices->child = 0;
    if (WIFSIGNALED(status))
        snprintf(text, size,
                 "the process that captures was killed by signal %d (%s): what came after is lost",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != EXIT_SUCCESS)
        snprintf(text, size, "the process that captures failed: what came after is lost");
    else
        return false;
    return true;
}

/* Whether the other process is gone, or is about to be. */
static bool gone(const struct devices *devices)
{
    enum { LONG_MS = 5000 };
    struct pollfd fd = {.fd = devices->control, .events = POLLIN};

    return poll(&fd, 1, LONG_MS) > 0;
}

static enum source_status next(struct source *source, struct source_packet *packets, size_t max,
                               size_t *n)
{
    struct devices *devices = (struct devices *)source;
    enum source_status status = SOURCE_END;

    *n = 0;
    if (!devices->ended)
        status = source_next(devices->file, packets, max, n);
    if (status == SOURCE_OK)
        return status;
    if (pipe_feed_silent(devices->feed)) { /* it will not say how it ended, either */
        snprintf(devices->error, sizeof(devices->error), "%s", feed_error(devices->feed));
        status = devices->ended ? SOURCE_END : SOURCE_ERROR;
        devices->ended = true;
        return status;
    }
    devices->ended = true;
    if (status == SOURCE_ERROR) { /* what it sends is cut short by its end */
        snprintf(devices->error, sizeof(devices->error), "%s", devices->file->error);
        if (!gone(devices))
            return status;
    }
    /* why it ended, if it was not asked to */
    if (heard_failure(devices, devices->error, sizeof(devices->error)) ||
        failed(devices, devices->error, sizeof(devices->error)))
        return SOURCE_ERROR;
    return status;
}

static bool interface(const struct source *source, uint32_t number, struct source_interface *out)
{
    const struct devices *devices = (const struct devices *)source;

    if (!source_interface(devices->file, number, out))
        return false;
    out->input = out->name;
    return true;
}

static void stats(const struct source *source, struct source_stats *out)
{
    source_stats(((const struct devices *)source)->file, out);
}

void source_devices_news(const struct source *source, void (*line)(void *context, const char *text),
                         void *context)
{
    const struct devices *devices = (const struct devices *)source;

    for (size_t i = 0; i < devices->n_news; i++)
        if (devices->news[i])
            line(context, devices->news[i]);
}

static void report(const struct source *source, void (*line)(void *context, const char *text),
                   void *context)
{
    struct source_interface one;
    char text[400];

    source_devices_news(source, line, context);
    for (uint32_t i = 0; interface(source, i, &one); i++) {
        if (!one.dropped_known && !((const struct devices *)source)->ended)
            continue; /* we did not wait for its last word */
        if (!one.dropped_known)
            snprintf(text, sizeof(text), "%s: it is unknown how many packets were lost", one.name);
        else if (one.dropped > 0)
            snprintf(text, sizeof(text), "%s: %llu packet%s", one.name,
                     (unsigned long long)one.dropped, plural_lost(one.dropped));
        else
            continue;
        line(context, text);
    }
}

/* It was asked to end; one that was stopped does not hear that. */
static void end_child(struct devices *devices)
{
    enum { TURNS = 150, TURN_NS = 20000000 };
    pid_t ended = 0;

    for (int i = 0; devices->child != 0 && ended == 0; i++) {
        struct timespec turn = {.tv_nsec = TURN_NS};

        ended = waitpid(devices->child, NULL, WNOHANG);
        if (ended != 0)
            break;
        if (i == TURNS && kill(devices->child, SIGKILL) != 0)
            return; /* it learns of its parent's end as well */
        nanosleep(&turn, NULL);
    }
}

static void close_devices(struct source *source)
{
    struct devices *devices = (struct devices *)source;

    interrupt_raise();
    source_close(devices->file); /* a capture that waits for room in the pipe gets EPIPE */
    close(devices->control);
    for (size_t i = 0; i < devices->n_news; i++)
        free(devices->news[i]);
    end_child(devices);
    free(devices);
}

void source_devices_stop(struct source *source)
{
    (void)source;
    interrupt_raise();
}

int source_devices_fd(const struct source *source, bool *at_hand)
{
    const struct file *file = (const struct file *)((const struct devices *)source)->file;

    *at_hand = file->in->pos < file->in->end;
    return ((const struct devices *)source)->packets;
}

static struct devices *start(char *const *names, size_t n, const struct devices_config *config,
                             int control[2], int pipe[2], char *error, size_t size)
{
    static const struct source_ops ops = {.next = next,
                                          .interface = interface,
                                          .stats = stats,
                                          .report = report,
                                          .close = close_devices};
    struct devices *devices = calloc(1, sizeof(*devices));
    pid_t child = devices && interrupt_watch() ? fork() : -1;

    if (child == 0) {
        close(control[0]);
        close(pipe[0]);
        capture(names, n, config, control[1], pipe[1]);
    }
    if (child < 0) {
        snprintf(error, size, "no process to capture with: %s", strerror(errno));
        free(devices);
        return NULL;
    }
    devices->source.ops = &ops;
    devices->source.live = true;
    devices->source.error = devices->error;
    devices->child = child;
    devices->control = control[0];
    return devices;
}

struct source *source_devices_open(char *const *names, size_t n,
                                   const struct devices_config *config, char *error, size_t size)
{
    struct devices *devices;
    int control[2], pipe[2];
    char line[DEVICE_ERROR];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
        snprintf(error, size, "%s", strerror(errno));
        return NULL;
    }
    if (pipe2(pipe, O_CLOEXEC) != 0) {
        snprintf(error, size, "%s", strerror(errno));
        close(control[0]);
        close(control[1]);
        return NULL;
    }
    fcntl(pipe[1], F_SETPIPE_SZ, PIPE_SIZE); /* fewer wake-ups; it works without */
    devices = start(names, n, config, control, pipe, error, size);
    close(control[1]);
    close(pipe[1]);
    if (!devices) {
        close(control[0]);
        close(pipe[0]);
        return NULL;
    }
    snprintf(error, size, "the capture did not begin");
    if (!heard(devices->control, line, sizeof(line))) {
        failed(devices, error, size);
        close(pipe[0]);
    } else if (*line) {
        snprintf(error, size, "%s", line);
        close(pipe[0]);
    } else if (!privilege_drop(error, size)) {
        close(pipe[0]);
    } else {
        if (!config->no_sandbox)
            sandbox_enter(&(struct sandbox){.child = devices->child});
        devices->packets = pipe[0];
        devices->feed = pipe_feed_new(pipe[0], names[0]);
        devices->file = source_file_open_feed(devices->feed, error, size);
    }
    if (devices->file) {
        ((struct file *)devices->file)->eager = true; /* counts come while no packet does */
        return &devices->source;
    }
    close_devices(&devices->source);
    return NULL;
}
