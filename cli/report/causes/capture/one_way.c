/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about connections of which the capture lacks one direction. */
#include "report/causes/causes.h"

#include <stdio.h>

/* One message by itself is perhaps none (a damaged QP number). */
static bool lacks_one(const struct report_connection *c)
{
    return c->messages >= 2 && report_one_way(c);
}

void causes_of_one_way(struct report *r, bool told)
{
    const struct report_connection *only = NULL;
    struct report_cause *cause;
    GList *all = report_connections(r);
    char which[40] = "";
    guint n = 0, of = r->let_go.connections + report_not_looked_at(r);

    for (GList *one = all; one; one = one->next) {
        of += ((const struct report_connection *)one->data)->messages > 0;
        if (lacks_one(one->data) && n++ == 0)
            only = one->data;
    }
    g_list_free(all);
    if (n == 0 || told) /* it is said of all of them */
        return;
    cause = report_cause_add(r, CAUSE_INCOMPLETE, CONFIDENCE_HIGH);
    cause->frame = only->pub.first_frame;
    if (n == 1) {
        cause->of = only;
        snprintf(which, sizeof(which), ", number %u", (unsigned)only->pub.number);
    }
    snprintf(cause->text, sizeof(cause->text),
             "The capture is incomplete: one direction only of %s%u of %u connections%s. How RPCs "
             "fared there is not known.",
             report_at_least(r), n, of, which);
    snprintf(cause->against, sizeof(cause->against),
             "an end that sends nothing looks the same; capture both directions, at every port "
             "of a LAG or at the host");
}
