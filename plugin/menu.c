/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "menu.h"

#include <epan/plugin_if.h>
#include <wsutil/report_message.h>

#include "wireshark/protocol.h"

/*
 * Tools > RPC-over-RDMA > Report: `rpcrdma report` of the open file, in the user's browser. The
 * entry is there where the command is installed. The file is what was captured or saved: neither a
 * display filter nor the preferences apply.
 */

static char *command; /* its path */

/* Wireshark goes on meanwhile: a shell waits for the report, and opens it, or what went wrong. */
static const char script[] =
    "if \"$1\" report --quiet --html \"$3\" \"$2\" >\"$4\" 2>&1; then xdg-open \"$3\"; "
    "else xdg-open \"$4\"; fi";

static void show_report(const char *file)
{
    GError *error = NULL;
    char *folder = g_dir_make_tmp("rpcrdma-report-XXXXXX", &error);
    char *html = folder ? g_build_filename(folder, "report.html", NULL) : NULL;
    char *said = folder ? g_build_filename(folder, "errors.txt", NULL) : NULL;
    const char *arguments[] = {"/bin/sh", "-c", script, "sh", command, file, html, said, NULL};

    if (folder)
        g_spawn_async(NULL, (char **)(uintptr_t)arguments, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL,
                      &error);
    if (error)
        report_failure("RPC-over-RDMA: no report: %s", error->message);
    g_clear_error(&error);
    g_free(folder);
    g_free(html);
    g_free(said);
}

static void on_report(ext_menubar_gui_type gui, void *object, void *data)
{
    ws_info_t *info = NULL;

    (void)gui;
    (void)object;
    (void)data;
    plugin_if_get_ws_info(&info);
    if (info && info->ws_info_supported && info->cf_filename)
        show_report(info->cf_filename);
    else
        report_failure(
            "RPC-over-RDMA: there is no file to report on: open one, or save what was captured.");
}

void menu_register(void)
{
    ext_menu_t *menu;

    g_free(command);
    command = g_find_program_in_path("rpcrdma");
    if (!command)
        return;
    menu = ext_menubar_register_menu(proto_rpcrdma, "RPC-over-RDMA", TRUE);
    ext_menubar_set_parentmenu(menu, "Tools");
    ext_menubar_add_entry(menu, "Report", "What is wrong in this file, and where the time went",
                          on_report, NULL);
}
