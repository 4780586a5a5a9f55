/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of --limit that were reached. */
#include <stdio.h>
#include <string.h>

#include "libbaro/summary/summary.h"

void summary_note_reached(struct summary_reached *r, const struct baro_event *e)
{
    struct limit_reached l;
    size_t i = 0;
    if (!limit_read(e, &l))
        return;
    while (i < r->n && r->at[i].is.kind != l.kind)
        i++;
    if (i == r->n && !l.is_kill) {
        struct summary_limit_reached *at = &r->at[r->n++];
        snprintf(at->action, sizeof(at->action), "%s", l.action);
        snprintf(at->by, sizeof(at->by), "%s", l.by);
        snprintf(at->largest, sizeof(at->largest), "%s", l.n_holders ? l.holder[0].name : "");
        at->is = l;
    } else if (i < r->n && l.is_kill) {
        r->at[i].is_killed = true;
        r->at[i].left = l.left;
    }
}

void summary_note_ended_by(struct summary_reached *r, const struct baro_event *e)
{
    struct baro_attribute a;
    if (baro_event_attribute_find(e, ATTRIBUTE_ENDED_BY, &a) == 0 && a.type == BARO_ATTRIBUTE_TEXT)
        snprintf(r->ended_by, sizeof(r->ended_by), "%s", a.text);
}
