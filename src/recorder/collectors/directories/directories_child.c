/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker. It has the lowest priority for CPU time and for the disk (but not that of an idle class, in which a busy
 * disk would never serve it), asks for one thing at a time, and rests between steps: it takes at most a tenth of a
 * core, and waits for the disk at most half of the time. While a large directory rests, others are walked that are due.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/proc/machine.h"
#include "recorder/collectors/directories/state.h"

#define STEPS 64u                  /* steps between two checks of the clock */
#define WORK_LEAST (4 * NS_PER_MS) /* before a rest */
#define REST_MOST NS_PER_SEC
#define REST_PER_CPU 9u
#define DEPTH_MOST 8u                /* walks that are suspended while another one goes on */
#define AGAIN_AFTER (5 * NS_PER_SEC) /* a directory that does not exist or may not be read */
#define MOUNTINFO_MOST (256u << 10)

/* linux/ioprio.h is newer than what we build on: class 2 is best effort, 7 its lowest priority. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_LOWEST (2 << 13 | 7)

struct walker {
    const struct worker_child *child;
    const struct directories_plan *plan;
    struct directories_shared *shared;
    unsigned steps;
    uint64_t from_ns, from_cpu_ns; /* when it resumed after a pause */
    bool is_last;                  /* this is the last walk */
    /* While a larger directory pauses, one that is due is walked; meanwhile the larger one is not started again. */
    bool walking[DIRECTORIES_MOST];
    size_t at; /* which is walked */
    unsigned depth;
    uint64_t done_cpu_ns; /* CPU time of all walks that have ended */
};

static uint64_t walk_due(struct walker *w);

static uint64_t cpu_now(void)
{
    uint64_t ns = 0;
    clock_process_cpu_ns(0, &ns);
    return ns;
}

static void continue_walk(struct walker *w)
{
    w->from_ns = clock_monotonic_ns();
    w->from_cpu_ns = cpu_now();
}

static bool is_over(const struct walker *w)
{
    return atomic_load_explicit(&w->shared->last, memory_order_relaxed) && !w->is_last;
}

static bool on_step(void *context, const struct walk_sums *so_far)
{
    struct walker *w = context;
    worker_progress(&w->shared->worker);
    if (++w->steps % STEPS)
        return true;
    atomic_store_explicit(&w->shared->slot[w->at].found, so_far->files + so_far->directories, memory_order_relaxed);
    if (is_over(w) || w->is_last)
        return w->is_last;
    uint64_t worked = clock_monotonic_ns() - w->from_ns, by_cpu = REST_PER_CPU * (cpu_now() - w->from_cpu_ns);
    if (worked < WORK_LEAST)
        return true;
    uint64_t ns = worked > by_cpu ? worked : by_cpu;
    worker_rest(w->child, ns < REST_MOST ? ns : REST_MOST);
    if (w->depth < DEPTH_MOST)
        walk_due(w);
    continue_walk(w);
    return !is_over(w);
}

static uint32_t walk_absent(int error)
{
    switch (error) {
    case 0: return BARO_PRESENT;
    case ENOENT: return BARO_ABSENT_GONE;
    case EACCES:
    case EPERM: return BARO_ABSENT_DENIED;
    case ETIMEDOUT: return BARO_ABSENT_TIMEOUT;
    default: return BARO_ABSENT_UNKNOWN;
    }
}

static void copy_span(struct span text, char *to, size_t cap)
{
    if (proc_mount_unescape(text, to, cap) < 0)
        *to = 0;
}

/* Finds the type and the source of the mount that the directory is on. */
static void find_mount(const struct walk_sums *sums, struct directory_reading *ret)
{
    char *text = malloc(MOUNTINFO_MOST);
    ssize_t n = text ? fd_read_file(-1, "/proc/self/mountinfo", text, MOUNTINFO_MOST) : 0;
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0);
    struct proc_mount m;
    while (proc_mount_next(&rest, &m)) {
        if (sums->mount ? m.id != sums->mount : m.major != sums->major || m.minor != sums->minor)
            continue;
        copy_span(m.type, ret->type, sizeof(ret->type));
        copy_span(m.source, ret->source, sizeof(ret->source));
        break;
    }
    free(text);
}

static void begin_walk(struct walker *w, size_t i)
{
    w->at = i;
    w->depth++;
    w->walking[i] = true;
    atomic_store(&w->shared->at, (uint32_t)i + 1);
    worker_progress(&w->shared->worker);
    continue_walk(w);
}

/* outer: the walk that was suspended meanwhile, or none. */
static void end_walk(struct walker *w, size_t i, size_t outer)
{
    w->at = outer;
    w->depth--;
    w->walking[i] = false;
    atomic_store(&w->shared->slot[i].found, 0);
    atomic_store(&w->shared->at, w->depth ? (uint32_t)outer + 1 : 0);
    if (w->depth)
        worker_progress(&w->shared->worker);
    else
        worker_idle(&w->shared->worker);
}

static void walk_one(struct walker *w, size_t i)
{
    struct directory_slot *slot = &w->shared->slot[i];
    struct directory_reading r = {.begin_ns = clock_monotonic_ns()};
    uint64_t cpu_ns = cpu_now(), done_cpu_ns = w->done_cpu_ns;
    size_t outer = w->at;
    begin_walk(w, i);
    int code = walk(&(struct walk_options){w->plan->path[i], on_step, w}, &r.sums);
    if (code == 0)
        find_mount(&r.sums, &r);
    r.cpu_ns = cpu_now() - cpu_ns - (w->done_cpu_ns - done_cpu_ns);
    w->done_cpu_ns += r.cpu_ns;
    if (code != -ECANCELED) {
        r.absent = walk_absent(-code);
        r.error = -code;
        r.end_ns = clock_monotonic_ns();
        worker_write_begin(&slot->turn);
        slot->now = r;
        worker_write_end(&slot->turn);
    }
    end_walk(w, i, outer);
}

/* Returns when the directory is walked next. */
static uint64_t due(const struct walker *w, size_t i)
{
    const struct directories_options *o = &w->plan->options;
    const struct directory_reading *r = &w->shared->slot[i].now;
    uint64_t not_before = atomic_load(&w->shared->slot[i].not_before_ns);
    uint64_t every = o->every_ns ? o->every_ns : DIRECTORIES_EVERY;
    if (!o->every_ns && o->overhead_ppm && every < r->cpu_ns / o->overhead_ppm * 1000000)
        every = r->cpu_ns / o->overhead_ppm * 1000000;
    if (r->absent && every > AGAIN_AFTER)
        every = AGAIN_AFTER;
    uint64_t at = r->end_ns ? r->begin_ns + every : 0;
    return at > not_before ? at : not_before;
}

/* read: those that were walked before. */
static void walk_last(struct walker *w, bool read)
{
    for (size_t i = 0; i < w->plan->n; i++) {
        const struct directory_slot *s = &w->shared->slot[i];
        if (read == (s->now.end_ns > 0) && s->now.cpu_ns < DIRECTORY_LAST_MOST &&
            atomic_load(&s->not_before_ns) < clock_monotonic_ns())
            walk_one(w, i);
    }
}

/* Walks without pauses. A directory that was not walked before may take longer than the time allows. */
static void last_walks(struct walker *w)
{
    w->is_last = true;
    walk_last(w, true);
    walk_last(w, false);
    worker_done(w->child);
    for (;;)
        worker_rest(w->child, UINT64_MAX / 2);
}

/* Returns when the next directory is due. */
static uint64_t walk_due(struct walker *w)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < w->plan->n && !atomic_load(&w->shared->last); i++) {
        uint64_t at = w->walking[i] ? UINT64_MAX : due(w, i);
        if (at <= clock_monotonic_ns()) {
            walk_one(w, i);
            at = due(w, i);
        }
        next = at < next ? at : next;
    }
    return next;
}

void directories_live(const struct worker_child *c)
{
    struct walker w = {.child = c, .plan = c->context, .shared = c->shared};
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_LOWEST);
    for (size_t i = 0; i < w.plan->n; i++) {
        struct directory_slot *s = &w.shared->slot[i];
        if (atomic_load(&s->turn) & 1) { /* the worker before this one was killed while it wrote */
            s->now = (struct directory_reading){0};
            worker_write_end(&s->turn);
        }
    }
    for (;;) {
        uint64_t next = walk_due(&w), now = clock_monotonic_ns();
        if (atomic_load(&w.shared->last))
            last_walks(&w);
        worker_rest(c, next > now ? next - now : 0);
    }
}
