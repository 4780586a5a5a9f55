/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue's thread: lists the folder, reads tapes that have ended once, and follows those that are being written.
 * If the file system of a tape does not answer, another thread takes its place, and does not read that tape. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "programs/baro-serve/catalogue_in.h"
#include "programs/baro-serve/follow.h"
#include "programs/baro-serve/shortage.h"

#define TICK_MS 1000       /* period of reading running jobs whose tapes were written */
#define LIST_MS 5000       /* period of listing the folder without an event: a tape can stay empty for long */
#define FIRST_LIST_MS 2000 /* how long the server waits for the first list: the file system may hang */
#define FIRST_STEP_MS 2
/* When a tape is read again without an event, to check whether its recorder is alive: so long after it was written, */
#define SETTLE_NS (2 * NS_PER_SEC)
#define CHECK_NS (10 * NS_PER_SEC)     /* and then so long after each check */
#define TAKE_OVER_NS (10 * NS_PER_SEC) /* when a thread is replaced; a tape takes at most 2 s of CPU time */
#define STUCK_MOST 16u                 /* most threads that wait for a file system: each has a stack */
#define NICE 5                         /* nice value of the thread */

static bool is_newer(const struct job *x, const struct job *y)
{
    return x->start_ns != y->start_ns ? x->start_ns > y->start_ns : strcmp(x->id, y->id) > 0;
}

/* Moves a job to its place in the list when its start is known. Needs the lock. */
static void place(struct catalogue *c, struct job *job)
{
    size_t from = 0, to = 0;
    while (from < c->n && c->jobs[from] != job)
        from++;
    if (from == c->n)
        return;
    memmove(c->jobs + from, c->jobs + from + 1, (c->n - 1 - from) * sizeof(*c->jobs));
    while (to < c->n - 1 && is_newer(c->jobs[to], job))
        to++;
    memmove(c->jobs + to + 1, c->jobs + to, (c->n - 1 - to) * sizeof(*c->jobs));
    c->jobs[to] = job;
}

static char *text_of(struct buf *b)
{
    buf_byte(b, 0);
    return b->failed ? NULL : strdup((const char *)b->at);
}

/* Returns false if memory ran out; then the tape is read again from its beginning. */
static bool publish(struct catalogue *c, struct job *job, struct found *f)
{
    char *row = f->no_memory ? NULL : text_of(&f->row), *title = row ? text_of(&f->title) : NULL;
    pthread_mutex_lock(&c->lock);
    if (!title) {
        job->state = JOB_NEW;
        job->is_summed = false;
        pthread_mutex_unlock(&c->lock);
        free(row);
        found_done(f);
        return false;
    }
    bool turns = job->state != f->state || job->is_summed != f->is_summed || !job->row;
    bool moves = job->start_ns != f->start_ns && f->start_ns;
    free(job->row);
    free(job->title);
    job->row = row;
    job->title = title;
    job->state = f->state;
    job->start_ns = f->start_ns ? f->start_ns : job->start_ns;
    job->is_summed = f->is_summed;
    job->is_private = f->start_ns ? f->is_private : job->is_private;
    job->is_machine = f->start_ns ? f->is_machine : job->is_machine;
    job->end_ns = f->start_ns ? f->end_ns : job->end_ns;
    job->version = ++c->version;
    job->turned = turns ? job->version : job->turned;
    if (moves)
        place(c, job);
    pthread_mutex_unlock(&c->lock);
    found_done(f);
    return true;
}

/* A thread that reads tapes. Only the newest one is in charge. */
struct keeper {
    struct catalogue *c;
    unsigned number;
};

/* Finds the first job that is new, or that has no sums of the whole tape; release it with job_release(). */
static struct job *next_job(struct catalogue *c, bool is_new)
{
    struct job *found = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n && !found; i++) {
        struct job *job = c->jobs[i];
        found = !job->stuck_ns && (is_new ? job->state == JOB_NEW : !job->is_summed) ? job : NULL;
    }
    if (found)
        found->holders++;
    pthread_mutex_unlock(&c->lock);
    return found;
}

/* Call it before something that may hang: listing the folder (job: NULL) or reading a tape. */
static void wait_begins(struct catalogue *c, const char *what, struct job *job)
{
    pthread_mutex_lock(&c->lock);
    c->waits = what;
    c->waits_job = job;
    c->waits_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&c->lock);
}

/* Call it afterwards. Returns false if it took so long that another thread is in charge now. */
static bool wait_ends(const struct keeper *k, struct job *job)
{
    struct catalogue *c = k->c;
    pthread_mutex_lock(&c->lock);
    bool in_charge = c->keepers == k->number;
    if (in_charge)
        c->waits = NULL;
    else if (job)
        job->stuck_ns = 0;
    pthread_mutex_unlock(&c->lock);
    return in_charge;
}

enum { ALL_READ, MORE, NOT_IN_CHARGE };

/* Reads one tape. All headers are read first, so that the list is complete soon. */
static int read_one(const struct keeper *k)
{
    struct catalogue *c = k->c;
    struct found f;
    struct job *job = next_job(c, true);
    bool is_head = job != NULL;
    job = job ? job : next_job(c, false);
    if (!job)
        return ALL_READ;
    unsigned failures = shortage_count();
    wait_begins(c, job->id, job);
    if (is_head) {
        follow_head(job, &f);
    } else {
        touched_add(&c->touched, job->path, &job->watch);
        follow_read(job, &f);
        if (f.state != JOB_RUNNING)
            touched_remove(&c->touched, &job->watch);
    }
    f.no_memory |= shortage_count() != failures;
    bool is_known = publish(c, job, &f);
    bool in_charge = wait_ends(k, job);
    job_release(c, job);
    if (!is_known)
        poll(&(struct pollfd){.fd = c->stop_fd, .events = POLLIN}, 1, TICK_MS);
    return in_charge ? MORE : NOT_IN_CHARGE;
}

/* Returns whether this thread is in charge. */
static bool tick_job(const struct keeper *k, struct job *job, uint64_t now_ns)
{
    struct catalogue *c = k->c;
    struct found f;
    bool is_written = touched_has(&c->touched, job->watch);
    if (!is_written && now_ns < job->check_ns)
        return true;
    job->check_ns = now_ns + (is_written ? SETTLE_NS : CHECK_NS);
    unsigned failures = shortage_count();
    wait_begins(c, job->id, job);
    if (follow_tick(job, &f)) {
        f.no_memory |= shortage_count() != failures;
        if (f.state != JOB_RUNNING)
            touched_remove(&c->touched, &job->watch);
        publish(c, job, &f);
    }
    return wait_ends(k, job);
}

/* Returns the state of a job; JOB_UNREADABLE if another thread waits for its tape. */
static enum job_state state_of(struct catalogue *c, const struct job *job)
{
    pthread_mutex_lock(&c->lock);
    enum job_state state = job->stuck_ns ? JOB_UNREADABLE : job->state;
    pthread_mutex_unlock(&c->lock);
    return state;
}

/* Reads new records of running jobs, and counts these jobs. Returns false if another thread is in charge. */
static bool tick(const struct keeper *k, size_t *ret_running)
{
    struct catalogue *c = k->c;
    struct job_list all;
    struct job_filter any = {.state = -1};
    bool in_charge = true;
    *ret_running = 1;
    if (catalogue_list(c, &any, 0, UINT64_MAX, &all) < 0)
        return true;
    uint64_t now_ns = clock_monotonic_ns();
    *ret_running = 0;
    touched_read(&c->touched);
    for (size_t i = 0; i < all.n && in_charge; i++) {
        enum job_state state = state_of(c, all.at[i]);
        if (state == JOB_RUNNING)
            in_charge = tick_job(k, all.at[i], now_ns);
        else if (state == JOB_ENDED || state == JOB_CUT_OFF)
            follow_forget(all.at[i], now_ns, false);
        *ret_running += state == JOB_RUNNING;
    }
    job_list_done(c, &all);
    return in_charge;
}

/* Returns whether the folder has changed. */
static bool drain_watch(struct catalogue *c)
{
    bool any = false;
    for (int i = 0; i < 2; i++) {
        int code = c->watch[i] ? baro_runs_watch_read(c->watch[i], NULL) : 0;
        any |= code != 0;
        if (code < 0) { /* the folder was removed: the next list looks for it */
            baro_runs_watch_free(c->watch[i]);
            c->watch[i] = NULL;
        }
    }
    return any;
}

static void list_if_due(const struct keeper *k)
{
    struct catalogue *c = k->c;
    uint64_t now_ns = clock_monotonic_ns();
    if (drain_watch(c)) {
        c->soon = 4;
        c->list_ns = 0;
    }
    if (now_ns < c->list_ns)
        return;
    wait_begins(c, c->listed, NULL);
    folder_read(c);
    wait_ends(k, NULL);
    c->list_ns = now_ns + (c->soon ? TICK_MS / c->soon : LIST_MS) * NS_PER_MS;
    c->soon -= c->soon > 0;
}

static void keep(const struct keeper *k)
{
    struct catalogue *c = k->c;
    struct pollfd fds[3] = {{.fd = c->stop_fd, .events = POLLIN}};
    size_t running = 0;
    setpriority(PRIO_PROCESS, 0, NICE); /* in Linux it applies to this thread only */
    while (!(fds[0].revents & POLLIN)) {
        list_if_due(k);
        int more = read_one(k);
        if (more == NOT_IN_CHARGE)
            return;
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= c->tick_ns) {
            c->tick_ns = now_ns + TICK_MS * NS_PER_MS;
            if (!tick(k, &running))
                return;
        }
        uint64_t until_ns = running || more ? c->tick_ns : c->list_ns;
        until_ns = until_ns < c->list_ns ? until_ns : c->list_ns;
        uint64_t wait_ms = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;
        for (int i = 0; i < 2; i++)
            fds[1 + i] = (struct pollfd){c->watch[i] ? baro_runs_watch_fd(c->watch[i]) : -1, POLLIN, 0};
        poll(fds, 3, more ? 0 : (int)wait_ms);
    }
}

static void *run_keeper(void *context)
{
    struct keeper *k = context;
    keep(k);
    free(k);
    return NULL;
}

static int start_keeper(struct catalogue *c, pthread_t *ret)
{
    struct keeper *k = malloc(sizeof(*k));
    if (!k)
        return -ENOMEM;
    *k = (struct keeper){c, ++c->keepers}; /* before the thread begins, which compares the two numbers */
    int code = -pthread_create(ret, NULL, run_keeper, k);
    if (code < 0) {
        c->keepers--;
        free(k);
    }
    return code;
}

/* ---- a tape whose file system does not answer ---- */

static void take_over_if_due(struct catalogue *c)
{
    pthread_t next;
    pthread_mutex_lock(&c->lock);
    bool hangs = c->waits && c->waits_job && clock_monotonic_ns() - c->waits_ns > TAKE_OVER_NS;
    if (hangs && c->stuck < STUCK_MOST && start_keeper(c, &next) == 0) {
        pthread_detach(c->thread);
        c->thread = next;
        c->waits_job->stuck_ns = c->waits_ns;
        c->waits = NULL;
        c->stuck++;
    }
    pthread_mutex_unlock(&c->lock);
}

static void *watch(void *context)
{
    struct catalogue *c = context;
    struct pollfd stop = {.fd = c->stop_fd, .events = POLLIN};
    while (poll(&stop, 1, TICK_MS) <= 0)
        take_over_if_due(c);
    return NULL;
}

/* ---- beginning and end ---- */

static int begin_catalogue(struct catalogue *c, const char *folder, struct baro_error *err)
{
    struct baro_runs *runs;
    c->stop_fd = c->touched.fd = -1;
    c->soon = 4;
    c->folder = folder ? strdup(folder) : NULL;
    if (folder && !c->folder)
        return error_set(err, -ENOMEM, "out of memory");
    int code = folder_list(c, &runs, err);
    if (code < 0)
        return code;
    c->listed = strdup(baro_runs_folder(runs));
    baro_runs_free(runs);
    c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!c->listed || c->stop_fd < 0)
        return error_set(err, -ENOMEM, "out of memory or descriptors");
    touched_init(&c->touched);
    return 0;
}

static void catalogue_free(struct catalogue *c)
{
    for (size_t i = 0; i < c->n; i++)
        job_free(c->jobs[i]);
    for (size_t i = 0; i < REMOVED_KEPT; i++)
        free(c->removed[i].id);
    free(c->jobs);
    free(c->folder);
    free(c->listed);
    fd_close(c->stop_fd);
    for (int i = 0; i < 2; i++)
        baro_runs_watch_free(c->watch[i]);
    touched_done(&c->touched);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int catalogue_open(struct catalogue **ret, const char *folder, struct baro_error *err)
{
    struct catalogue *c = calloc(1, sizeof(*c));
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    int code = begin_catalogue(c, folder, err);
    if (code < 0) {
        catalogue_free(c);
        return code;
    }
    *ret = c;
    return 0;
}

static bool was_listed(struct catalogue *c)
{
    pthread_mutex_lock(&c->lock);
    bool was_listed = c->was_listed;
    pthread_mutex_unlock(&c->lock);
    return was_listed;
}

int catalogue_start(struct catalogue *c, enum catalogue_announced announced, struct baro_error *err)
{
    c->announced = announced;
    int code = start_keeper(c, &c->thread);
    if (code == 0 && (code = -pthread_create(&c->watcher, NULL, watch, c)) < 0) {
        eventfd_write(c->stop_fd, 1);
        pthread_join(c->thread, NULL);
    }
    if (code < 0)
        return error_set(err, code, "can't start a thread: %s", strerror(-code));
    c->runs = true;
    for (int ms = 0; ms < FIRST_LIST_MS && !was_listed(c); ms += FIRST_STEP_MS)
        poll(NULL, 0, FIRST_STEP_MS);
    return 0;
}

void catalogue_stop(struct catalogue *c)
{
    eventfd_write(c->stop_fd, 1);
    if (c->runs) {
        pthread_join(c->watcher, NULL);
        pthread_join(c->thread, NULL);
    }
    if (!c->stuck) /* a thread that was replaced may continue later, and uses it */
        catalogue_free(c);
}
