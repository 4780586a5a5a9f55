/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a job while they run: a line for each, those that are behind first. It is printed anew every few
 * seconds and takes no keys, so that ^C ends it as any program.
 */
#include "programs/baro-top/ranks_live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "baro/baro.h"
#include "base/error.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/rows/table.h"
#include "output/text/read_fact.h"
#include "programs/common/rank_tapes.h"

#define RANKS_MOST 512u /* each has an open file */
#define DEPTH_MOST 8u   /* phases in each other that are told apart */
#define PAUSE_S 2
#define LINES_AROUND 4u
#define STEP_NS 500000000u

struct live {
    const struct rank_tape *is;
    struct baro_tape *tape;
    struct baro_sample *before; /* from which cores are computed; NULL: none */
    char *node;
    double cores;                /* lately, over STEP_NS at least; below 0: not known */
    uint64_t memory, sampled_ns; /* of the last sample */
    bool has_memory, is_over;
    struct {
        char name[48];
        uint64_t id, t_ns;
    } phase[DEPTH_MOST]; /* those that are open, the innermost last */
    size_t open, ended;
};

struct lives {
    struct tape_list list;
    struct rank_tapes found;
    struct live *at;
    baro_metric_id rss;
    baro_metric_id derived_cores;
};

/* ---- reading ---- */

static uint64_t id_of(const struct baro_event *e)
{
    struct baro_attribute a;
    return baro_event_attribute_find(e, "id", &a) == 0 ? a.u64 : 0;
}

static void add_event(struct live *l, const struct baro_event *e)
{
    const char *name = baro_event_text(e);
    uint64_t id = id_of(e);
    size_t i = l->open;
    if (baro_event_kind_of(e) == BARO_EVENT_END)
        l->is_over = true;
    if (baro_event_kind_of(e) == BARO_EVENT_PHASE_BEGIN && l->open < DEPTH_MOST) {
        snprintf(l->phase[i].name, sizeof(l->phase[i].name), "%s", name);
        l->phase[i].id = id;
        l->phase[l->open++].t_ns = baro_event_t_ns(e);
    }
    if (baro_event_kind_of(e) != BARO_EVENT_PHASE_END)
        return;
    l->ended++;
    while (i > 0 && (l->phase[i - 1].id != id || strncmp(l->phase[i - 1].name, name, sizeof(l->phase->name) - 1) != 0))
        i--;
    if (i > 0) {
        memmove(&l->phase[i - 1], &l->phase[i], (l->open - i) * sizeof(*l->phase));
        l->open--;
    }
}

static int add_sample(const struct lives *all, struct live *l, const struct baro_sample *now, struct baro_error *err)
{
    size_t lacking;
    const struct baro_row *then = l->before ? baro_sample_row(l->before, BARO_KIND_JOB, 0) : NULL;
    l->sampled_ns = baro_sample_t_ns(now);
    l->has_memory = baro_sample_sum(now, all->rss, &l->memory, &lacking) == BARO_PRESENT;
    if (then && l->sampled_ns - baro_sample_t_ns(l->before) < STEP_NS)
        return 0;
    if (baro_row_derived(then, baro_sample_row(now, BARO_KIND_JOB, 0), all->derived_cores, &l->cores) != BARO_PRESENT)
        l->cores = -1;
    baro_sample_free(l->before);
    l->before = NULL;
    return baro_sample_copy(now, &l->before, err);
}

/* Reads what is new. A tape that is damaged from here on shows what it had. */
static void read_new(const struct lives *all, struct live *l)
{
    struct baro_record record;
    struct baro_error err = BARO_ERROR_INIT;
    while (l->tape && baro_tape_next(l->tape, &record, &err) > 0) {
        if (record.kind == BARO_RECORD_EVENT)
            add_event(l, record.u.event);
        else if (record.kind == BARO_RECORD_SAMPLE && add_sample(all, l, record.u.sample, &err) < 0)
            break;
    }
    if (l->tape && baro_tape_state(l->tape) != BARO_TAPE_RUNNING)
        l->is_over = true;
}

static int open_all(struct lives *all, struct baro_error *err)
{
    all->at = calloc(all->found.n, sizeof(*all->at));
    int code = all->at ? 0 : error_set(err, -ENOMEM, "out of memory");
    if (code == 0 && all->found.n > RANKS_MOST)
        code = error_set(err, BARO_E_RANGE, "top shows %u ranks at most, and here are %zu; `baro summary` shows all",
                         RANKS_MOST, all->found.n);
    for (size_t i = 0; i < all->found.n && code >= 0; i++) {
        struct live *l = &all->at[i];
        l->is = &all->found.at[i];
        l->cores = -1;
        code = baro_tape_open(&l->tape, l->is->path, err);
        const struct baro_header *h = code < 0 ? NULL : baro_tape_header(l->tape);
        const char *node = h ? report_header(h, "node").text : "";
        l->node = strdup(*node || !h ? node : baro_header_host(h));
        code = code >= 0 && !l->node ? error_set(err, -ENOMEM, "out of memory") : code;
    }
    return code;
}

static void close_all(struct lives *all)
{
    for (size_t i = 0; all->at && i < all->found.n; i++) {
        baro_sample_free(all->at[i].before);
        baro_tape_close(all->at[i].tape);
        free(all->at[i].node);
    }
    free(all->at);
    rank_tapes_done(&all->found);
    tape_list_done(&all->list);
}

/* ---- showing ---- */

/* Those that run come first; of them those that have ended fewest phases, then those that began theirs first. */
static int by_progress(const void *a, const void *b)
{
    const struct live *x = *(struct live *const *)a, *y = *(struct live *const *)b;
    int64_t xs = x->is->start_ns + (int64_t)(x->open ? x->phase[x->open - 1].t_ns : 0),
            ys = y->is->start_ns + (int64_t)(y->open ? y->phase[y->open - 1].t_ns : 0);
    if (x->is_over != y->is_over)
        return x->is_over - y->is_over;
    if (x->ended != y->ended)
        return x->ended < y->ended ? -1 : 1;
    return xs != ys ? (xs < ys ? -1 : 1) : x->is->rank < y->is->rank ? -1 : 1;
}

static int64_t realtime_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * (int64_t)NS_PER_SEC + t.tv_nsec;
}

/* How long ago a time of a tape was, by the clock of this machine. */
static void put_ago(const struct live *l, uint64_t t_ns, int64_t now_ns, struct buf *b)
{
    int64_t ago = now_ns - l->is->start_ns - (int64_t)t_ns;
    fmt_duration(b, ago > 0 ? (uint64_t)ago : 0);
}

static void put_line(struct table *t, const struct live *l, int64_t now_ns)
{
    struct buf b = {0};
    buf_printf(&b, "%u", l->is->rank);
    table_take(t, &b);
    text_escaped(&b, l->node, strlen(l->node));
    table_take(t, &b);
    if (l->cores >= 0 && !l->is_over)
        fmt_decimal(&b, l->cores, 2);
    table_take(t, &b);
    if (l->has_memory && !l->is_over)
        fmt_bytes(&b, l->memory);
    table_take(t, &b);
    buf_printf(&b, "%zu", l->ended);
    table_take(t, &b);
    if (l->open && !l->is_over)
        put_ago(l, l->phase[l->open - 1].t_ns, now_ns, &b);
    table_take(t, &b);
    if (l->before && !l->is_over)
        put_ago(l, l->sampled_ns, now_ns, &b);
    table_take(t, &b);
    if (l->is_over)
        buf_str(&b, "(ended)");
    else if (l->open)
        text_escaped(&b, l->phase[l->open - 1].name, strlen(l->phase[l->open - 1].name));
    table_take(t, &b);
    buf_done(&b);
}

static void put_all(const struct lives *all, const struct cli *cli, size_t most, struct buf *b)
{
    static const char *const titles[] = {"rank", "node", "cores", "memory", "done", "for", "sample", "phase"};
    struct table t = {.columns = 8,
                      .right = {true, false, true, true, true, true, true, false},
                      .ascii = !cli->utf8,
                      .drop = {6, 1},
                      .n_drop = 2};
    struct live **order = calloc(all->found.n, sizeof(*order));
    double cores = 0;
    uint64_t memory = 0;
    size_t running = 0;
    for (size_t i = 0; order && i < all->found.n; i++) {
        struct live *l = order[i] = &all->at[i];
        running += !l->is_over;
        cores += l->is_over || l->cores < 0 ? 0 : l->cores;
        memory += l->is_over ? 0 : l->memory;
    }
    buf_printf(b, "%zu of %u ranks run: ", running, all->found.ranks ? all->found.ranks : (unsigned)all->found.n);
    fmt_decimal(b, cores, 2);
    buf_str(b, " cores, ");
    fmt_bytes(b, memory);
    if (all->found.ranks > all->found.n)
        buf_printf(b, "; %zu have no tape", all->found.ranks - all->found.n);
    buf_byte(b, '\n');
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
        table_text(&t, titles[i]);
    if (order)
        qsort(order, all->found.n, sizeof(*order), by_progress);
    int64_t now_ns = realtime_ns();
    for (size_t i = 0; order && i < all->found.n && i < most; i++)
        put_line(&t, order[i], now_ns);
    table_print(&t, cli->table_width, b);
    if (all->found.n > most)
        buf_printf(b, "and %zu more\n", all->found.n - most);
    table_done(&t);
    free(order);
}

/* ---- round after round ---- */

/* Ranks may begin later than others: as long as some are missing the folder is listed again, and read anew if it has
 * more. Returns 1, 0 if these are no ranks, or a negative code. */
static int list_ranks(struct lives *all, char **argv, struct baro_error *err)
{
    struct lives more = {.rss = all->rss, .derived_cores = all->derived_cores};
    if (all->at && all->found.n >= all->found.ranks)
        return 1;
    int code = tape_list_read(&more.list, argv, err);
    code = code < 0 ? code : rank_tapes_find(&more.list, false, &more.found, err);
    if (code > 0 && more.found.n != all->found.n) {
        code = open_all(&more, err);
        code = code < 0 ? code : 1;
        struct lives old = *all;
        *all = more;
        more = old;
    }
    close_all(&more);
    return code;
}

static size_t read_all(struct lives *all)
{
    size_t running = 0;
    for (size_t i = 0; i < all->found.n; i++) {
        read_new(all, &all->at[i]);
        running += !all->at[i].is_over;
    }
    return running;
}

int ranks_live(struct cli *cli, const struct settings *s, char **argv)
{
    struct lives all = {.rss = baro_metric_find(BARO_KIND_PROCESS, "rss_bytes"),
                        .derived_cores = baro_derived_find(BARO_KIND_JOB, "cores")};
    struct baro_error err = BARO_ERROR_INIT;
    bool is_once = s->once || !cli->tty;
    int status = -1, found;
    size_t running;
    while ((found = list_ranks(&all, argv, &err)) > 0) {
        struct buf b = {0};
        running = read_all(&all);
        cli_resize(cli);
        buf_str(&b, is_once ? "" : "\x1b[H\x1b[J"); /* what was there stays in the terminal's history */
        put_all(&all, cli, is_once || cli->height <= LINES_AROUND ? SIZE_MAX : cli->height - LINES_AROUND, &b);
        status = cli_out_text(cli, &b);
        buf_done(&b);
        if (is_once || !running || status)
            break;
        sleep(PAUSE_S);
    }
    if (found < 0 && all.at) /* else it is no list of tapes, which cmd_top() says in its words */
        status = cli_fail(cli, &err);
    close_all(&all);
    return status;
}
