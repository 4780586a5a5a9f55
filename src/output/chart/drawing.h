/* SPDX-License-Identifier: Apache-2.0 */
/* What draw.c and draw_curves.c share. */
#ifndef OUTPUT_CHART_DRAWING_H
#define OUTPUT_CHART_DRAWING_H

#include "output/chart/canvas.h"

struct drawing {
    const struct chart *c;
    const struct chart_picture *p;
    const struct layout *l;
    struct canvas *to;
};

static inline double drawing_x_of_bucket(const struct drawing *d, size_t i)
{
    return d->l->x + d->l->width * (double)i / (double)d->c->buckets;
}

static inline double drawing_y(const struct drawing *d, double value)
{
    double share = (value - d->l->values.begin) / (d->l->top - d->l->values.begin);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return d->l->y + d->l->height * (1 - share);
}

void draw_curves(const struct drawing *d); /* draw_curves.c */

#endif
