/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the spans that are drawn over charts from the phases, marks and events of a timeline. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/chart/figure_parts.h"

#define EVENTS_MOST 200u /* lines of events; more would cover the chart */

static bool is_gap(const struct baro_timeline_item *item)
{
    return strcmp(item->name, "gap") == 0 || strcmp(item->name, "suspend") == 0;
}

int spans_of_timeline(const struct baro_timeline *timeline, struct chart_spans *ret)
{
    size_t n = baro_timeline_count(timeline), events = 0;
    struct chart_phase_colors colors = {.n = 0};
    ret->at = calloc(n ? n : 1, sizeof(*ret->at));
    ret->lanes = (unsigned)baro_timeline_lanes(timeline);
    for (size_t i = 0; ret->at && i < n; i++) {
        const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
        struct chart_span span = {.begin_ns = item->begin_ns, .end_ns = item->end_ns, .bad = item->is_problem};
        if (item->kind == BARO_TIMELINE_PHASE) {
            span.lane = (unsigned)item->depth;
            span.color = chart_phase_color(&colors, item->name);
        } else if (item->kind == BARO_TIMELINE_MARK)
            span.kind = CHART_MARK;
        else if (is_gap(item))
            span.kind = CHART_GAP;
        else if (item->is_problem && events++ < EVENTS_MOST)
            span.kind = CHART_EVENT;
        else
            continue;
        span.text = strdup(item->kind == BARO_TIMELINE_PHASE ? item->name : item->text);
        if (!span.text)
            return -ENOMEM;
        ret->at[ret->n++] = span;
    }
    return ret->at ? 0 : -ENOMEM;
}
