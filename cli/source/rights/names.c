/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/rights/names.h"

#include <string.h>

static const char *skip_form(const char *name, const char *form)
{
    for (; name && *form; form++) {
        size_t n = 1;

        if (*form == '#')
            n = strspn(name, "0123456789");
        else if (*form == '$')
            n = strspn(name, "0123456789abcdef") == 8 ? 8 : 0;
        else
            n = *name == *form;
        name = n > 0 ? name + n : NULL;
    }
    return name;
}

bool names_match(const struct names *names, const char *name)
{
    if (strncmp(name, names->stem, names->stem_length) != 0)
        return false;
    for (const char *const *form = names->forms; *form; form++) {
        const char *rest = skip_form(name + names->stem_length, *form);

        if (rest && strcmp(rest, names->suffix) == 0)
            return true;
    }
    return false;
}
