/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/gpu/gpu_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_LEAST NS_PER_SEC /* the drivers' own buffers have what is between */
#define INTERVAL_MOST (10 * NS_PER_SEC)
#define STUCK_AFTER (15 * NS_PER_SEC) /* a driver that is loaded for this may take ten */
#define BARRED_FIRST (60 * NS_PER_SEC)

struct gpu_source {
    struct worker *worker;
    struct gpu_reading *reading;
    struct gpu_user *first;
    void (*become)(char *program, char **argv);
    struct account *account; /* NULL: one recording has it alone */
    uint32_t seen;
    unsigned hangs;
    char hung[128];
    bool said_ended, said_members;
};

/* ---- the helper ---- */

static void live(const struct worker_child *c)
{
    const struct gpu_source *source = c->context;
    char shared[12], wake[12], program[] = "baro-gpu";
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd < STDERR_FILENO)
        ;
    if (fd > STDERR_FILENO)
        close(fd);
    fcntl(c->shared_fd, F_SETFD, 0);
    fcntl(c->fd, F_SETFD, 0);
    snprintf(shared, sizeof(shared), "%d", c->shared_fd);
    snprintf(wake, sizeof(wake), "%d", c->fd);
    source->become(program, (char *[]){program, shared, wake, NULL});
}

static uint64_t stuck_after(void)
{
    struct span s = span_str(getenv("BARO_GPU_STUCK_MS") ? getenv("BARO_GPU_STUCK_MS") : ""); /* for tests */
    uint64_t ms;
    return scan_u64(&s, &ms) && ms ? ms * NS_PER_MS : STUCK_AFTER;
}

static struct gpu_source *source_new(struct sampling *g, bool devices, bool meters, const char *root)
{
    struct gpu_source *s = calloc(1, sizeof(*s));
    const struct worker_options o = {.shared_bytes = sizeof(struct gpu_shared),
                                     .by_fd = true,
                                     .stuck_after_ns = stuck_after(),
                                     .live = live,
                                     .context = s};
    if (!s)
        return NULL;
    s->become = g->options.become;
    s->reading = calloc(1, sizeof(*s->reading));
    if (!s->reading || worker_new(&s->worker, &o, NULL) < 0) {
        free(s->reading);
        free(s);
        return NULL;
    }
    struct gpu_shared *m = worker_shared(s->worker);
    uint64_t interval = g->options.gpu_interval_ns;
    m->bytes = sizeof(*m);
    m->interval_ns = interval < INTERVAL_LEAST ? INTERVAL_LEAST : interval < INTERVAL_MOST ? interval : INTERVAL_MOST;
    m->devices = devices;
    m->meters = meters;
    snprintf(m->select, sizeof(m->select), "%s", g->options.gpu);
    snprintf(m->root, sizeof(m->root), "%s", root);
    return s;
}

struct gpu_source *gpu_source_join(struct gpu_user *u, bool devices, bool meters, const char *root)
{
    struct account *a = sampling_is_shared(u->sampling) ? u->sampling->account : NULL;
    struct gpu_source *s = a && a->gpus ? a->gpus : source_new(u->sampling, devices, meters, root);
    if (!s)
        return NULL;
    if (a) {
        s->account = a;
        a->gpus = s;
        if (!s->first)
            account_add(a, s->worker);
    }
    u->next = s->first;
    s->first = u;
    gpu_source_give_members(s);
    return s;
}

void gpu_source_leave(struct gpu_source *s, struct gpu_user *u)
{
    struct gpu_user **at = &s->first;
    while (*at && *at != u)
        at = &(*at)->next;
    if (*at)
        *at = u->next;
    if (!s->first)
        worker_end(s->worker);
    if (!s->first && s->account) { /* the next job begins another one */
        account_remove(s->account, s->worker);
        s->account->gpus = NULL;
    }
}

void gpu_source_free(struct gpu_source *s)
{
    if (!s || s->first)
        return;
    worker_free(s->worker);
    free(s->reading);
    free(s);
}

struct worker *gpu_source_worker(const struct gpu_source *s)
{
    return s->worker;
}

bool gpu_source_is_shared(const struct gpu_source *s)
{
    return s->account != NULL;
}

/* ---- what goes wrong ---- */

void gpu_user_say(void *context, const char *line, uint64_t number)
{
    struct gpu_user *u = context;
    uint64_t now = sampling_clock_ns(u->sampling);
    job_event(u->sampling->job, now > u->sampling->now_ns ? now : u->sampling->now_ns, BARO_EVENT_WARNING, NULL, number,
              line);
}

static void say_to_all(struct gpu_source *s, const char *line, uint64_t number)
{
    for (struct gpu_user *u = s->first; u; u = u->next)
        gpu_user_say(u, line, number);
}

static void lack_for_all(struct gpu_source *s, uint32_t slot, enum baro_absent why)
{
    for (struct gpu_user *u = s->first; u; u = u->next)
        gpu_tables_lack(&u->tables, slot, why);
}

/* It is left alone for a minute, then two, four, ... */
static void on_hung(void *context)
{
    struct gpu_source *source = context;
    struct gpu_shared *s = worker_shared(source->worker);
    uint32_t at = atomic_load(&s->at);
    uint64_t until = clock_monotonic_ns() + (BARRED_FIRST << (source->hangs < 6 ? source->hangs : 6));
    bool is_device = at && at <= GPU_DEVICES_MOST;
    char call[sizeof(s->call)];
    memcpy(call, s->call, sizeof(call));
    call[sizeof(call) - 1] = 0;
    const char *name = is_device && source->first ? gpu_tables_name(&source->first->tables, at - 1) : NULL;
    snprintf(source->hung, sizeof(source->hung), "%s%s%s", call, name ? " of " : "", name ? name : "");
    source->hangs++;
    if (is_device)
        atomic_store(&s->device_not_before_ns[at - 1], until);
    else
        atomic_store(&s->library_not_before_ns, until);
    lack_for_all(source, is_device ? at - 1 : UINT32_MAX, BARO_ABSENT_TIMEOUT);
}

static void report(struct gpu_source *s, enum worker_trouble trouble)
{
    char line[256];
    if (trouble == WORKER_HUNG) {
        snprintf(line, sizeof(line), "GPU driver: %s has not answered for %.3g s; it is left alone for a while",
                 s->hung, (double)stuck_after() / 1e9);
        say_to_all(s, line, 0);
    } else if (trouble == WORKER_ENDED && !s->said_ended) {
        s->said_ended = true;
        say_to_all(s, "the program baro-gpu ended, or could not be started: it is tried again", 0);
        lack_for_all(s, UINT32_MAX, BARO_ABSENT_UNKNOWN);
    } else if (trouble == WORKER_GIVEN_UP) {
        say_to_all(s, "GPUs are no longer read: too many processes hang in their driver", 0);
    }
}

bool gpu_source_turn(struct gpu_source *s)
{
    enum worker_trouble trouble = worker_turn(s->worker, on_hung, s);
    report(s, trouble);
    return trouble != WORKER_FINE;
}

/* ---- whose descriptors it looks through ---- */

void gpu_source_give_members(struct gpu_source *source)
{
    struct gpu_shared *s = worker_shared(source->worker);
    uint32_t n = 0;
    char line[128];
    if (source->seen && !atomic_load(&s->wants_members)) /* it says so with its first reading */
        return;
    worker_write_begin(&s->members_turn);
    for (const struct gpu_user *u = source->first; u; u = u->next) {
        const struct tree *tree = &u->sampling->job->tree;
        for (size_t i = 0; i < tree->n && n < GPU_MEMBERS_MOST; i++) {
            if (tree->at[i] && tree->at[i]->row.key.start && !member_has_ended(tree->at[i]))
                s->member[n++] = (struct gpu_member){tree->at[i]->row.key.pid, tree->at[i]->row.key.start};
        }
    }
    s->n_members = n;
    worker_write_end(&s->members_turn);
    if (n == GPU_MEMBERS_MOST && !source->said_members) {
        source->said_members = true;
        snprintf(line, sizeof(line), "only %u processes of the job are looked through for what they use of GPUs", n);
        say_to_all(source, line, n);
    }
}

/* ---- readings ---- */

bool gpu_source_is_new(const struct gpu_source *s)
{
    struct gpu_shared *m = worker_shared(s->worker);
    return atomic_load(&m->turn) != s->seen;
}

/* How many processes there are says how much is copied. If it changed meanwhile, the next tick takes it. A user that
 * has not taken the reading of before has its peaks. */
static void refresh(struct gpu_source *source)
{
    struct gpu_shared *s = worker_shared(source->worker);
    struct gpu_reading *r = source->reading;
    uint32_t n = *(volatile uint32_t *)&s->now.n_processes, seen = source->seen;
    n = n < GPU_PROCESSES_MOST ? n : GPU_PROCESSES_MOST;
    for (struct gpu_user *u = source->first; u; u = u->next) {
        if (u->is_pending)
            gpu_tables_pass(&u->tables, r);
    }
    size_t bytes = offsetof(struct gpu_reading, process) + n * sizeof(struct gpu_process);
    bool is_whole = worker_copy(r, &s->now, bytes, &s->turn, &seen) && r->n_processes <= n;
    for (struct gpu_user *u = source->first; u; u = u->next)
        u->is_pending = is_whole;
    if (!is_whole)
        return;
    source->seen = seen;
    atomic_store(&s->taken, seen);
    gpu_source_give_members(source);
}

struct gpu_reading *gpu_source_take(struct gpu_source *s, struct gpu_user *u)
{
    if (gpu_source_is_new(s))
        refresh(s);
    bool is_pending = u->is_pending;
    u->is_pending = false;
    return is_pending ? s->reading : NULL;
}
