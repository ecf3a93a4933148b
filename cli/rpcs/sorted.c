/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/sorted.h"

#include <glib.h>

struct line {
    int64_t measure;
    uint64_t number; /* in the order in which they came */
    size_t length;
    struct view_placeholder placeholder;
    char text[];
};

struct sorted {
    GPtrArray *heap; /* the least first */
    size_t n, bytes, max_bytes;
    uint64_t added, left_out;
    struct out memory;
    struct view *view;
};

struct sorted *sorted_new(size_t n, struct view *view, size_t max_bytes)
{
    struct sorted *s = g_new0(struct sorted, 1);

    s->heap = g_ptr_array_new_with_free_func(g_free);
    s->n = n;
    s->view = view;
    s->max_bytes = max_bytes;
    if (out_open(&s->memory, -1)) {
        s->memory.color = view->out->color;
        return s;
    }
    sorted_free(s);
    return NULL;
}

void sorted_free(struct sorted *s)
{
    if (!s)
        return;
    g_ptr_array_free(s->heap, TRUE);
    s->memory.n = 0; /* it goes nowhere */
    out_close(&s->memory);
    g_free(s);
}

static bool less(const struct line *a, const struct line *b)
{
    return a->measure != b->measure ? a->measure < b->measure : a->number > b->number;
}

static struct line **at(struct sorted *s, guint i)
{
    return (struct line **)&s->heap->pdata[i];
}

static void swap(struct sorted *s, guint i, guint k)
{
    struct line *line = *at(s, i);

    *at(s, i) = *at(s, k);
    *at(s, k) = line;
}

static void remove_least(struct sorted *s)
{
    guint i = 0, n = s->heap->len - 1;

    s->bytes -= (*at(s, 0))->length + sizeof(struct line);
    swap(s, 0, n);
    g_ptr_array_remove_index(s->heap, n);
    for (;;) {
        guint least = i, child = 2 * i + 1;

        if (child < n && less(*at(s, child), *at(s, least)))
            least = child;
        if (child + 1 < n && less(*at(s, child + 1), *at(s, least)))
            least = child + 1;
        if (least == i)
            return;
        swap(s, i, least);
        i = least;
    }
}

bool sorted_wants(struct sorted *s, int64_t measure)
{
    bool room = s->n == 0 || s->heap->len < s->n;

    if (s->heap->len == 0 || (room && s->bytes < s->max_bytes) || measure > (*at(s, 0))->measure)
        return true;
    s->left_out += room;
    return false;
}

struct out *sorted_begin(struct sorted *s)
{
    s->memory.n = 0;
    s->view->time_open = true;
    s->view->placeholder = (struct view_placeholder){0};
    return &s->memory;
}

void sorted_done(struct sorted *s, int64_t measure)
{
    struct line *line = g_malloc(sizeof(*line) + s->memory.n);
    guint i = s->heap->len;

    line->measure = measure;
    line->number = s->added++;
    line->length = s->memory.n;
    line->placeholder = s->view->placeholder;
    memcpy(line->text, s->memory.buf, s->memory.n);
    s->bytes += line->length + sizeof(*line);
    g_ptr_array_add(s->heap, line);
    for (; i > 0 && less(*at(s, i), *at(s, (i - 1) / 2)); i = (i - 1) / 2)
        swap(s, i, (i - 1) / 2);
    if (s->n > 0 && s->heap->len > s->n)
        remove_least(s);
    while (s->bytes > s->max_bytes && s->heap->len > 1) {
        remove_least(s);
        s->left_out++;
    }
}

static gint greatest_first(gconstpointer a, gconstpointer b)
{
    const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;

    return less(x, y) ? 1 : -1;
}

uint64_t sorted_end(struct sorted *s, struct out *out)
{
    g_ptr_array_sort(s->heap, greatest_first);
    s->view->out = out;
    for (guint i = 0; i < s->heap->len; i++) {
        const struct line *line = g_ptr_array_index(s->heap, i);

        view_put_kept(s->view, line->text, line->length - 1, line->placeholder);
    }
    return s->left_out;
}
