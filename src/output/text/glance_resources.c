/* SPDX-License-Identifier: Apache-2.0 */
/* A row for each resource that was used: its curve, how much, and who held it. */
#include "output/text/glance.h"
#include "output/text/used.h"

static void put_row(void *context, const struct used *u)
{
    struct glance *g = context;
    if (u->is_small)
        return;
    struct lines l = glance_row(g, u->is_minor ? DROP_RESOURCE : DROP_NEVER, "", TONE_FAINT, u->label, g->label);
    if (g->axis.columns) {
        lines_tone(&l, u->tone);
        if (!u->curve || !report_curve(&l, g->s, u->curve, &g->axis, u->full))
            buf_spaces(l.out, g->axis.columns);
        lines_tone(&l, TONE_PLAIN);
        buf_spaces(l.out, 2);
        l.column += g->axis.columns + 2;
    }
    glance_end(g, &l, u->text);
}

void glance_resources(struct glance *g)
{
    used_rows(g->s, g->style, put_row, g);
}
