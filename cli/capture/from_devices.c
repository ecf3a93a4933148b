/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of devices into files without a look at them: in one process. */
#include "capture/run.h"

#include <stdio.h>

#include "common/complain.h"
#include "common/interrupt.h"
#include "output/finish.h"
#include "source/devices/pump.h"
#include "source/devices/record.h"

struct direct {
    struct capture *capture;
    struct pump pump;
};

static void on_packet(void *context, uint32_t device, const struct rpcrdma_packet *one)
{
    struct direct *direct = context;

    direct->capture->packets++;
    capture_files_came(&direct->capture->files, one->time_ns);
    capture_files_packet(&direct->capture->files, device, one, NULL);
    direct->pump.stop = capture_enough(direct->capture);
}

static void on_pause(void *context)
{
    struct direct *direct = context;

    capture_files_flush(&direct->capture->files);
    direct->pump.stop = direct->capture->files.failed;
}

static void refresh_from_device(void *context, uint32_t number)
{
    struct direct *direct = context;
    struct device_stats stats = {0};
    struct pcapng_statistics counts;
    char comment[200];

    direct->pump.devices[number]->ops->stats(direct->pump.devices[number], &stats);
    record_counts(&stats, &counts, comment, sizeof(comment));
    capture_files_statistics(&direct->capture->files, number, &counts);
}

static void on_tick(void *context)
{
    struct direct *direct = context;

    for (uint32_t i = 0; i < direct->pump.n; i++)
        refresh_from_device(context, i);
    on_pause(context);
}

static void on_lost(void *context, uint32_t device, const char *error)
{
    struct direct *direct = context;

    (void)device;
    complain("%s", error);
    direct->capture->status = EXIT_UNUSABLE;
}

static void on_news(void *context, uint32_t device, const char *line)
{
    struct direct *direct = context;

    (void)device;
    if (!direct->capture->options->quiet)
        complain("%s", line);
}

int capture_from_devices(struct capture *capture)
{
    const struct options *options = capture->options;
    struct direct direct = {.capture = capture};
    struct pump_sink sink = {on_packet, on_pause, on_tick, on_lost, on_news, &direct};
    char error[DEVICE_ERROR];
    bool good = interrupt_watch();

    capture->files.refresh = refresh_from_device;
    capture->files.context = &direct;
    direct.pump.devices = g_new0(struct device *, options->n_devices);
    direct.pump.duration_ns = options->live.duration_ns;
    snprintf(error, sizeof(error), "signals cannot be watched for");
    for (; good && direct.pump.n < options->n_devices; direct.pump.n++) {
        struct device *one = device_open(options->devices[direct.pump.n], &options->live.device,
                                         error, sizeof(error));

        direct.pump.devices[direct.pump.n] = one;
        good = one != NULL;
        if (!good)
            break;
    }
    if (!good || !device_confine(direct.pump.devices, direct.pump.n, options->no_sandbox, error,
                                 sizeof(error))) {
        complain("%s", error);
        capture->status = EXIT_UNUSABLE;
    } else if (capture_files_open(&capture->files)) {
        for (uint32_t i = 0; i < direct.pump.n; i++)
            capture_files_interface(
                &capture->files,
                &(struct pcapng_interface){.linktype = direct.pump.devices[i]->linktype,
                                           .snaplen = direct.pump.devices[i]->snaplen,
                                           .name = direct.pump.devices[i]->name,
                                           .description = direct.pump.devices[i]->description,
                                           .filter = direct.pump.devices[i]->filter,
                                           .comment = direct.pump.devices[i]->clock});
        pump_run(&direct.pump, &sink);
        on_tick(&direct);
    }
    for (uint32_t i = 0; i < direct.pump.n; i++)
        device_close(direct.pump.devices[i]);
    g_free(direct.pump.devices);
    capture->files.refresh = NULL; /* its context ends here */
    capture->files.context = NULL;
    return capture->status;
}
