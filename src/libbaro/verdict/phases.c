/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/verdict/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/timeline/timeline.h"

#define PHASE_SHARE 0.1  /* share of the job's time: shorter phases are not judged */
#define PHASES_MOST 256u /* phases may overlap, so their number is unlimited; further ones are not judged */

struct named {
    const char *name; /* its path, such as "test/flaky" */
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

/* Merges overlapping phases of one path into pieces. Returns the number of pieces. */
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

static void add_path(struct phases *p, const struct evidence *e, const struct named *of, size_t n, struct piece *room)
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

/* Lists all phases by path, and their paths in a block. Returns 0 or -ENOMEM. */
static int list_phases(const struct baro_timeline *t, struct named *ret, size_t *n, struct buf *paths)
{
    const struct baro_timeline_item *v;
    for (size_t i = 0; (v = baro_timeline_get(t, i)); i++) {
        if (v->kind != BARO_TIMELINE_PHASE)
            continue;
        ret[(*n)++].piece = (struct piece){v->begin_ns, v->end_ns};
        timeline_put_path(t, i, paths);
        buf_byte(paths, 0);
    }
    if (paths->failed)
        return -ENOMEM;
    const char *path = (const char *)paths->at;
    for (size_t i = 0; i < *n; i++, path += strlen(path) + 1)
        ret[i].name = path;
    qsort(ret, *n, sizeof(*ret), compare_named);
    return 0;
}

int phases_collect(struct phases *p, const struct baro_timeline *t, const struct evidence *e)
{
    size_t room = baro_timeline_count(t) + 1;
    struct named *all = malloc(room * sizeof(*all));
    *p = (struct phases){.at = malloc(PHASES_MOST * sizeof(*p->at)), .piece = malloc(room * sizeof(*p->piece))};
    size_t n = 0;
    int code = all && p->at && p->piece ? list_phases(t, all, &n, &p->paths) : -ENOMEM;
    for (size_t i = 0, from = 0; !code && i < n; i++) {
        if (i + 1 < n && strcmp(all[i + 1].name, all[from].name) == 0)
            continue;
        add_path(p, e, &all[from], i + 1 - from, p->piece + from);
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
    buf_done(&p->paths);
    *p = (struct phases){0};
}
