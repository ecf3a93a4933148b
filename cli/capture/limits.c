/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture/limits.h"

#include "common/times.h"
#include "options/options.h"

enum { KILOBYTE = 1000 };

gboolean capture_limit_parse(const char *name, const char *text, struct capture_limits *limits,
                             GError **error)
{
    uint64_t value;

    if (g_str_has_prefix(text, "duration:")) {
        if (!options_number(name, text + strlen("duration:"), 1000000000, &value, error))
            return FALSE;
        limits->duration_ns = (int64_t)value * 1000000000;
    } else if (g_str_has_prefix(text, "filesize:")) {
        if (!options_number(name, text + strlen("filesize:"), UINT64_MAX / KILOBYTE, &value, error))
            return FALSE;
        limits->bytes = value * KILOBYTE;
    } else if (g_str_has_prefix(text, "files:")) {
        if (!options_number(name, text + strlen("files:"), UINT32_MAX, &limits->files, error))
            return FALSE;
    } else {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "%s needs duration:SECONDS, filesize:KILOBYTES or files:N, not \"%s\"", name,
                    text);
        return FALSE;
    }
    return TRUE;
}

bool capture_limit_passed(int64_t *since_ns, int64_t now_ns, int64_t duration_ns)
{
    if (now_ns < *since_ns)
        *since_ns = now_ns;
    return time_less(now_ns, *since_ns) >= duration_ns;
}
