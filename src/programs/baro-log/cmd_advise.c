/* SPDX-License-Identifier: Apache-2.0 */
/* baro advise: what to ask for next time, after some runs. The formula is libbaro's (baro/advice.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "output/ranks/ranks.h"
#include "output/rows/wrap.h"
#include "output/text/read_fact.h"
#include "programs/baro-log/advise.h"
#include "programs/baro-log/log.h"

#define LIMITS_MOST 4
#define LABEL_WIDTH 8
#define CORES_MOST 1e6
#define SHORT_NS 30e9 /* what is shorter says little about time and cores */
#define HOUR_NS 3600e9
#define MENTION 0.25 /* a part of memory from this share on is worth a word */

struct advising {
    struct log log;
    const struct baro_need **need;
    size_t n, unread, partial, is_short, open, neighbours;
    struct baro_advice advice;
    bool is_mixed;
    uint32_t rank, ranks; /* of the last run; ranks 0: it is all of its job */
};

/* ---- which runs ---- */

/* Is the run one of several ranks? */
static void find_rank(struct advising *a, const struct tape_row *row)
{
    struct baro_tape *tape;
    if (tape_row_open(row, FIGURES_EACH_MOST, &tape, NULL) < 0)
        return;
    const struct baro_header *h = baro_tape_header(tape);
    uint64_t ranks = report_header(h, "ranks").u64;
    if (ranks_number(report_header(h, "rank").text, &a->rank) && ranks != 1)
        a->ranks = ranks ? (uint32_t)ranks : UINT32_MAX; /* how many there are is not known */
    baro_tape_close(tape);
}

static int read_needs(struct advising *a, struct baro_error *err)
{
    struct tape_rows *rows = &a->log.rows;
    uint32_t last = a->log.settings->log.last;
    size_t from = last && rows->n > last ? rows->n - last : 0;
    const char *line = NULL;
    a->need = calloc(rows->n + 1, sizeof(*a->need));
    if (!a->need)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = from; i < rows->n; i++) {
        const struct figures *f = log_figures(&a->log, &rows->at[i]);
        a->unread += !f;
        if (!f)
            continue;
        a->partial += (f->need.flags & BARO_NEED_PARTIAL) != 0;
        a->is_short += (f->need.flags & BARO_NEED_SHORT) != 0;
        a->neighbours += (f->need.flags & BARO_NEED_NEIGHBOURS) != 0;
        a->open += !(f->need.flags & BARO_NEED_PARTIAL) && isnan(f->need.memory_at_most_bytes);
        a->is_mixed = a->is_mixed || (line && strcmp(line, rows->at[i].head->line) != 0);
        line = rows->at[i].head->line;
        a->need[a->n++] = &f->need;
    }
    if (rows->n > from)
        find_rank(a, &rows->at[rows->n - 1]);
    a->advice = (struct baro_advice)BARO_ADVICE_INIT;
    int code = baro_advise(a->need, a->n, a->log.settings->log.risk, &a->advice);
    if (code == BARO_E_RANGE)
        return error_set(err, code,
                         "no run to advise after: %zu can't be read, %zu run still, are cut off or a part of a run",
                         a->unread, a->partial);
    return code < 0 ? error_set(err, code, "out of memory") : 0;
}

/* ---- numbers ---- */

static bool counts(const struct advising *a, const struct baro_need *n)
{
    return !(n->flags & a->advice.left_out);
}

/* member: its offset in struct baro_need. */
static struct range range_of_member(const struct advising *a, size_t member)
{
    double *v = calloc(a->n + 1, sizeof(*v));
    size_t n = 0;
    for (size_t i = 0; v && i < a->n; i++) {
        memcpy(&v[n], (const char *)a->need[i] + member, sizeof(*v));
        n += counts(a, a->need[i]) && isfinite(v[n]);
    }
    struct range r = range_of(v, n);
    free(v);
    return r;
}
#define RANGE(a, member) range_of_member(a, offsetof(struct baro_need, member))

/* The cores that threads of the job ran on in part k of a run, if all of its CPU time is divided as its demand is:
 * threads that could have run and had no core did not. Example: 4 threads for 2.3 s, on 2 cores that others used a bit
 * as well: it used 4.0 s, so 1.7 cores and not 4. */
static double cores_in(const struct baro_need *n, unsigned k)
{
    double most = n->machine_cores >= 1 ? n->machine_cores : INFINITY, sum = 0;
    most = n->cores_limit > 0 ? fmin(most, n->cores_limit) : most;
    for (unsigned i = 0; i < n->parts; i++)
        sum += fmin(n->demand[i], most);
    double used = n->parts * n->cpu_ns / n->wall_ns;
    return fmin(n->demand[k], most) * (used < sum ? used / sum : 1);
}

/* How much longer the runs would take at least with fewer cores: in each part of a run the cores that it ran on, over
 * those. Example: half of the time on 4 cores and half of it on 1, with 2 cores: (4 / 2 + 1) / 2 = 1.5 times the time.
 */
static double slower_with(const struct advising *a, double cores)
{
    double before = 0, after = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct baro_need *n = a->need[i];
        for (unsigned k = 0; counts(a, n) && n->cores >= 1 && k < n->parts; k++) {
            before += n->wall_ns / n->parts;
            after += n->wall_ns / n->parts * fmax(1, cores_in(n, k) / cores);
        }
    }
    return before > 0 ? after / before : NAN;
}

/* How many runs need more than a limit; unknown: those that may, as memory ran out or there is only a range. */
static size_t killed_at(const struct advising *a, double limit, size_t *ret_unknown)
{
    size_t killed = 0;
    *ret_unknown = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct baro_need *n = a->need[i];
        bool is_bound = n->flags & BARO_NEED_MEMORY_BOUND;
        bool is_killed = counts(a, n) && (is_bound ? n->memory_bytes >= limit : n->memory_bytes > limit);
        killed += is_killed;
        *ret_unknown += counts(a, n) && !is_killed && (is_bound || !(n->memory_at_most_bytes <= limit));
    }
    return killed;
}

/* The next lower one of 64, 96, 128, 192, ... MiB. */
static double lower_limit(double limit)
{
    double power = 67108864;
    while (power * 2 < limit)
        power *= 2;
    return power * 1.5 < limit ? power * 1.5 : power;
}

struct waste {
    double core_ns, byte_ns;
    size_t cores_runs, memory_runs; /* runs that had a limit */
};

static struct waste waste_of(const struct advising *a)
{
    struct waste w = {0};
    for (size_t i = 0; i < a->n; i++) {
        const struct baro_need *n = a->need[i];
        double cores = n->cores_limit * n->wall_ns - n->cpu_ns,
               bytes = (n->memory_limit_bytes - n->memory_bytes) * n->wall_ns;
        w.cores_runs += counts(a, n) && n->cores_limit > 0;
        w.memory_runs += counts(a, n) && n->memory_limit_bytes > 0;
        w.core_ns += counts(a, n) && n->cores_limit > 0 && cores > 0 ? cores : 0;
        w.byte_ns += counts(a, n) && n->memory_limit_bytes > 0 && bytes > 0 ? bytes : 0;
    }
    return w;
}

/* ---- text ---- */

static void put_bytes(struct buf *b, double v)
{
    fmt_bytes(b, whole_of(v));
}

static void put_time(struct buf *b, double v)
{
    fmt_duration(b, whole_of(v));
}

static void put_range(struct buf *b, struct range r, size_t runs, void (*put)(struct buf *, double))
{
    put(b, r.most);
    if (runs > 1) {
        buf_str(b, ", median ");
        put(b, r.median);
        buf_str(b, ", least ");
        put(b, r.least);
    }
}

static void put_why_no_cores(const struct advising *a, struct buf *b)
{
    const struct baro_need *most = NULL;
    for (size_t i = 0; i < a->n; i++) {
        const struct baro_need *n = a->need[i];
        if (counts(a, n) && n->flags & BARO_NEED_NEIGHBOURS && !(most && most->neighbours_cores >= n->neighbours_cores))
            most = n;
    }
    if (most)
        buf_printf(b, "not known: neighbours used %s%.1f of %.0f cores, and the job waited for them",
                   a->advice.runs > 1 ? "up to " : "", most->neighbours_cores, most->machine_cores);
    else
        buf_str(b, "not known: the runs are too short, or it was not read how long threads waited");
}

static void put_cores(const struct advising *a, struct buf *b)
{
    struct range r = RANGE(a, cores);
    if (!(a->advice.cores >= 1)) {
        put_why_no_cores(a, b);
        return;
    }
    buf_printf(b, "%.0f: there was work for %.0f", a->advice.cores, r.least);
    if (r.most > r.least)
        buf_printf(b, " to %.0f", r.most);
    for (double k = a->advice.cores; k > 1 && k < CORES_MOST;) {
        k = ceil(k / 2);
        double slower = slower_with(a, k);
        if (slower >= 1.005)
            buf_printf(b, "; with %.0f at least %.0f %% more time", k, 100 * (slower - 1));
        if (k <= 1)
            break;
    }
}

static void put_limits(const struct advising *a, struct buf *b)
{
    double limit = a->advice.memory_bytes;
    for (int i = 0; i < LIMITS_MOST && limit > 0; i++) {
        size_t unknown, killed = killed_at(a, limit, &unknown);
        buf_str(b, i ? "; " : "");
        fmt_limit(b, whole_of(limit));
        buf_printf(b, ": %zu", killed);
        if (!i)
            buf_printf(b, " of %zu run%s would have been killed", a->advice.runs, a->advice.runs == 1 ? "" : "s");
        if (unknown)
            buf_printf(b, " (of %zu it is not known)", unknown);
        if (killed == a->advice.runs || limit <= 67108864)
            break;
        limit = lower_limit(limit);
    }
}

static void put_memory(const struct advising *a, struct buf *b)
{
    struct range needed = RANGE(a, memory_bytes), shared = RANGE(a, memory_shared_bytes),
                 cache = RANGE(a, page_cache_bytes), at_most = RANGE(a, memory_at_most_bytes);
    if (!(a->advice.memory_bytes > 0)) {
        buf_str(b, "not known");
        return;
    }
    fmt_limit(b, whole_of(a->advice.memory_bytes));
    buf_str(b, ": the most was ");
    put_range(b, needed, a->advice.runs, put_bytes);
    if (at_most.most > 1.2 * needed.most) {
        buf_str(b, "; it may have been ");
        put_bytes(b, at_most.most);
    }
    if (shared.most >= MENTION * needed.most) {
        buf_str(b, "; shared memory and tmpfs up to ");
        put_bytes(b, shared.most);
    }
    if (cache.most >= MENTION * needed.most) {
        buf_str(b, "; besides up to ");
        put_bytes(b, cache.most);
        buf_str(b, " of page cache, which it can do without");
    }
}

static void put_wall(const struct advising *a, struct buf *b)
{
    struct range wall = RANGE(a, wall_ns);
    if (a->advice.time_ns > 0) {
        buf_printf(b, "%.0f min: the longest took ", a->advice.time_ns / 60e9);
    } else {
        buf_str(b, "not known: no run came to its end; the longest ran for at least ");
    }
    put_range(b, wall, a->advice.runs, put_time);
}

static void put_gpu(const struct advising *a, struct buf *b)
{
    struct range gpus = RANGE(a, gpus), memory = RANGE(a, gpu_memory_bytes);
    if (!(gpus.most >= 1))
        return;
    buf_printf(b, "%.0f", gpus.most);
    if (a->advice.gpu_memory_bytes > 0) {
        buf_str(b, ", of ");
        fmt_limit(b, whole_of(a->advice.gpu_memory_bytes));
        buf_str(b, " each: the most was ");
        put_range(b, memory, a->advice.runs, put_bytes);
    }
}

void advise_put_hours(double hours, const char *what, struct buf *ret)
{
    if (hours < 0.01)
        buf_printf(ret, "less than 0.01 %s", what);
    else
        buf_printf(ret, "%.3g %s", hours, what);
}

/* "1.25 core-hours in 3 runs" */
static void put_hours(double hours, const char *what, size_t runs, struct buf *b)
{
    advise_put_hours(hours, what, b);
    buf_printf(b, " in %zu run%s", runs, runs == 1 ? "" : "s");
}

static void put_waste(const struct advising *a, struct buf *b)
{
    struct waste w = waste_of(a);
    if (!w.cores_runs && !w.memory_runs) {
        buf_str(b, "nothing was asked for: no limit of cores or memory was set");
        return;
    }
    buf_str(b, "unused of what was allowed: ");
    if (w.cores_runs)
        put_hours(w.core_ns / HOUR_NS, "core-hours", w.cores_runs, b);
    buf_str(b, w.cores_runs && w.memory_runs ? ", " : "");
    if (w.memory_runs)
        put_hours(w.byte_ns / HOUR_NS / 1e9, "GB-hours", w.memory_runs, b);
}

void advise_put_line(const struct cli *cli, const char *label, const struct buf *text, struct buf *ret)
{
    buf_printf(ret, "%-*s", LABEL_WIDTH, label);
    wrap_words(ret, text->len ? (const char *)text->at : "", text->len, LABEL_WIDTH, LABEL_WIDTH, cli->width);
    buf_byte(ret, '\n');
}

static void put_line(const struct advising *a, const char *label, const char *text, struct buf *b)
{
    struct buf copy = {0};
    buf_str(&copy, text);
    advise_put_line(a->log.cli, label, &copy, b);
    buf_done(&copy);
}

static void put_doubts(const struct advising *a, struct buf *b)
{
    const struct {
        size_t n;
        const char *what;
    } rows[] = {
        {a->partial, "left out, as they run still or their tapes are cut off or a part of a run"},
        {a->unread, "left out, as they can't be read"},
        {a->advice.memory_bounds, "out of memory, so that what they needed is a lower bound"},
        {a->advice.time_bounds, "ended by a limit or a signal, so that their time is a lower bound"},
        {a->open, "with memory that may have been more than is known"},
        {a->is_short, "shorter than a second, so that they say nothing about cores"},
        {a->advice.cores >= 1 ? a->neighbours : 0, "kept waiting by neighbours, so that they say nothing about cores"},
        {a->advice.failed,
         a->advice.left_out & BARO_NEED_FAILED ? "failed, and left out" : "failed: one that succeeds may need more"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[160];
        snprintf(text, sizeof(text), "%zu of %zu runs: %s", rows[i].n, a->n + a->unread, rows[i].what);
        if (rows[i].n)
            put_line(a, "note", text, b);
    }
    if (a->advice.runs == 1)
        put_line(a, "note", "it was seen once: another input may need more", b);
    if (RANGE(a, wall_ns).most < SHORT_NS)
        put_line(a, "note", "no run took 30 s: that is little to go by", b);
    if (a->ranks) {
        struct buf rank = {0};
        buf_printf(&rank, "this is for rank %u", a->rank);
        if (a->ranks < UINT32_MAX)
            buf_printf(&rank, " of %u", a->ranks);
        buf_str(&rank, " alone; a folder of the tapes of all ranks says what a node needs");
        advise_put_line(a->log.cli, "note", &rank, b);
        buf_done(&rank);
    }
    if (a->is_mixed)
        put_line(a, "note", "these are different commands; --command REGEX tells them apart", b);
}

static void put_text(const struct advising *a, struct buf *b)
{
    size_t from = b->len;
    buf_printf(b, "After %zu run%s", a->advice.runs, a->advice.runs == 1 ? "" : "s");
    buf_str(b, a->is_mixed ? "" : " of ");
    if (!a->is_mixed)
        log_title(&a->log.rows.at[a->log.rows.n - 1], 50, b);
    buf_str(b, " ask for\n");
    if (a->log.cli->tty && a->log.cli->width)
        wrap_lines(b, from, a->log.cli->width);
    static const struct {
        const char *label;
        void (*put)(const struct advising *a, struct buf *b);
    } rows[] = {{"cores", put_cores}, {"memory", put_memory}, {"", put_limits},
                {"time", put_wall},   {"GPUs", put_gpu},      {"today", put_waste}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf text = {0};
        rows[i].put(a, &text);
        buf_byte(&text, 0);
        if (text.len > 1)
            put_line(a, rows[i].label, (const char *)text.at, b);
        buf_done(&text);
    }
    put_doubts(a, b);
    buf_byte(b, '\n');
    advise_lines(&a->advice, NULL, a->ranks, b);
}

/* ---- JSON ---- */

static void json_range(struct json *j, const char *name, struct range r)
{
    json_key_begin(j, name, '{');
    json_key_double(j, "least", r.least);
    json_key_double(j, "median", r.median);
    json_key_double(j, "most", r.most);
    json_end(j, '}');
}

static void put_json(const struct advising *a, struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    struct waste w = waste_of(a);
    json_begin(&j, '{');
    json_key_u64(&j, "format", 1);
    json_key_u64(&j, "runs", a->advice.runs);
    json_key(&j, "rank");
    json_u64_or_null(&j, a->ranks, a->rank);
    json_key_begin(&j, "ask", '{');
    json_key_double(&j, "cores", a->advice.cores);
    json_key_double(&j, "memory_bytes", a->advice.memory_bytes);
    json_key_double(&j, "time_ns", a->advice.time_ns);
    json_key_double(&j, "gpu_memory_bytes", a->advice.gpu_memory_bytes);
    json_end(&j, '}');
    json_key_begin(&j, "needed", '{');
    json_range(&j, "cores", RANGE(a, cores));
    json_range(&j, "memory_bytes", RANGE(a, memory_bytes));
    json_range(&j, "memory_at_most_bytes", RANGE(a, memory_at_most_bytes));
    json_range(&j, "wall_ns", RANGE(a, wall_ns));
    json_range(&j, "gpu_memory_bytes", RANGE(a, gpu_memory_bytes));
    json_end(&j, '}');
    json_key_begin(&j, "limits", '[');
    double limit = a->advice.memory_bytes;
    for (int i = 0; i < LIMITS_MOST && limit > 0; i++, limit = lower_limit(limit)) {
        size_t unknown, killed = killed_at(a, limit, &unknown);
        json_begin(&j, '{');
        json_key_double(&j, "memory_bytes", limit);
        json_key_u64(&j, "killed", killed);
        json_key_u64(&j, "unknown", unknown);
        json_end(&j, '}');
        if (limit <= 67108864)
            break;
    }
    json_end(&j, ']');
    json_key_double(&j, "unused_core_hours", w.cores_runs ? w.core_ns / HOUR_NS : NAN);
    json_key_double(&j, "unused_gb_hours", w.memory_runs ? w.byte_ns / HOUR_NS / 1e9 : NAN);
    json_key_u64(&j, "partial", a->partial);
    json_key_u64(&j, "unreadable", a->unread);
    json_key_u64(&j, "failed", a->advice.failed);
    json_key_u64(&j, "beside_neighbours", a->neighbours);
    json_key_u64(&j, "memory_bounds", a->advice.memory_bounds);
    json_key_u64(&j, "time_bounds", a->advice.time_bounds);
    json_end(&j, '}');
}

int cmd_advise(struct cli *cli, const struct settings *s, char **argv)
{
    struct advising a = {0};
    struct rank_tapes ranks = {0};
    struct buf out = {0};
    struct baro_error err = BARO_ERROR_INIT;
    int found = 0, code = log_list(&a.log, cli, s, argv, &err);
    if (code >= 0)
        found = code = rank_tapes_find(&a.log.named, false, &ranks, &err);
    if (code >= 0 && found) { /* they are parts of one run */
        code = advise_ranks(cli, s, &ranks, &out, &err);
    } else if (code >= 0) {
        if (ranks.notes.len) /* of several jobs: then each is taken as a run */
            cli_note(cli, "%.*s", (int)ranks.notes.len - 1, (const char *)ranks.notes.at);
        log_choose(&a.log, argv[0] != NULL);
        code = read_needs(&a, &err);
        if (code >= 0 && s->json)
            put_json(&a, &out);
        else if (code >= 0 && s->log.for_what)
            advise_lines(&a.advice, s->log.for_what, a.ranks, &out);
        else if (code >= 0)
            put_text(&a, &out);
    }
    int status = code < 0 ? cli_fail(cli, &err) : s->json ? cli_out(cli, &out) : cli_out_text(cli, &out);
    rank_tapes_done(&ranks);
    free(a.need);
    log_done(&a.log);
    buf_done(&out);
    return status;
}
