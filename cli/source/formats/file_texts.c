/* SPDX-License-Identifier: BSD-2-Clause */
/* What a file says of its interfaces in words. */
#include <stdlib.h>
#include <string.h>

#include "source/formats/file.h"

/* What a file says of itself may be long, and said of many interfaces: all open files together keep
 * so much of it. */
enum { TEXT_LONG = 4096 };
static size_t texts;

void file_text_keep(struct file *file, struct file_interface *interface, enum file_text which,
                    const uint8_t *value, size_t n)
{
    size_t first = interface->texts ? 0 : sizeof(*interface->texts) + SOURCE_TEXT_ADDED;
    bool cut = n > TEXT_LONG;
    char *text;

    if (n == 0 || (interface->texts && interface->texts->of[which]))
        return;
    if (cut)
        n = TEXT_LONG;
    if (texts + n + SOURCE_TEXT_ADDED + first > source_texts_most) {
        file->texts_left_out++;
        return;
    }
    file->texts_left_out += cut;
    if (!interface->texts && (interface->texts = calloc(1, sizeof(*interface->texts))))
        texts += first;
    text = interface->texts ? strndup((const char *)value, n) : NULL;
    if (!text)
        return;
    texts += strlen(text) + SOURCE_TEXT_ADDED;
    interface->texts->of[which] = text;
}

static void text_free(char *text)
{
    if (text)
        texts -= strlen(text) + SOURCE_TEXT_ADDED;
    free(text);
}

void file_texts_free(struct file_texts *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < FILE_TEXTS; i++)
        text_free(all->of[i]);
    texts -= sizeof(*all) + SOURCE_TEXT_ADDED;
    free(all);
}

void file_text_forget(struct file_interface *interface, enum file_text which)
{
    if (!interface->texts)
        return;
    text_free(interface->texts->of[which]);
    interface->texts->of[which] = NULL;
}
