/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_COMPAT_H
#define RPCRDMA_PLUGIN_COMPAT_H

/* Wireshark 4.0 to 4.6: what differs between them, and is used here. */

#include <stdbool.h>
#include <stdint.h>

#include <wireshark.h>
#include <ws_version.h>

#include <epan/expert.h>
#include <epan/packet.h>
#include <epan/prefs.h>
#include <epan/proto.h>

#define WIRESHARK_AT_LEAST(major, minor)                                                           \
    (WIRESHARK_VERSION_MAJOR > (major) ||                                                          \
     (WIRESHARK_VERSION_MAJOR == (major) && WIRESHARK_VERSION_MINOR >= (minor)))

/* A heuristic's answer, and what a boolean preference is written to: 4 bytes before 4.4. */
#if WIRESHARK_AT_LEAST(4, 4)
typedef bool ws_bool;
#else
typedef gboolean ws_bool;
#endif

/* What parts the menus in the name of a statistic. */
#include <epan/stats_tree.h>
#ifndef STATS_TREE_MENU_SEPARATOR
#define STATS_TREE_MENU_SEPARATOR "/"
#endif

/* The answer of who starts a statistic, from 4.6 on. */
#if WIRESHARK_AT_LEAST(4, 6)
typedef bool stat_tap_result;
#define STAT_TAP_DONE true
#define STAT_TAP_FAILED false
#else
typedef void stat_tap_result;
#define STAT_TAP_DONE
#define STAT_TAP_FAILED
#endif

/* A conversation filter is given what it was registered with, from 4.2 on: a last parameter, and a
 * last argument. */
#if WIRESHARK_AT_LEAST(4, 2)
#define AND_USER_DATA , void *user_data_ G_GNUC_UNUSED
#define AND_NO_USER_DATA , NULL
#else
#define AND_USER_DATA
#define AND_NO_USER_DATA
#endif

#endif
