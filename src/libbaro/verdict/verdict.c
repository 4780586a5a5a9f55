/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/verdict/verdict.h"
#include "baro/timeline.h"
#include "base/array.h"
#include "base/buf.h"
#include "libbaro/timeline/timeline.h"
#include "libbaro/verdict/evidence.h"
#include "libbaro/verdict/gather.h"
#include "libbaro/verdict/need.h"
#include "libbaro/verdict/verdict_rule.h"

/* ---- phases ---- */

/* The phases that are judged: each one that is long enough, and all phases of one path together. */

struct phases {
    struct stretch *at;
    size_t n;
    struct piece *piece; /* the pieces of stretches that are made of several phases */
    struct buf paths;    /* names of the stretches, NUL after each */
};

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

static void phases_done(struct phases *p)
{
    free(p->at);
    free(p->piece);
    buf_done(&p->paths);
    *p = (struct phases){0};
}

/* Returns 0 or -ENOMEM. It is freed by phases_done(), and on an error is empty. */
static int phases_collect(struct phases *p, const struct baro_timeline *t, const struct evidence *e)
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

struct baro_verdicts {
    struct gather gather;
    struct baro_need need;
    struct baro_verdict *verdict;
    size_t n, room;
};

/* ---- keeping what a rule found ---- */

static char *copy_buf(const struct buf *b)
{
    char *text = malloc(b->len + 1);
    if (text && b->len)
        memcpy(text, b->at, b->len);
    if (text)
        text[b->len] = 0;
    return text;
}

static void free_verdict(struct baro_verdict *v)
{
    for (size_t i = 0; i < v->evidence_count; i++)
        free((char *)v->evidence[i].text);
    free((struct baro_evidence *)v->evidence);
    free((char *)v->title);
    free((char *)v->advice);
    free((char *)v->brief);
    free((char *)v->hint);
    free((char *)v->phase);
}

static void clear_verdicts(struct baro_verdicts *v)
{
    while (v->n)
        free_verdict(&v->verdict[--v->n]);
}

static bool has_failed(const struct finding *f)
{
    bool any = f->title.failed || f->advice.failed || f->brief.failed || f->hint.failed;
    for (size_t i = 0; i < f->n_rows; i++)
        any = any || f->row[i].text.failed;
    return any;
}

static int keep_rows(struct baro_verdict *one, const struct finding *f)
{
    struct baro_evidence *rows = calloc(f->n_rows ? f->n_rows : 1, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    one->evidence = rows;
    for (size_t i = 0; i < f->n_rows; i++) {
        rows[i] = (struct baro_evidence){f->row[i].name, f->row[i].value, f->row[i].unit, f->row[i].flags,
                                         copy_buf(&f->row[i].text)};
        if (!rows[i].text)
            return -ENOMEM;
        one->evidence_count++;
    }
    return 0;
}

static int keep_finding(struct baro_verdicts *v, const struct verdict_rule *rule, const struct stretch *s,
                        const struct finding *f)
{
    if (array_reserve(&v->verdict, v->n + 1, &v->room, sizeof(*v->verdict)) < 0)
        return -ENOMEM;
    struct baro_verdict *one = &v->verdict[v->n++];
    *one = (struct baro_verdict){.rule = rule->is.name,
                                 .weight = f->weight,
                                 .title = copy_buf(&f->title),
                                 .advice = copy_buf(&f->advice),
                                 .phase = s->phase ? strdup(s->phase) : NULL,
                                 .begin_ns = f->begin_ns,
                                 .end_ns = f->end_ns,
                                 .brief = copy_buf(&f->brief),
                                 .hint = copy_buf(&f->hint)};
    if (has_failed(f) || !one->title || !one->advice || !one->brief || !one->hint || (s->phase && !one->phase))
        return -ENOMEM;
    return keep_rows(one, f);
}

/* ---- judging ---- */

static bool is_worth(const struct verdict_rule *rule, const struct evidence *e, const struct stretch *s)
{
    if (is_of_machine(e) && !(rule->flags & RULE_OF_MACHINES))
        return false;
    if (rule->flags & RULE_NEEDS_HISTORY)
        return s->wall_ns >= LONG_ENOUGH_NS && e->samples >= SAMPLES_ENOUGH;
    return true;
}

static bool finds(const struct verdict_rule *rule, const struct evidence *e, const struct stretch *s)
{
    struct finding f = {.begin_ns = s->begin_ns, .end_ns = s->end_ns};
    bool is = is_worth(rule, e, s) && rule->apply(e, s, &f);
    finding_done(&f);
    return is;
}

/* alike: how many phases of this name the verdict is about. Returns 1 if the rule made a verdict. */
static int apply(struct baro_verdicts *v, const struct verdict_rule *rule, const struct evidence *e,
                 const struct stretch *s, size_t alike)
{
    struct finding f = {.begin_ns = s->begin_ns, .end_ns = s->end_ns, .weight = rule->is.weight};
    int code = is_worth(rule, e, s) && rule->apply(e, s, &f);
    if (code && s->phases > 1) {
        find_advice(&f, "%sThe figures are those of all %zu phases of this name together.", f.advice.len ? " " : "",
                    s->phases);
        find_number(&f, "phases", (double)s->phases, 0, BARO_UNIT_NONE);
    } else if (code && alike > 1) {
        find_advice(&f, "%sIt was so in %zu phases of this name; the figures are those of the longest.",
                    f.advice.len ? " " : "", alike);
        find_number(&f, "phases", (double)alike, 0, BARO_UNIT_NONE);
    }
    if (code)
        code = keep_finding(v, rule, s, &f) < 0 ? -ENOMEM : 1;
    finding_done(&f);
    return code;
}

static bool is_named(const struct stretch *s, const struct stretch *other)
{
    return strcmp(s->phase, other->phase) == 0;
}

/* Phases of one name (epochs) get one verdict: on all of them together, else on the longest one for which the rule
 * makes a verdict. Names that occur before index `first` have been judged already. */
static int apply_to_name(struct baro_verdicts *v, const struct verdict_rule *rule, const struct evidence *e,
                         const struct stretch *phases, size_t n_phases, size_t first)
{
    const struct stretch *longest = NULL;
    size_t alike = 0;
    for (size_t i = 0; i < first; i++) {
        if (is_named(&phases[i], &phases[first]))
            return 0;
    }
    for (size_t i = first; i < n_phases; i++) {
        if (!is_named(&phases[i], &phases[first]) || !finds(rule, e, &phases[i]))
            continue;
        if (phases[i].phases > 1)
            return apply(v, rule, e, &phases[i], 1);
        longest = longest && longest->wall_ns >= phases[i].wall_ns ? longest : &phases[i];
        alike++;
    }
    return longest ? apply(v, rule, e, longest, alike) : 0;
}

/* A rule with a verdict on the whole job makes none on its phases. */
static int apply_everywhere(struct baro_verdicts *v, const struct verdict_rule *rule, const struct evidence *e,
                            const struct stretch *phases, size_t n_phases)
{
    int code = apply(v, rule, e, &e->job, 1);
    if (!(rule->flags & RULE_OF_PHASES))
        return code;
    for (size_t i = 0; code == 0 && i < n_phases; i++) {
        if (apply_to_name(v, rule, e, phases, n_phases, i) < 0)
            code = -ENOMEM;
    }
    return code;
}

/* Moves verdicts with less weight than their rule behind the others. */
static void order(struct baro_verdicts *v)
{
    for (size_t i = 1; i < v->n; i++) {
        struct baro_verdict one = v->verdict[i];
        size_t k = i;
        for (; k && v->verdict[k - 1].weight > one.weight; k--)
            v->verdict[k] = v->verdict[k - 1];
        v->verdict[k] = one;
    }
}

int verdicts_judge(struct baro_verdicts *v, const struct evidence *e, const struct stretch *phases, size_t n_phases)
{
    clear_verdicts(v);
    for (int weight = BARO_VERDICT_PROBLEM; weight <= BARO_VERDICT_NOTE; weight++) {
        for (int i = 0; i < verdict_rule_count; i++) {
            if (verdict_rules[i]->is.weight == (enum baro_verdict_weight)weight &&
                apply_everywhere(v, verdict_rules[i], e, phases, n_phases) < 0)
                return -ENOMEM;
        }
    }
    order(v);
    return 0;
}

/* ---- made by libbaro/builder ---- */

struct baro_verdicts *verdicts_new(void)
{
    struct baro_verdicts *v = calloc(1, sizeof(*v));
    if (v)
        gather_init(&v->gather);
    return v;
}

void verdicts_free(struct baro_verdicts *v)
{
    if (!v)
        return;
    clear_verdicts(v);
    free(v->verdict);
    free(v);
}

void verdicts_add(struct baro_verdicts *v, const struct baro_record *record)
{
    gather_add(&v->gather, record);
}

bool verdicts_want_steps(const struct baro_verdicts *v)
{
    for (size_t i = 0; i < v->n; i++) {
        if (strcmp(v->verdict[i].rule, "serial-tail") == 0)
            return true;
    }
    return false;
}

int verdicts_finish(struct baro_verdicts *v, const struct baro_summary *summary, const struct baro_timeline *timeline,
                    const struct baro_steps *steps)
{
    struct evidence e;
    struct phases phases = {0};
    struct buf path = {0};
    evidence_init(&e);
    evidence_of_summary(&e, summary);
    e.steps = steps;
    gather_finish(&v->gather, &e);
    evidence_agree(&e);
    ptrdiff_t phase = e.failure ? baro_timeline_phase_at(timeline, e.failure->first.t_ns) : -1;
    if (phase >= 0)
        timeline_put_path(timeline, (size_t)phase, &path);
    buf_byte(&path, 0);
    e.failed_phase = path.failed ? "" : (const char *)path.at;
    need_of_evidence(&e, &v->need);
    int code = phases_collect(&phases, timeline, &e);
    if (code >= 0)
        code = verdicts_judge(v, &e, phases.at, phases.n);
    phases_done(&phases);
    buf_done(&path);
    return code < 0 ? -ENOMEM : 0;
}

/* ---- reading ---- */

const struct baro_need *verdicts_need(const struct baro_verdicts *v)
{
    return &v->need;
}

size_t baro_verdicts_count(const struct baro_verdicts *verdicts)
{
    return verdicts->n;
}

const struct baro_verdict *baro_verdicts_get(const struct baro_verdicts *verdicts, size_t i)
{
    return i < verdicts->n ? &verdicts->verdict[i] : NULL;
}
