/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/where.h"

#include "options/options.h"

int where_compile(const struct command *command, const char *text, filter_records records,
                  struct filter **filter)
{
    return where_compile_of(command, "--where", text, records, filter);
}

int where_compile_of(const struct command *command, const char *option, const char *text,
                     filter_records records, struct filter **filter)
{
    struct filter_error error;

    *filter = NULL;
    if (!text)
        return OPTIONS_GO_ON;
    *filter = filter_new(text, records, &error);
    if (*filter)
        return OPTIONS_GO_ON;
    filter_complain(command->name, option, text, &error);
    return EXIT_UNUSABLE;
}
