/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/verdict/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PHASE_SHARE 0.1  /* share of the job's time: shorter phases are not judged */
#define PHASES_MOST 256u /* phases may overlap, so their number is unlimited; further ones are not judged */

struct named {
    const char *name;
    struct piece piece;
};

/* Compares by name, then by time. */
static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names)
        return names;
    return (x->piece.begin_ns > y->piece.begin_ns) - (x->piece.begin_ns < y->piece.begin_ns);
}

static bool is_long(double ns, const struct evidence *e)
{
    return ns >= PHASE_SHARE * e->job.wall_ns;
}

/* Merges overlapping phases of one name into pieces. Returns the number of pieces. */
static size_t unite(const struct named *of, size_t n, struct piece *ret)
{
    size_t pieces = 0;
    for (size_t i = 0; i < n; i++) {
        struct piece *last = pieces ? &ret[pieces - 1] : NULL;
        if (last && of[i].piece.begin_ns <= last->end_ns)
            last->end_ns = of[i].piece.end_ns > last->end_ns ? of[i].piece.end_ns : last->end_ns;
        else
            ret[pieces++] = of[i].piece;
    }
    return pieces;
}

static void add_name(struct phases *p, const struct evidence *e, const struct named *of, size_t n, struct piece *room)
{
    double together_ns = 0;
    for (size_t i = 0; i < n; i++) {
        double ns = (double)(of[i].piece.end_ns - of[i].piece.begin_ns);
        together_ns += ns;
        if (is_long(ns, e) && p->n < PHASES_MOST)
            stretch_fill(&p->at[p->n++], e->history, of[i].name, of[i].piece.begin_ns, of[i].piece.end_ns);
    }
    if (n < 2 || !is_long(together_ns, e) || p->n == PHASES_MOST)
        return;
    struct stretch *s = &p->at[p->n];
    stretch_fill_pieces(s, e->history, of->name, room, unite(of, n, room));
    s->phases = n;
    p->n += is_long(s->wall_ns, e);
}

/* All phases, by name. */
static size_t list_phases(const struct baro_timeline *t, struct named *ret)
{
    const struct baro_timeline_item *v;
    size_t n = 0;
    for (size_t i = 0; (v = baro_timeline_get(t, i)); i++) {
        if (v->kind == BARO_TIMELINE_PHASE)
            ret[n++] = (struct named){v->name, {v->begin_ns, v->end_ns}};
    }
    qsort(ret, n, sizeof(*ret), compare_named);
    return n;
}

int phases_collect(struct phases *p, const struct baro_timeline *t, const struct evidence *e)
{
    size_t room = baro_timeline_count(t) + 1;
    struct named *all = malloc(room * sizeof(*all));
    *p = (struct phases){.at = malloc(PHASES_MOST * sizeof(*p->at)), .piece = malloc(room * sizeof(*p->piece))};
    int code = all && p->at && p->piece ? 0 : -ENOMEM;
    size_t n = code ? 0 : list_phases(t, all);
    for (size_t i = 0, from = 0; i < n; i++) {
        if (i + 1 < n && strcmp(all[i + 1].name, all[from].name) == 0)
            continue;
        add_name(p, e, &all[from], i + 1 - from, p->piece + from);
        from = i + 1;
    }
    free(all);
    if (code < 0)
        phases_done(p);
    return code;
}

void phases_done(struct phases *p)
{
    free(p->at);
    free(p->piece);
    *p = (struct phases){0};
}
