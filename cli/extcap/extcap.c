/* SPDX-License-Identifier: BSD-2-Clause */
#include "extcap/extcap.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/complain.h"
#include "common/escape.h"
#include "options/options.h"
#include "source/devices/device.h"
#include "version.h"

/* Before the device's name: libpcap may list the same device, and captures it in its own way. */
#define PREFIX "rpcrdma-"

enum { LINK_INFINIBAND = 247 };

bool extcap_is(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (g_str_has_prefix(argv[i], "--extcap-"))
            return true;
    return false;
}

/* Text within braces: the protocol has no way to write a brace. */
static void put_within(const char *text)
{
    const char *end = text + strlen(text);
    char piece[ESCAPE_MOST];

    while (text < end) {
        if (*text == '{' || *text == '}')
            printf("\\x%02x", (unsigned)*text++);
        else if (escape_next(&text, end, piece) > 0)
            fputs(piece, stdout);
    }
}

/* What Wireshark gives back is to be the device's name. */
static bool has_value(const char *name)
{
    const char *end = name + strlen(name);
    char piece[ESCAPE_MOST];

    while (name < end) {
        const char *from = name;

        if (*name == '{' || *name == '}' || escape_next(&name, end, piece) != (size_t)(name - from))
            return false;
    }
    return true;
}

static void on_interface(void *context, const struct device_entry *entry)
{
    (void)context;
    if (!entry->rdma)
        return;
    if (!has_value(entry->name)) {
        complain("%s: a device of this name cannot be offered to Wireshark", entry->name);
        return;
    }
    printf("interface {value=" PREFIX "%s}{display=RDMA device: %s", entry->name, entry->name);
    if (*entry->about) {
        fputs(" (", stdout);
        put_within(entry->about);
        putchar(')');
    }
    puts("}");
}

static int interfaces(void)
{
    char error[DEVICE_ERROR];

    puts("extcap {version=" RPCRDMA_VERSION "}{display=RDMA capture by rpcrdma}");
    /* a list that cannot be had is an empty one: Wireshark starts without */
    device_list(false, on_interface, NULL, error, sizeof(error));
    return EXIT_DONE;
}

struct looking {
    const char *name;
    bool found, infiniband;
};

static void on_look(void *context, const struct device_entry *entry)
{
    struct looking *looking = context;

    if (!entry->rdma || strcmp(entry->name, looking->name) != 0)
        return;
    looking->found = true;
    looking->infiniband = strcmp(entry->link, "InfiniBand") == 0;
}

static bool look(struct looking *looking)
{
    char error[DEVICE_ERROR];

    device_list(false, on_look, looking, error, sizeof(error));
    if (!looking->found)
        complain("%s: there is no such RDMA device", looking->name);
    return looking->found;
}

static int dlts(const char *name)
{
    struct looking looking = {.name = name};

    if (!look(&looking))
        return EXIT_UNUSABLE;
    if (looking.infiniband)
        puts("dlt {number=247}{name=INFINIBAND}{display=InfiniBand}");
    else
        puts("dlt {number=1}{name=EN10MB}{display=Ethernet}");
    return EXIT_DONE;
}

static int config(void)
{
    puts("arg {number=0}{call=--slice}{display=Cut file data}{type=boolflag}{default=false}"
         "{tooltip=Keep messages whole, and of the data that RDMA moves the headers}");
    puts("arg {number=1}{call=--rpcrdma-only}{display=RPC-over-RDMA only}{type=boolflag}"
         "{default=false}{tooltip=Leave out packets that belong to no RPC-over-RDMA connection}");
    printf("arg {number=2}{call=--snapshot-length}{display=Bytes of each packet}{type=unsigned}"
           "{range=1,%d}{default=%d}\n",
           DEVICE_SNAPLEN, DEVICE_SNAPLEN);
    puts("arg {number=3}{call=--buffer-size}{display=Buffer in MiB}{type=unsigned}"
         "{range=1,65536}{default=80}{tooltip=10 KiB hold a packet until it is read}");
    return EXIT_DONE;
}

/* Wireshark takes any output for what is wrong with the filter. */
static int check_filter(const char *name, const char *filter)
{
    struct looking looking = {.name = name};
    struct device_filter *compiled;
    char error[DEVICE_ERROR];

    if (!look(&looking))
        return EXIT_UNUSABLE;
    compiled = device_filter_new(filter, looking.infiniband ? LINK_INFINIBAND : 1, DEVICE_SNAPLEN,
                                 error, sizeof(error));
    if (!compiled) {
        put_within(error);
        putchar('\n');
    }
    device_filter_free(compiled);
    return compiled ? EXIT_DONE : EXIT_UNUSABLE;
}

struct arguments {
    gboolean interfaces, dlts, config, capture, slice, only;
    char *interface, *fifo, *filter, *snaplen, *buffer, *version, *reload;
};

static int capture(const struct arguments *a, const char *name)
{
    char *arguments[24];
    int n = 0, status;
    /* Wireshark waits for somebody to open it, even if that is all: then it looks at what was said
     */
    int held = open(a->fifo, O_WRONLY | O_CLOEXEC);

    arguments[n++] = (char *)"capture";
    arguments[n++] = (char *)"-q";
    arguments[n++] = (char *)"-i";
    arguments[n++] = (char *)name;
    arguments[n++] = (char *)"-w";
    arguments[n++] = a->fifo;
    if (a->slice)
        arguments[n++] = (char *)"--slice";
    if (a->only)
        arguments[n++] = (char *)"--rpcrdma-only";
    if (a->filter && *a->filter) {
        arguments[n++] = (char *)"-f";
        arguments[n++] = a->filter;
    }
    if (a->snaplen) {
        arguments[n++] = (char *)"-s";
        arguments[n++] = a->snaplen;
    }
    if (a->buffer) {
        arguments[n++] = (char *)"-B";
        arguments[n++] = a->buffer;
    }
    arguments[n] = NULL;
    status = command_capture.run(&command_capture, n, arguments);
    if (held >= 0)
        close(held);
    return status;
}

static int act(const struct arguments *a)
{
    const char *name = a->interface;

    if (a->interfaces)
        return interfaces();
    if (!name) {
        complain("--extcap-interface is missing");
        return EXIT_UNUSABLE;
    }
    if (g_str_has_prefix(name, PREFIX))
        name += strlen(PREFIX);
    if (a->dlts)
        return dlts(name);
    if (a->config)
        return config();
    if (!a->capture && a->filter)
        return check_filter(name, a->filter);
    if (a->capture && a->fifo)
        return capture(a, name);
    complain("nothing to do: --capture needs --fifo");
    return EXIT_UNUSABLE;
}

int extcap_run(int argc, char **argv)
{
    struct arguments a = {0};
    GOptionEntry entries[] = {
        {"extcap-interfaces", 0, 0, G_OPTION_ARG_NONE, &a.interfaces, NULL, NULL},
        {"extcap-version", 0, 0, G_OPTION_ARG_STRING, &a.version, NULL, NULL},
        {"extcap-interface", 0, 0, G_OPTION_ARG_STRING, &a.interface, NULL, NULL},
        {"extcap-dlts", 0, 0, G_OPTION_ARG_NONE, &a.dlts, NULL, NULL},
        {"extcap-config", 0, 0, G_OPTION_ARG_NONE, &a.config, NULL, NULL},
        {"extcap-reload-option", 0, 0, G_OPTION_ARG_STRING, &a.reload, NULL, NULL},
        {"extcap-capture-filter", 0, 0, G_OPTION_ARG_STRING, &a.filter, NULL, NULL},
        {"capture", 0, 0, G_OPTION_ARG_NONE, &a.capture, NULL, NULL},
        {"fifo", 0, 0, G_OPTION_ARG_FILENAME, &a.fifo, NULL, NULL},
        {"slice", 0, 0, G_OPTION_ARG_NONE, &a.slice, NULL, NULL},
        {"rpcrdma-only", 0, 0, G_OPTION_ARG_NONE, &a.only, NULL, NULL},
        {"snapshot-length", 0, 0, G_OPTION_ARG_STRING, &a.snaplen, NULL, NULL},
        {"buffer-size", 0, 0, G_OPTION_ARG_STRING, &a.buffer, NULL, NULL},
        G_OPTION_ENTRY_NULL,
    };
    GOptionContext *context = g_option_context_new(NULL);
    char **copy = g_new0(char *, (gsize)argc + 1);
    GError *error = NULL;
    int status = EXIT_UNUSABLE;

    for (int i = 0; i < argc; i++)
        copy[i] = g_strdup(argv[i]);
    g_option_context_add_main_entries(context, entries, NULL);
    if (g_option_context_parse_strv(context, &copy, &error)) {
        status = act(&a);
    } else {
        complain("%s", error->message);
        g_error_free(error);
    }
    g_strfreev(copy);
    g_option_context_free(context);
    g_free(a.interface);
    g_free(a.fifo);
    g_free(a.filter);
    g_free(a.snaplen);
    g_free(a.buffer);
    g_free(a.version);
    g_free(a.reload);
    return status;
}
