/* SPDX-License-Identifier: Apache-2.0 */
/* Which task each process belongs to, and what it has used by now. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/min_max.h"
#include "libbaro/rules/task_state.h"

#define ANCESTORS_MOST 64
#define MISSING_MOST 1000u            /* samples after which no exit is waited for */
#define HELD_MOST 8192u               /* exits between two samples; a hostile tape has millions */
#define PROCESSES_MOST 65536u         /* with more no exit is waited for */
#define LABELS_MOST 1024u             /* tasks that rows name: libbaro/rules/label_by.c */
#define TASK_IDS UINT32_C(0xfffe0000) /* ids of tasks of rules; those of a tape are numbered from 1 on */
#define LATE_NS NS_PER_SEC            /* as WATCH_LATE of a recorder */

const struct used_metric used_metrics[USED_COUNTERS] = {
    [USED_CPU] = {PROCESS_cpu, EXIT_cpu, TASK_cpu},
    [USED_USER] = {PROCESS_cpu_user, EXIT_cpu_user, TASK_cpu_user},
    [USED_DELAY] = {PROCESS_run_delay, EXIT_run_delay, TASK_run_delay},
    [USED_READ] = {PROCESS_io_read, EXIT_io_read, TASK_io_read},
    [USED_WRITE] = {PROCESS_io_write, EXIT_io_write, TASK_io_write},
    [USED_RCHAR] = {PROCESS_io_rchar, EXIT_io_rchar, TASK_io_rchar},
    [USED_WCHAR] = {PROCESS_io_wchar, EXIT_io_wchar, TASK_io_wchar},
};

/* ---- tasks ---- */

static struct task_sums *add_task(struct task_fold *f, const struct baro_entity *entity)
{
    struct task_sums **grown =
        f->n_tasks < LABELS_MOST ? array_room(f->task, f->n_tasks, &f->cap_tasks, sizeof(*grown)) : NULL;
    f->task = grown ? grown : f->task;
    struct task_sums *t = grown ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return NULL;
    t->entity = *entity;
    t->unread = t->io_unread = f->is_short;
    t->swept_ns = f->swept_ns;
    return f->task[f->n_tasks++] = t;
}

struct task_sums *task_sums_get(struct task_fold *f, uint32_t id)
{
    for (size_t i = 0; i < f->n_tasks; i++) {
        if (f->task[i]->entity.id == id)
            return f->task[i];
    }
    return add_task(f, &(struct baro_entity){.id = id});
}

/* A recorder that goes on with the tape of another one gives the task another id. */
static struct task_sums *task_of_entity(struct task_fold *f, const struct baro_entity *e)
{
    struct task_sums *t = NULL;
    for (size_t i = 0; i < f->n_tasks && !t; i++)
        t = f->task[i]->entity.id == e->id || strcmp(f->task[i]->name, e->name) == 0 ? f->task[i] : NULL;
    for (int m = 0; t && t->entity.id != e->id && m < TASK_MAX; m++) {
        t->is_joined = true;
        t->carried[m] += baro_metric_get(KIND_task, m)->semantics == BARO_SEM_COUNTER ? t->own[m] : 0;
        t->own[m] = 0;
    }
    t = t ? t : task_sums_get(f, e->id);
    if (t)
        snprintf(t->name, sizeof(t->name), "%s", e->name);
    return t;
}

/* The number of the task of a row, counted from 1; 0: none. */
static uint16_t number_of(struct task_fold *f, uint64_t id, uint8_t absent)
{
    if (absent || id > UINT32_MAX || !task_sums_get(f, (uint32_t)id))
        return 0;
    size_t i = 0;
    while (f->task[i]->entity.id != id)
        i++;
    return (uint16_t)(i + 1);
}

/* The label of a task for people: "\bgulpy\b, gulmc". */
static char *label_of(const struct rules *rules, size_t task)
{
    struct buf label = {0};
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->at[i].task != task)
            continue;
        buf_str(&label, label.len ? ", " : "");
        buf_str(&label, rules->at[i].text);
    }
    buf_byte(&label, 0);
    char *text = label.failed ? NULL : strdup((const char *)label.at);
    buf_done(&label);
    return text;
}

static bool add_tasks_of_rules(struct task_fold *f)
{
    for (size_t i = 0; f->rules && i < f->rules->n_tasks; i++) {
        char *label = label_of(f->rules, i);
        struct baro_entity e = {.id = TASK_IDS + (uint32_t)i,
                                .kind = KIND_task,
                                .name = f->rules->task[i].name,
                                .label = label,
                                .info_version = 1,
                                .n_values = TASK_MAX};
        if (!label || !add_task(f, &e)) {
            free(label);
            return false;
        }
    }
    return true;
}

int task_fold_new(struct task_fold **ret, const struct baro_header *h, const struct rules *rules, uint64_t since_ns)
{
    struct task_fold *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->rules = rules;
    f->ticks = derive_ticks_of(h);
    f->t_ns = since_ns;
    f->attached = h->mode == BARO_MODE_ATTACH;
    f->begins_within = header_begins_within(h);
    f->selects = f->attached && !h->n_targets && !*h->cgroup_mode;
    f->is_short = h->segment > 1 && !f->begins_within;
    f->is_unsure = strcmp(h->event_source, "scan") == 0;
    if (!add_tasks_of_rules(f)) {
        task_fold_free(f);
        return -ENOMEM;
    }
    *ret = f;
    return 0;
}

void task_fold_free(struct task_fold *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++)
        free(f->at[i]);
    for (size_t i = 0; i < f->n_tasks; i++) {
        if (f->rules)
            free(f->task[i]->entity.label);
        free(f->task[i]);
    }
    free(f->at);
    free(f->exit);
    free(f->edge);
    free(f->task);
    free(f->shown);
    free(f->own);
    map_done(&f->by_id);
    map_done(&f->by_pid);
    buf_done(&f->text);
    free(f);
}

void task_fold_limit_cpu(struct task_fold *f, uint64_t until_ns)
{
    f->cpu_until_ns = until_ns;
}

bool task_fold_is_needed(const struct baro_sample *s)
{
    const struct baro_entities *tasks = &s->entities[KIND_task];
    return tasks->n && tasks->at[0]->absent[TASK_processes] == TASK_OF_READERS;
}

/* ---- processes ---- */

static bool index_process(struct task_fold *f, const struct task_process *p, size_t i)
{
    return (!p->id || map_add(&f->by_id, p->id, i)) &&
           (p->key.pid <= 0 || map_set(&f->by_pid, (uint64_t)p->key.pid, i));
}

static struct task_process *find_id(const struct task_fold *f, uint32_t id)
{
    const uint64_t *i = id ? map_find(&f->by_id, id) : NULL;
    return i ? f->at[*i] : NULL;
}

struct task_process *task_process_find(const struct task_fold *f, struct baro_key key)
{
    const uint64_t *i = key.pid > 0 ? map_find(&f->by_pid, (uint64_t)key.pid) : NULL;
    struct task_process *p = i ? f->at[*i] : NULL;
    return p && (!key.start || !p->key.start || p->key.start == key.start) ? p : NULL;
}

static struct task_process *add_process(struct task_fold *f, uint32_t id, struct baro_key key, struct baro_key parent)
{
    bool has_room = array_reserve(&f->at, f->n + 1, &f->cap, sizeof(*f->at)) == 0;
    struct task_process *p = has_room ? calloc(1, sizeof(*p)) : NULL;
    if (!p)
        return NULL;
    *p = (struct task_process){.id = id, .key = key, .parent = parent, .is_new = true};
    if (!index_process(f, p, f->n)) {
        free(p);
        return NULL;
    }
    return f->at[f->n++] = p;
}

uint64_t task_part(const struct task_process *p, enum used_counter c)
{
    uint64_t own = c < USED_READ ? p->used[c] : excess(p->used[c], p->reaped[c - USED_READ]);
    return excess(own, p->counted[c]);
}

void task_edge_add(struct task_fold *f, uint64_t t_ns, struct task_process *p, int8_t change)
{
    t_ns = max_u64(t_ns, f->begin_ns);
    if (array_reserve(&f->edge, f->n_edges + 1, &f->cap_edges, sizeof(*f->edge)) < 0) {
        f->failed = true;
        return;
    }
    f->edge[f->n_edges++] = (struct task_edge){t_ns, p->task, change};
    p->is_running = change > 0;
}

/* ---- membership ---- */

/* What it has used by now stays with its task. */
static void leave(struct task_fold *f, struct task_process *p, uint64_t t_ns)
{
    struct task_sums *t = sums_of_process(f, p);
    for (enum used_counter c = 0; c < USED_COUNTERS; c++) {
        uint64_t part = task_part(p, c);
        t->ended[c] += part;
        p->counted[c] += part;
    }
    t->gone++;
    if (p->is_running)
        task_edge_add(f, t_ns, p, -1);
}

static void join(struct task_fold *f, struct task_process *p, uint16_t task, uint64_t t_ns)
{
    struct task_sums *t = f->task[task - 1];
    p->task = task;
    if (!t->started || t_ns < t->begin_ns)
        t->begin_ns = t_ns;
    t->started++;
    task_edge_add(f, t_ns, p, 1);
}

/* was_open: its task was not known so far, so all that it has used since it began, or left another task, counts. */
static void set_task(struct task_fold *f, struct task_process *p, uint16_t task, bool was_open)
{
    if (p->task == task)
        return;
    bool from_now = p->task || !(p->is_new || was_open);
    if (p->task)
        leave(f, p, f->t_ns);
    for (enum used_counter c = 0; from_now && c < USED_COUNTERS; c++)
        p->counted[c] += task_part(p, c);
    p->task = 0;
    if (task)
        join(f, p, task, from_now ? f->t_ns : p->begin_ns);
}

static bool may_be_other(const struct task_fold *f, const struct task_process *p)
{
    for (size_t t = 0; t < f->rules->n_tasks; t++) {
        if (p->may[t] && t + 1 != p->otherwise)
            return true;
    }
    return false;
}

/* A child that has executed nothing has its parent's command. */
static bool is_fork(const struct task_process *p, const struct task_process *parent)
{
    return !p->has_cmdline && (!*p->name || strcmp(p->name, parent->name) == 0);
}

static void resolve(struct task_fold *f, struct task_process *p, int depth)
{
    if (p->is_resolved || !f->rules)
        return;
    p->is_resolved = true;
    const struct rule_task *task = f->rules->task;
    struct task_process *parent = p->is_new ? task_process_find(f, p->parent) : NULL;
    bool was_open = p->is_open;
    if (parent && parent != p && depth < ANCESTORS_MOST) {
        resolve(f, parent, depth + 1);
        p->otherwise = parent->task ? task[parent->task - 1].whole ? parent->task : 0 : parent->otherwise;
        if (is_fork(p, parent) && !parent->is_open) {
            set_task(f, p, parent->task, false);
            return;
        }
    }
    p->is_open = !p->fits && may_be_other(f, p);
    set_task(f, p, p->is_open ? 0 : p->fits ? p->fits : p->otherwise, was_open);
}

/* ---- commands ---- */

/* Makes the words of a command line that is quoted for a shell: 'a b' c becomes a b c. Returns NULL if out of memory.
 */
static const char *without_quotes(struct buf *to, const char *quoted, const char **ret_argv_name)
{
    bool inside = false;
    buf_clear(to);
    for (const char *at = quoted; *at; at++) {
        if (*at == '\'')
            inside = !inside;
        else
            buf_byte(to, *at == '\\' && !inside && at[1] ? (unsigned char)*++at : (unsigned char)*at);
    }
    buf_byte(to, 0);
    size_t line = to->len;
    if (to->failed || !buf_reserve(to, line)) {
        to->failed = false;
        return NULL;
    }
    size_t word = strcspn((const char *)to->at, " "), from = word;
    while (from && to->at[from - 1] != '/')
        from--;
    from += to->at[from] == '-' && from < word; /* a login shell */
    buf_add(to, to->at + from, word - from);
    buf_byte(to, 0);
    *ret_argv_name = (const char *)to->at + line;
    return (const char *)to->at;
}

static void judge(struct task_fold *f, struct task_process *p, const char *name, const char *cmdline, uint32_t uid)
{
    struct known_command c = {.comm = name && *name ? name : NULL, .has_uid = uid != UINT32_MAX, .uid = uid};
    if (!f->rules || (f->cpu_until_ns && clock_thread_cpu_ns() > f->cpu_until_ns))
        return;
    if (cmdline)
        c.cmdline = without_quotes(&f->text, cmdline, &c.argv_name);
    p->has_cmdline = c.cmdline;
    snprintf(p->name, sizeof(p->name), "%s", name ? name : "");
    p->fits = (uint8_t)rules_judge(f->rules, &c, p->may);
    if (p->fits)
        memset(p->may, 0, sizeof(p->may));
    p->is_resolved = false;
}

/* ---- a sample ---- */

static bool ran_before_recording(const struct task_fold *f, const struct baro_process *p)
{
    return f->attached && !derive_tick_ns(&f->ticks, p->key.start, 1);
}

/* Did it run before the recording, before it was selected, or before it had a task? What it had used by then does not
 * count. */
static bool ran_before(const struct task_fold *f, const struct baro_process *p, uint64_t begin_ns)
{
    bool before = ran_before_recording(f, p);
    bool had_none = !f->samples && f->t_ns && p->first_ns <= f->t_ns;
    return before || had_none || (f->begins_within && !f->samples) || (f->selects && begin_ns + LATE_NS < p->first_ns);
}

static void begin_process(struct task_fold *f, struct task_process *p, const struct baro_process *row)
{
    /* Start times are rounded down to 10 ms: one that begins after the end of another one is not beside it. */
    p->begin_ns = min_u64(derive_tick_ns(&f->ticks, row->key.start, 1), row->first_ns);
    if (!ran_before(f, row, p->begin_ns))
        return;
    p->is_within = f->begins_within && !f->samples;
    p->begin_ns = p->is_within ? f->now_ns : max_u64(row->first_ns, f->t_ns);
    memset(p->lacks_base, true, sizeof(p->lacks_base));
}

/* What is not read by the first sample of a stretch is in none before it, so all of it counts. */
static void take_counter(const struct task_fold *f, struct task_process *p, enum used_counter c,
                         const struct baro_process *row)
{
    enum process_metric m = used_metrics[c].process;
    if (row->absent[m] != BARO_PRESENT) {
        p->lacks_base[c] &= !(p->is_new && p->is_within) || ran_before_recording(f, row);
        return;
    }
    p->base[c] = p->lacks_base[c] ? row->value[m] : p->base[c];
    p->lacks_base[c] = false;
    p->used[c] = max_u64(p->used[c], excess(row->value[m], p->base[c]));
}

/* I/O of children that have ended, those without exits on the tape included: record --all. */
static void take_children(struct task_process *p, const struct baro_process *row)
{
    for (int i = 0; i < USED_IO; i++) {
        uint64_t value = row->absent[PROCESS_children_io_read + i] ? 0 : row->value[PROCESS_children_io_read + i];
        if (p->is_new && p->lacks_base[USED_READ + i])
            p->reaped_base[i] = value;
        p->reaped[i] = max_u64(p->reaped[i], excess(value, p->reaped_base[i]));
        p->has_reaped |= value > 0;
    }
}

static void take_row(struct task_fold *f, struct task_process *p, const struct baro_process *row)
{
    if (!f->rules)
        set_task(f, p, number_of(f, row->value[PROCESS_task], row->absent[PROCESS_task]), false);
    if (p->task && !p->is_running)
        task_edge_add(f, f->t_ns, p, 1);
    p->missing = 0;
    take_children(p, row);
    for (enum used_counter c = 0; c < USED_COUNTERS; c++)
        take_counter(f, p, c, row);
}

/* A recorder that goes on with the tape of another one gives its processes other ids. */
static struct task_process *find_again(struct task_fold *f, const struct baro_process *row)
{
    struct task_process *p = row->key.start ? task_process_find(f, row->key) : NULL;
    const uint64_t *i = p ? map_find(&f->by_pid, (uint64_t)row->key.pid) : NULL;
    if (!p || p->has_ended || p->key.start != row->key.start || !map_add(&f->by_id, row->id, *i))
        return NULL;
    p->id = row->id;
    return p;
}

static struct task_process *meet(struct task_fold *f, const struct baro_process *row)
{
    struct task_process *p = find_id(f, row->id);
    if (!p && row->id)
        p = find_again(f, row);
    if (!p && !(p = add_process(f, row->id, row->key, row->parent)))
        return NULL;
    p->key = row->key;
    if (p->is_new)
        begin_process(f, p, row);
    if (p->is_new || p->info_version != row->info_version)
        judge(f, p, row->name, row->cmdline, row->uid);
    p->info_version = row->info_version;
    return p;
}

/* Drops those whose exits were counted. */
static void compact(struct task_fold *f)
{
    size_t kept = 0;
    unsigned most = f->n > PROCESSES_MOST ? 2 : MISSING_MOST;
    map_clear(&f->by_id);
    map_clear(&f->by_pid);
    for (size_t i = 0; i < f->n; i++) {
        struct task_process *p = f->at[i];
        if (p->missing >= most && p->task) {
            leave(f, p, f->t_ns);
            f->task[p->task - 1]->unread++;
        }
        if (p->has_ended || p->missing >= most) {
            free(p);
            continue;
        }
        p->is_new = false;
        f->failed |= !index_process(f, p, kept);
        f->at[kept++] = p;
    }
    f->n = kept;
}

/* Sets each row's task, and keeps its own one for task_fold_restore(). */
static void show_labels(struct task_fold *f, const struct baro_sample *s)
{
    f->n_own = 0;
    if (!f->rules)
        return;
    if (array_reserve(&f->own, s->n, &f->cap_own, sizeof(*f->own)) < 0) {
        f->failed = true;
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        struct baro_process *row = s->processes[i];
        const struct task_process *p = find_id(f, row->id);
        uint64_t *value = &row->value[PROCESS_task];
        uint8_t *absent = &row->absent[PROCESS_task];
        f->own[f->n_own++] = (struct task_own){*value, *absent};
        *value = p && p->task ? sums_of_process(f, p)->entity.id : 0;
        *absent = p && p->task ? BARO_PRESENT : BARO_ABSENT_NOT_ASKED;
    }
}

void task_fold_restore(struct task_fold *f, struct baro_process *const *processes, size_t n)
{
    for (size_t i = 0; i < f->n_own && i < n; i++) {
        processes[i]->value[PROCESS_task] = f->own[i].value;
        processes[i]->absent[PROCESS_task] = f->own[i].absent;
    }
    f->n_own = 0;
}

static void note_own_tasks(struct task_fold *f, const struct baro_sample *s)
{
    const struct baro_entities *own = &s->entities[KIND_task];
    for (size_t i = 0; !f->rules && i < f->n_tasks; i++)
        f->task[i]->entity = (struct baro_entity){.id = f->task[i]->entity.id};
    for (size_t i = 0; !f->rules && i < own->n; i++) {
        struct task_sums *t = task_of_entity(f, own->at[i]);
        if (t)
            t->entity = *own->at[i];
    }
}

int task_fold_sample(struct task_fold *f, struct baro_sample *s)
{
    f->now_ns = s->t_ns;
    if (!f->samples && f->begins_within)
        f->begin_ns = s->t_ns;
    note_own_tasks(f, s);
    f->is_unsure |= s->lossy;
    for (size_t i = 0; i < f->n; i++)
        f->at[i]->missing++;
    for (size_t i = 0; i < s->n; i++)
        f->failed |= !meet(f, s->processes[i]);
    for (size_t i = 0; i < f->n; i++)
        resolve(f, f->at[i], 0);
    for (size_t i = 0; i < s->n; i++) {
        struct task_process *p = find_id(f, s->processes[i]->id);
        if (p)
            take_row(f, p, s->processes[i]);
    }
    task_exits_take(f);
    uint64_t before_ns = f->t_ns;
    f->t_ns = s->t_ns;
    task_values_make(f, s, before_ns);
    compact(f);
    show_labels(f, s);
    f->samples++;
    return f->failed ? -ENOMEM : 0;
}

/* They are in no sample, and none has more CPU time than 10 ms. All of them lived between this sample and the last one.
 */
int task_fold_briefs(struct task_fold *f, uint32_t id, const uint64_t grown[BRIEF_MAX], uint64_t t_ns)
{
    struct task_sums *t = task_sums_get(f, id);
    if (!t)
        return -ENOMEM;
    if (!t->started)
        t->begin_ns = f->t_ns;
    t->end_ns = t_ns;
    t->brief_ns += max_u64(grown[BRIEF_elapsed], grown[BRIEF_cpu]);
    t->cpu_brief += grown[BRIEF_cpu];
    t->started += grown[BRIEF_processes];
    t->gone += grown[BRIEF_processes];
    t->rss_peak = max_u64(t->rss_peak, grown[BRIEF_rss_peak]);
    t->ended[USED_CPU] += grown[BRIEF_cpu];
    t->ended[USED_USER] += grown[BRIEF_cpu_user];
    t->ended[USED_DELAY] += grown[BRIEF_run_delay];
    t->ended[USED_READ] += grown[BRIEF_io_read];
    t->ended[USED_WRITE] += grown[BRIEF_io_write];
    t->ended[USED_RCHAR] += grown[BRIEF_io_rchar];
    t->ended[USED_WCHAR] += grown[BRIEF_io_wchar];
    t->peak = max_u64(t->peak, 1);
    return 0;
}

/* ---- an exit ---- */

static struct task_process *end_process(struct task_fold *f, const struct baro_exit *e)
{
    struct task_process *p = find_id(f, e->id);
    if (!p && !(p = add_process(f, e->id, e->key, e->parent)))
        return NULL;
    if (p->is_new)
        p->begin_ns = e->absent[EXIT_elapsed] ? e->t_ns : excess(e->t_ns, e->value[EXIT_elapsed]);
    if (p->is_new || !p->has_cmdline || strncmp(p->name, e->name, COMM_MOST) != 0)
        judge(f, p, e->name, e->cmdline, e->uid);
    p->has_ended = true;
    return p;
}

/* Counts the exits that have come. */
static void settle(struct task_fold *f)
{
    for (size_t i = 0; i < f->n; i++)
        resolve(f, f->at[i], 0);
    task_exits_take(f);
}

int task_fold_exit(struct task_fold *f, struct baro_exit *e)
{
    if (f->n_exits == HELD_MOST) {
        settle(f);
        task_edges_sweep(f, e->t_ns);
        compact(f);
    }
    struct task_process *p = end_process(f, e);
    if (!p || array_reserve(&f->exit, f->n_exits + 1, &f->cap_exits, sizeof(*f->exit)) < 0)
        return -ENOMEM;
    struct task_exit *held = &f->exit[f->n_exits++];
    *held = (struct task_exit){.of = p, .t_ns = e->t_ns, .source = e->source};
    memcpy(held->value, e->value, sizeof(held->value));
    memcpy(held->absent, e->absent, sizeof(held->absent));
    if (!f->rules) {
        set_task(f, p, number_of(f, e->value[EXIT_task], e->absent[EXIT_task]), false);
        return 0;
    }
    uint16_t task = p->fits ? p->fits : p->task;
    e->value[EXIT_task] = task ? f->task[task - 1]->entity.id : 0;
    e->absent[EXIT_task] = task ? BARO_PRESENT : BARO_ABSENT_NOT_YET;
    return 0;
}
