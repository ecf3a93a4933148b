/* SPDX-License-Identifier: BSD-2-Clause */
#include "fields/results.h"

#include <stdbool.h>
#include <string.h>

#include <glib.h>

const struct result results[] = {
#define RESULT(path, type, title, help) {path, type, NULL, title, help},
#define OBJECT(path, of, help) {path, NULL, of, help, help},
#include "fields/results.def"
#undef RESULT
#undef OBJECT
};

const size_t n_results = G_N_ELEMENTS(results);

void result_name(const struct result *result, char name[RESULT_NAME])
{
    size_t n = g_strlcpy(name, "rpcrdma.", RESULT_NAME);

    for (const char *p = result->path; *p && n + 1 < RESULT_NAME; p++)
        if (*p != '[' && *p != ']')
            name[n++] = *p;
    name[n] = '\0';
}

/* What stands beside a message, with the object's name in front of its keys. */
static bool has_object(const char *name)
{
    static const char *const objects[] = {"rpcs.",    "extract.",     "connections.",
                                          "credits.", "property.",    "characteristic.",
                                          "finding.", "private_data."};

    for (size_t i = 0; i < G_N_ELEMENTS(objects); i++)
        if (g_str_has_prefix(name, objects[i]))
            return true;
    return false;
}

/* "[]" where the first n characters of the name are a list, twice where its elements are lists. */
static const char *brackets(const char *abbrev, size_t n)
{
    for (int id = 0; id < RPCRDMA_RECORD_COUNT; id++) {
        const struct rpcrdma_record *record = rpcrdma_record((enum rpcrdma_record_id)id);

        if (record->shape == RPCRDMA_SHAPE_LIST && strlen(record->abbrev) == n &&
            strncmp(record->abbrev, abbrev, n) == 0)
            return record->id == RPCRDMA_RECORD_WRITE ? "[][]" : "[]";
    }
    return "";
}

void result_place(const struct rpcrdma_field *field, char place[RESULT_NAME])
{
    const char *name = strchr(field->abbrev, '.') + 1;
    bool element = rpcrdma_record(field->record)->shape == RPCRDMA_SHAPE_LIST;

    place[0] = '\0';
    if (field->record == RPCRDMA_RECORD_CREDIT || field->record == RPCRDMA_RECORD_DATA)
        return; /* Wireshark's; the former are columns of credits --series, too */
    if (!has_object(name))
        g_strlcpy(place, "message.", RESULT_NAME);
    for (const char *p = name; *p; p += strcspn(p, ".") + 1) {
        size_t n = strcspn(p, "."), at = strlen(place);

        if (p[n] == '\0' && element)
            break; /* an element has no key */
        if (at > 0 && place[at - 1] != '.')
            g_strlcat(place, ".", RESULT_NAME);
        g_snprintf(place + strlen(place), (gulong)(RESULT_NAME - strlen(place)), "%.*s", (int)n, p);
        g_strlcat(place, brackets(field->abbrev, (size_t)(p + n - field->abbrev)), RESULT_NAME);
        if (p[n] == '\0')
            break;
    }
    if (field->id == RPCRDMA_FIELD_CONNECTIONS_PATH_DSCP)
        g_strlcat(place, "[]", RESULT_NAME); /* every one that was seen */
}
