/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/loop/enforce.h"

#include <stdio.h>
#include <string.h>

#include "baro/text.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fmt.h"
#include "base/fd.h"
#include "base/min_max.h"
#include "libbaro/interval/derive.h"
#include "recorder/loop/recorder.h"
#include "recorder/wrapper/own_cgroup.h"

#define LOOK_NS (50 * NS_PER_MS)  /* in the grace: have all ended? */
#define ROUND_NS (20 * NS_PER_MS) /* between two rounds of SIGKILL */
#define KILL_MOST_NS (5 * NS_PER_SEC)
#define REFUSED_NS (200 * NS_PER_MS) /* for what may be signalled by no one but its user, and has lost its parent */
#define OTHERS_NS NS_PER_SEC         /* for recordings that were begun inside, to end their tapes */
#define NAMES_COUNTED 64u

/* Who noticed it. */
#define BY_KERNEL "kernel"
#define BY_SAMPLE "sample"
#define BY_TIMER "timer"
#define BY_EVENT "event"
#define BY_EXIT "exit"

static const struct record_limits *limits_of(const struct recorder *r)
{
    return &r->options->run.limits;
}

static bool watches(const struct recorder *r, enum limit_kind kind)
{
    return limits_of(r)->most[kind] && !(r->enforce.noted & 1u << kind);
}

/* ---- who holds what ---- */

/* Keeps the largest, in order. */
static void offer(struct enforce *e, const char *name, struct baro_key key, uint64_t value)
{
    size_t i = 0, k;
    for (k = 0; k < e->n_holders && !(key.pid && baro_key_equal(e->holder[k].key, key)); k++)
        ;
    if (k < e->n_holders && e->holder[k].value >= value)
        return;
    while (i < e->n_holders && e->holder[i].value >= value)
        i++;
    if (i == LIMIT_HOLDERS || !value)
        return;
    if (k == e->n_holders) /* it is new: the last one makes room */
        k = e->n_holders < LIMIT_HOLDERS ? e->n_holders++ : LIMIT_HOLDERS - 1;
    memmove(&e->holder[i + 1], &e->holder[i], (k - i) * sizeof(*e->holder));
    e->holder[i] = (struct enforce_holder){.key = key, .value = value};
    snprintf(e->holder[i].name, sizeof(e->holder[i].name), "%s", name ? name : "");
}

/* Is it a process of the job, without other recorders? */
static const struct baro_process *row_of(const struct recorder *r, size_t i)
{
    const struct member *m = r->job.tree.at[i];
    return m && !member_has_ended(m) && !m->other.is ? &m->row : NULL;
}

/* Of processes it is the names that are counted: "sleep 412, sh 88". */
static void offer_names(struct recorder *r)
{
    struct {
        const char *name;
        uint64_t n;
    } count[NAMES_COUNTED];
    size_t n = 0;
    for (size_t i = 0; i < r->job.tree.n; i++) {
        const struct baro_process *p = row_of(r, i);
        size_t k = 0;
        while (p && k < n && strcmp(count[k].name, p->name) != 0)
            k++;
        if (p && k == n && n < NAMES_COUNTED) {
            count[n].n = 0;
            count[n++].name = p->name;
        }
        if (p && k < n)
            count[k].n++;
    }
    for (size_t i = 0; i < n; i++)
        offer(&r->enforce, count[i].name, (struct baro_key){0}, count[i].n);
}

/* As they were last read. */
static void find_holders(struct recorder *r, enum limit_kind kind)
{
    enum process_metric metric = kind == LIMIT_MEMORY || kind == LIMIT_RSS ? PROCESS_rss : PROCESS_cpu;
    r->enforce.n_holders = 0;
    if (kind == LIMIT_PROCESSES) {
        offer_names(r);
        return;
    }
    for (size_t i = 0; i < r->job.tree.n; i++) {
        const struct baro_process *p = row_of(r, i);
        if (p && p->absent[metric] == BARO_PRESENT)
            offer(&r->enforce, p->name, p->key, p->value[metric]);
    }
}

/* ---- the event ---- */

static void put_event(struct recorder *r, struct limit_reached *l)
{
    struct enforce *e = &r->enforce;
    char name[LIMIT_HOLDERS][2][24];
    struct baro_attribute a[4 + 2 * LIMIT_HOLDERS] = {
        {.name = ATTRIBUTE_LIMIT_MOST, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = l->most},
        {.name = ATTRIBUTE_LIMIT_ACTION, .type = BARO_ATTRIBUTE_TEXT, .text = l->action},
        {.name = ATTRIBUTE_LIMIT_BY, .type = BARO_ATTRIBUTE_TEXT, .text = l->by},
    };
    size_t n = 3;
    if (l->is_kill)
        a[n++] = (struct baro_attribute){.name = ATTRIBUTE_LIMIT_LEFT, .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = l->left};
    l->n_holders = l->is_kill ? 0 : e->n_holders;
    for (unsigned i = 0; i < l->n_holders; i++) {
        l->holder[i] = (struct limit_holder){e->holder[i].name, e->holder[i].value};
        snprintf(name[i][0], sizeof(name[i][0]), ATTRIBUTE_LIMIT_HOLDER, i + 1);
        snprintf(name[i][1], sizeof(name[i][1]), ATTRIBUTE_LIMIT_HELD, i + 1);
        a[n++] = (struct baro_attribute){.name = name[i][0], .type = BARO_ATTRIBUTE_TEXT, .text = e->holder[i].name};
        a[n++] =
            (struct baro_attribute){.name = name[i][1], .type = BARO_ATTRIBUTE_UNSIGNED, .u64 = e->holder[i].value};
    }
    const struct baro_event event = {.t_ns = l->t_ns,
                                     .kind = BARO_EVENT_LIMIT,
                                     .key = l->n_holders ? e->holder[0].key : (struct baro_key){0},
                                     .number = l->value,
                                     .text = limit_name(l->kind),
                                     .n_attributes = n,
                                     .attribute = a};
    r->job.sink.event(r->job.sink.context, &event);
}

static const char *signal_words(int signal)
{
    return signal ? baro_signal_name(signal) ?: "signal" : "mark";
}

static void say(const struct recorder *r, struct buf *line)
{
    buf_byte(line, 0);
    if (r->options->on.error && !line->failed)
        r->options->on.error(r->options->observer.context, (const char *)line->at);
    buf_done(line);
}

static void say_reached(const struct recorder *r, const struct limit_reached *l, int signal)
{
    static const char *const how[][2] = {{BY_KERNEL, "the kernel's limit"},
                                         {BY_SAMPLE, "polled with each sample"},
                                         {BY_TIMER, "by a timer"},
                                         {BY_EVENT, "counted as processes begin"},
                                         {BY_EXIT, "known when it had ended"}};
    struct buf raw = {0}, line = {0};
    limit_put_sentence(l, &raw);
    for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
        if (strcmp(how[i][0], l->by) == 0)
            buf_printf(&raw, " (%s)", how[i][1]);
    }
    if (raw.len)
        buf_escaped(&line, (const char *)raw.at, raw.len);
    buf_printf(&line, "; %s", signal_words(signal));
    if (signal != SIGKILL) {
        buf_str(&line, " now, SIGKILL after ");
        fmt_duration(&line, limits_of(r)->grace_ns);
    }
    buf_done(&raw);
    say(r, &line);
}

/* ---- the act ---- */

/* For the wrapper: what to wait for, and that the exit status is that of a limit. */
static void tell_wrapper(struct recorder *r, unsigned bits)
{
    volatile uint64_t *word = r->wrapper.limit_word;
    if (word)
        *word |= bits;
    if (r->wrapper.link_fd >= 0)
        link_wake(&(struct link_end){.fd = r->wrapper.link_fd, .wrapper = r->wrapper.pid});
}

static void begin_kills(struct recorder *r, uint64_t now_ns)
{
    r->enforce.step = ENFORCE_KILLS;
    r->enforce.until_ns = now_ns + KILL_MOST_NS;
    r->enforce.due_ns = now_ns;
}

/* Returns true if this limit is the one that acts. */
static bool act(struct recorder *r, const struct limit_reached *l, int signal)
{
    struct enforce *e = &r->enforce;
    uint64_t now = clock_monotonic_ns();
    if (!signal || e->step != ENFORCE_WATCHES)
        return false;
    e->kind = l->kind;
    e->value = l->value;
    say_reached(r, l, signal);
    tell_wrapper(r, LIMIT_ACTS);
    if (signal == SIGKILL) {
        begin_kills(r, now);
        return true;
    }
    e->step = ENFORCE_GRACE;
    e->until_ns = now + limits_of(r)->grace_ns;
    e->due_ns = now + min_u64(LOOK_NS, limits_of(r)->grace_ns);
    end_job_signal(r, signal);
    return true;
}

static void reach(struct recorder *r, enum limit_kind kind, uint64_t t_ns, uint64_t value, const char *by)
{
    /* The kernel has killed already, so there is no grace. */
    int signal = limits_of(r)->signal && kind == LIMIT_MEMORY ? SIGKILL : limits_of(r)->signal;
    /* The job had ended by itself when this was noticed, perhaps before its end was read. Example: a timer of 100 ms
     * and a command that ends after 99.9 ms. */
    if (kind != LIMIT_MEMORY && (r->end.finishing || (signal && !end_job_lives(r))))
        signal = 0;
    struct limit_reached l = {.kind = kind, .t_ns = t_ns, .value = value, .most = limits_of(r)->most[kind], .by = by};
    l.action = signal_words(r->enforce.step == ENFORCE_WATCHES ? signal : 0);
    r->enforce.noted |= 1u << kind;
    put_event(r, &l);
    if (!act(r, &l, signal))
        recorder_flush(r);
}

/* ---- memory: the kernel's ---- */

static const struct own_dir *memory_dir(const struct recorder *r)
{
    const struct own_group *own = r->options->run.own_group;
    return own && own->memory ? &own->at[own->memory - 1] : NULL;
}

/* Was the group's own limit hit? v2 counts that in memory.events.local (5.2) where the limit is, also if the processes
 * are in groups below. v1 counts kills of the group's processes. Returns what was in use: the kernel's own peak, which
 * is not there before 5.19 in v2, and at most the limit. */
static bool hit_memory(const struct recorder *r, uint64_t *ret_used)
{
    const struct own_dir *d = memory_dir(r);
    struct cgroup_events ev = {0};
    char text[512];
    ssize_t n = -1;
    if (!d)
        return false;
    if (d->v2)
        n = fd_read_file(d->fd, "memory.events.local", text, sizeof(text));
    if (n < 0)
        n = fd_read_file(d->fd, d->v2 ? "memory.events" : "memory.oom_control", text, sizeof(text));
    enum cgroup_event_field field = d->v2 ? CGEVENT_OOMS : CGEVENT_OOM_KILLS;
    if (n < 0 || cgroup_memory_events_parse(span_of(text, (size_t)n), &ev) < 0 || !ev.value[field])
        return false;
    if (cgroup_read_value(d->fd, d->v2 ? "memory.peak" : "memory.max_usage_in_bytes", ret_used) < 0)
        *ret_used = limits_of(r)->most[LIMIT_MEMORY];
    return true;
}

static void check_memory(struct recorder *r)
{
    uint64_t used;
    if (!watches(r, LIMIT_MEMORY) || !hit_memory(r, &used))
        return;
    const struct own_dir *d = memory_dir(r);
    if (!d->v2 && limits_of(r)->signal)
        own_unlimit(d); /* in v1 a process without memory may be unable to die */
    reach(r, LIMIT_MEMORY, sampler_now(&r->sampler), used, BY_KERNEL);
}

/* ---- those that are compared ---- */

/* Example: of 4 GB of rss 3.0 GB were held at 2.0 s and 3.2 GB at 2.1 s: the limit is near at 2.5 s, and a sample comes
 * before that. */
static void foresee(struct enforce *e, enum limit_kind kind, uint64_t t_ns, uint64_t value, uint64_t most)
{
    uint64_t grown = value > e->last[kind].value ? value - e->last[kind].value : 0, took = t_ns - e->last[kind].t_ns;
    if (grown && e->last[kind].t_ns && most > value) {
        double left_ns = (double)(most - value) / (double)grown * (double)took;
        if (left_ns < 1e18)
            e->near_ns = min_u64(e->near_ns, t_ns + (uint64_t)left_ns);
    }
    e->last[kind].value = value;
    e->last[kind].t_ns = t_ns;
}

static void compare(struct recorder *r, enum limit_kind kind, uint64_t t_ns, uint64_t value)
{
    uint64_t most = limits_of(r)->most[kind];
    foresee(&r->enforce, kind, t_ns, value, most);
    if (value < most)
        return;
    find_holders(r, kind);
    reach(r, kind, t_ns, value, BY_SAMPLE);
}

void enforce_sample(struct recorder *r, const struct baro_sample *s)
{
    if (!limits_of(r)->is_set)
        return;
    r->enforce.near_ns = UINT64_MAX;
    r->enforce.is_close = false;
    if (watches(r, LIMIT_RSS)) {
        uint64_t rss = derive_sum(s, PROCESS_rss).value;
        r->enforce.is_close = rss >= limits_of(r)->most[LIMIT_RSS] / 2;
        compare(r, LIMIT_RSS, s->t_ns, rss);
    }
    if (watches(r, LIMIT_CPU) && !s->job_absent[JOB_cpu])
        compare(r, LIMIT_CPU, s->t_ns, s->job[JOB_cpu]);
    if (!watches(r, LIMIT_MEMORY))
        return;
    check_memory(r);
    if (watches(r, LIMIT_MEMORY))
        find_holders(r, LIMIT_MEMORY);
}

/* Events count processes between samples. */
static bool has_too_many(const struct recorder *r)
{
    return watches(r, LIMIT_PROCESSES) && r->job.counts.peak > limits_of(r)->most[LIMIT_PROCESSES];
}

static void check_processes(struct recorder *r)
{
    if (!has_too_many(r))
        return;
    find_holders(r, LIMIT_PROCESSES);
    reach(r, LIMIT_PROCESSES, sampler_now(&r->sampler), r->job.counts.peak, BY_EVENT);
}

/* ---- processes that have ended ---- */

/* A process that has ended may have held more than any sample has seen, and one that the kernel killed is gone when
 * that is noticed. Example: cc1 grows from 90 MB to 314 MB in 60 ms and ends before the next sample. */
void enforce_exit(struct recorder *r, const struct baro_exit *x)
{
    struct enforce *e = &r->enforce;
    uint64_t peak = x->absent[EXIT_rss_peak] == BARO_PRESENT ? x->value[EXIT_rss_peak] : 0;
    bool is_killed = watches(r, LIMIT_MEMORY) && x->status_known && x->status == SIGKILL,
         is_over = watches(r, LIMIT_RSS) && peak >= limits_of(r)->most[LIMIT_RSS] && peak > e->ended.value;
    if (is_killed)
        offer(e, x->name, x->key, peak);
    if (is_over) {
        e->ended = (struct enforce_holder){.key = x->key, .value = peak};
        snprintf(e->ended.name, sizeof(e->ended.name), "%s", x->name ? x->name : "");
    }
    if (is_killed || is_over)
        e->due_ns = e->due_ns ? e->due_ns : 1; /* what may still be alive is looked at in a turn */
}

static void check_ended(struct recorder *r)
{
    if (!watches(r, LIMIT_RSS) || !r->enforce.ended.value)
        return;
    r->enforce.holder[0] = r->enforce.ended;
    r->enforce.n_holders = 1;
    reach(r, LIMIT_RSS, sampler_now(&r->sampler), r->enforce.ended.value, BY_EXIT);
}

/* ---- turns ---- */

static void check_wall(struct recorder *r, uint64_t now_ns)
{
    uint64_t most = limits_of(r)->most[LIMIT_WALL], t_ns = recorder_since(r, now_ns);
    if (!watches(r, LIMIT_WALL) || t_ns < most)
        return;
    find_holders(r, LIMIT_WALL);
    reach(r, LIMIT_WALL, t_ns, t_ns, BY_TIMER);
}

static void end_act(struct recorder *r)
{
    struct buf left = {0}, line = {0};
    r->enforce.step = ENFORCE_OVER;
    if (end_job_name_left(r, &left) && left.len) {
        buf_printf(&line, "could not be ended: %.*s", (int)left.len, (const char *)left.at);
        say(r, &line);
    }
    buf_done(&left);
    tell_wrapper(r, LIMIT_OVER);
}

static void turn_grace(struct recorder *r, uint64_t now_ns)
{
    struct enforce *e = &r->enforce;
    e->due_ns = min_u64(now_ns + LOOK_NS, e->until_ns);
    if (!end_job_lives(r)) {
        end_act(r);
    } else if (now_ns >= e->until_ns) {
        struct limit_reached l = {.kind = e->kind,
                                  .t_ns = sampler_now(&r->sampler),
                                  .value = e->value,
                                  .most = limits_of(r)->most[e->kind],
                                  .action = signal_words(SIGKILL),
                                  .by = BY_TIMER,
                                  .is_kill = true,
                                  .left = end_job_signal(r, 0).alive};
        put_event(r, &l);
        begin_kills(r, now_ns);
    }
}

static void turn_kills(struct recorder *r, uint64_t now_ns)
{
    uint64_t since_ns = now_ns + KILL_MOST_NS - r->enforce.until_ns;
    struct end_job n = end_job_kill(r, since_ns > OTHERS_NS);
    r->enforce.due_ns = now_ns + ROUND_NS;
    if (!n.alive || (n.alive == n.refused && since_ns > REFUSED_NS) || now_ns >= r->enforce.until_ns)
        end_act(r);
}

void enforce_begin(struct recorder *r)
{
    r->enforce.near_ns = UINT64_MAX;
}

uint64_t enforce_due_ns(const struct recorder *r)
{
    const struct record_limits *l = limits_of(r);
    uint64_t due = UINT64_MAX;
    if (!l->is_set || !r->wrapper.started)
        return due;
    if (has_too_many(r))
        return 0;
    if (watches(r, LIMIT_WALL))
        due = r->header.start_monotonic_ns + l->most[LIMIT_WALL];
    return r->enforce.due_ns ? min_u64(due, r->enforce.due_ns) : due;
}

void enforce_turn(struct recorder *r, uint64_t now_ns)
{
    struct enforce *e = &r->enforce;
    bool is_due = e->due_ns && now_ns >= e->due_ns;
    if (is_due)
        e->due_ns = 0;
    check_wall(r, now_ns);
    check_processes(r);
    if (is_due && e->step == ENFORCE_WATCHES) {
        check_memory(r);
        check_ended(r);
    } else if (is_due && e->step == ENFORCE_GRACE) {
        turn_grace(r, now_ns);
    }
    if (e->step == ENFORCE_KILLS && (is_due || now_ns >= e->due_ns))
        turn_kills(r, now_ns);
}

void enforce_command_ended(struct recorder *r)
{
    if (!limits_of(r)->is_set)
        return;
    check_memory(r);
    tell_wrapper(r, LIMIT_CHECKED);
}

void enforce_hurry(struct recorder *r)
{
    if (r->enforce.step == ENFORCE_GRACE && r->end.status_known)
        r->enforce.until_ns = r->enforce.due_ns = clock_monotonic_ns();
}

void enforce_finish(struct recorder *r)
{
    if (limits_of(r)->is_set && r->wrapper.started) {
        check_memory(r);
        check_processes(r);
        check_ended(r);
    }
    if (r->enforce.step == ENFORCE_KILLS) /* what is left, if the wrapper does not wait */
        end_job_kill(r, true);
}

const char *enforce_ended_by(const struct recorder *r)
{
    return r->enforce.step == ENFORCE_WATCHES ? NULL : limit_name(r->enforce.kind);
}
