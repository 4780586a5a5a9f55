/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as data for the script. */
#include <stdio.h>

#include "base/json.h"
#include "output/page/parts.h"

/* Rounded to four digits: more cannot be seen, and the page stays small. */
static double four_digits(double v)
{
    double scale = 1, size = v < 0 ? -v : v;
    if (!(size > 1e-12 && size < 1e18))
        return 0;
    for (; size * scale < 1000; scale *= 10)
        ;
    for (; size * scale >= 10000; scale /= 10)
        ;
    double whole = (double)(uint64_t)(size * scale + 0.5), rounded = scale >= 1 ? whole / scale : whole * (1 / scale);
    return v < 0 ? -rounded : rounded;
}

/* One sign per bucket: the value is a lower bound, it is stale, or neither. */
static void bounds_data(const struct chart *c, const struct chart_curve *curve, struct json *j)
{
    char sign[8];
    json_key_begin(j, "sign", '[');
    for (size_t i = 0; i < c->buckets; i++) {
        bool is_bound = curve->at[i].known && curve->at[i].is_bound;
        unsigned flags = curve->at[i].at_least > 0 ? BARO_VALUE_LOWER_BOUND : BARO_VALUE_ESTIMATE;
        snprintf(sign, sizeof(sign), "%s ", baro_value_prefix(flags, BARO_PREFIX_SYMBOL));
        json_text(j, is_bound ? sign : "");
    }
    json_end(j, ']');
}

static void curve_data(const struct chart *c, const struct chart_curve *curve, struct json *j)
{
    json_begin(j, '{');
    json_key_text(j, "name", curve->name);
    json_key_u64(j, "shape", curve->shape);
    json_key_begin(j, "v", '[');
    for (size_t i = 0; i < c->buckets; i++) {
        json_double_or_null(j, curve->at[i].known,
                            four_digits(curve->shape == CHART_STACK ? curve->at[i].mean : curve->at[i].max));
    }
    json_end(j, ']');
    if (curve->has_bounds)
        bounds_data(c, curve, j);
    json_end(j, '}');
}

void page_chart_data(const struct page *p, struct json *j)
{
    const struct chart *c;
    json_begin(j, '[');
    for (size_t i = 0; (c = page_chart_at(p, i)); i++) {
        json_begin(j, '{');
        json_key_text(j, "id", c->id);
        json_key_u64(j, "unit", c->unit);
        json_key_u64(j, "buckets", c->buckets);
        json_key_begin(j, "curves", '[');
        for (size_t k = 0; k < c->n_curves; k++)
            curve_data(c, &c->curves[k], j);
        json_end(j, ']');
        json_end(j, '}');
    }
    json_end(j, ']');
}
