/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue's thread: lists the folder, reads tapes that have ended once, and follows those that are being written.
 */
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
#define CHECK_NS (10 * NS_PER_SEC) /* and then so long after each check */
#define NICE 5                     /* nice value of the thread */

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

/* Finds the first job that is new, or that has no sums of the whole tape; release it with job_release(). */
static struct job *next_job(struct catalogue *c, bool is_new)
{
    struct job *found = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n && !found; i++) {
        struct job *job = c->jobs[i];
        found = (is_new ? job->state == JOB_NEW : !job->is_summed) ? job : NULL;
    }
    if (found)
        found->holders++;
    pthread_mutex_unlock(&c->lock);
    return found;
}

/* Call it before something that may hang: listing the folder or reading a tape; with NULL afterwards. */
static void note_wait(struct catalogue *c, const char *what)
{
    pthread_mutex_lock(&c->lock);
    c->waits = what;
    c->waits_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&c->lock);
}

/* Reads one tape, if there is one to be read. All headers are read first, so that the list is complete soon. */
static bool read_one(struct catalogue *c)
{
    struct found f;
    struct job *job = next_job(c, true);
    bool is_head = job != NULL;
    job = job ? job : next_job(c, false);
    if (!job)
        return false;
    unsigned failures = shortage_count();
    note_wait(c, job->id);
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
    note_wait(c, NULL);
    job_release(c, job);
    if (!is_known)
        poll(&(struct pollfd){.fd = c->stop_fd, .events = POLLIN}, 1, TICK_MS);
    return true;
}

static void tick_job(struct catalogue *c, struct job *job, uint64_t now_ns)
{
    struct found f;
    bool is_written = touched_has(&c->touched, job->watch);
    if (!is_written && now_ns < job->check_ns)
        return;
    job->check_ns = now_ns + (is_written ? SETTLE_NS : CHECK_NS);
    unsigned failures = shortage_count();
    note_wait(c, job->id);
    if (follow_tick(job, &f)) {
        f.no_memory |= shortage_count() != failures;
        if (f.state != JOB_RUNNING)
            touched_remove(&c->touched, &job->watch);
        publish(c, job, &f);
    }
    note_wait(c, NULL);
}

static enum job_state state_of(struct catalogue *c, const struct job *job)
{
    pthread_mutex_lock(&c->lock);
    enum job_state state = job->state;
    pthread_mutex_unlock(&c->lock);
    return state;
}

/* Reads new records of running jobs. Returns how many jobs these are. */
static size_t tick(struct catalogue *c)
{
    struct job_list all;
    struct job_filter any = {.state = -1};
    size_t running = 0;
    if (catalogue_list(c, &any, 0, UINT64_MAX, &all) < 0)
        return 1;
    uint64_t now_ns = clock_monotonic_ns();
    touched_read(&c->touched);
    for (size_t i = 0; i < all.n; i++) {
        enum job_state state = state_of(c, all.at[i]);
        if (state == JOB_RUNNING)
            tick_job(c, all.at[i], now_ns);
        else if (state == JOB_ENDED || state == JOB_CUT_OFF)
            follow_forget(all.at[i], now_ns, false);
        running += state == JOB_RUNNING;
    }
    job_list_done(c, &all);
    return running;
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

static void list_if_due(struct catalogue *c)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (drain_watch(c)) {
        c->soon = 4;
        c->list_ns = 0;
    }
    if (now_ns < c->list_ns)
        return;
    note_wait(c, c->listed);
    folder_read(c);
    note_wait(c, NULL);
    c->list_ns = now_ns + (c->soon ? TICK_MS / c->soon : LIST_MS) * NS_PER_MS;
    c->soon -= c->soon > 0;
}

static void *keep(void *context)
{
    struct catalogue *c = context;
    struct pollfd fds[3] = {{.fd = c->stop_fd, .events = POLLIN}};
    size_t running = 0;
    setpriority(PRIO_PROCESS, 0, NICE); /* in Linux it applies to this thread only */
    while (!(fds[0].revents & POLLIN)) {
        list_if_due(c);
        bool more = read_one(c);
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= c->tick_ns) {
            c->tick_ns = now_ns + TICK_MS * NS_PER_MS;
            running = tick(c);
        }
        uint64_t until_ns = running || more ? c->tick_ns : c->list_ns;
        until_ns = until_ns < c->list_ns ? until_ns : c->list_ns;
        uint64_t wait_ms = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;
        for (int i = 0; i < 2; i++)
            fds[1 + i] = (struct pollfd){c->watch[i] ? baro_runs_watch_fd(c->watch[i]) : -1, POLLIN, 0};
        poll(fds, 3, more ? 0 : (int)wait_ms);
    }
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
    int code = -pthread_create(&c->thread, NULL, keep, c);
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
    if (c->runs)
        pthread_join(c->thread, NULL);
    catalogue_free(c);
}
