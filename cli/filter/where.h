/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_FILTER_WHERE_H
#define RPCRDMA_CLI_FILTER_WHERE_H

/* The option --where, of every command that has it. */

#include <glib.h>

#include "command.h"
#include "filter/filter.h"

/* FILENAME: as it was given. What GLib makes of a text goes by the locale, which the command does
 * not have: there would be no names but of ASCII. */
#define WHERE_OPTION(text)                                                                         \
    {                                                                                              \
        "where", 0, 0, G_OPTION_ARG_FILENAME, (text),                                              \
            "Only what matches: fields of rpcrdma fields, with Wireshark's operators",             \
            "EXPRESSION"                                                                           \
    }

/* OPTIONS_GO_ON with *filter set (NULL without a text), or an exit status: it was said why. */
int where_compile(const struct command *command, const char *text, filter_records records,
                  struct filter **filter);
/* Of another option that takes an expression. */
int where_compile_of(const struct command *command, const char *option, const char *text,
                     filter_records records, struct filter **filter);

#endif
