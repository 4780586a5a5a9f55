/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "serve/follow.h"

#define TICK_MS 1000          /* how often jobs that run are read */
#define LIST_MS 5000          /* how often the folder is listed without a reason: a tape can be empty for long */
#define REMOVED_KEPT 256u     /* ids of removed jobs, for those who follow the list */
#define NICE 5                /* reading tapes leaves the CPU to others */

struct removed {
    char *id;
    uint64_t version;
};

struct catalogue {
    char *folder;  /* as it was given; NULL: the kept runs */
    char *listed;  /* the path of the folder */
    pthread_mutex_t lock;
    struct job **jobs; /* sorted: the newest first */
    size_t n;
    uint64_t version;
    struct removed removed[REMOVED_KEPT];
    size_t n_removed; /* since the start */
    char error[256];
    pthread_t thread;
    int stop_fd, watch_fd;
    uint64_t list_ns;  /* when the folder is listed next, */
    unsigned soon;     /* and how often soon, because something has changed: a new tape is empty at first */
    uint64_t tick_ns;
};

const char *job_id(const struct job *job)
{
    return job->id;
}

const char *job_state_name(enum job_state state)
{
    static const char *const names[] = {[JOB_NEW] = "new", [JOB_RUNNING] = "running", [JOB_ENDED] = "ended",
                                        [JOB_CUT_OFF] = "cut_off", [JOB_UNREADABLE] = "unreadable"};
    return names[state];
}

struct baro_tape *job_open(struct job *job, uint64_t cpu_ns, struct baro_error *err)
{
    struct baro_tape *tape = NULL;
    int fd = open(job->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        error_set(err, -errno, "can't open it: %s", strerror(errno));
        return NULL;
    }
    if (baro_tape_open_fd(&tape, fd, job->id, err) == 0)
        baro_tape_limit_cpu(tape, cpu_ns);
    fd_close(fd);
    return tape;
}

/* ---- holders ---- */

static void job_free(struct job *job)
{
    follow_forget(job, 0, true);
    pthread_mutex_destroy(&job->lock);
    free(job->id);
    free(job->path);
    free(job->row);
    free(job->title);
    free(job);
}

void job_release(struct catalogue *c, struct job *job)
{
    pthread_mutex_lock(&c->lock);
    bool last = --job->holders == 0;
    pthread_mutex_unlock(&c->lock);
    if (last)
        job_free(job);
}

struct job *catalogue_find(struct catalogue *c, const char *id)
{
    struct job *found = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n && !found; i++)
        found = strcmp(c->jobs[i]->id, id) == 0 ? c->jobs[i] : NULL;
    if (found)
        found->holders++;
    pthread_mutex_unlock(&c->lock);
    return found;
}

static bool fits(const struct job *job, const struct job_filter *f)
{
    if (f->is_over && job->state == JOB_RUNNING)
        return false;
    return (f->state < 0 || (int)job->state == f->state) && job->version > f->since &&
           (!f->search || strcasestr(job->id, f->search) || (job->title && strcasestr(job->title, f->search)));
}

int catalogue_list(struct catalogue *c, const struct job_filter *filter, uint64_t offset, uint64_t limit,
                   struct job_list *ret)
{
    *ret = (struct job_list){0};
    pthread_mutex_lock(&c->lock);
    size_t room = c->n < limit ? c->n : (size_t)limit;
    ret->at = calloc(room + 1, sizeof(struct job *));
    ret->version = c->version;
    for (size_t i = 0; i < c->n && ret->at; i++) {
        if (!fits(c->jobs[i], filter))
            continue;
        if (ret->total++ < offset || ret->n == room)
            continue;
        ret->at[ret->n++] = c->jobs[i];
        c->jobs[i]->holders++;
    }
    pthread_mutex_unlock(&c->lock);
    return ret->at ? 0 : -ENOMEM;
}

void job_list_done(struct catalogue *c, struct job_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        job_release(c, l->at[i]);
    free(l->at);
    *l = (struct job_list){0};
}

void catalogue_count(struct catalogue *c, size_t ret[JOB_STATES])
{
    memset(ret, 0, JOB_STATES * sizeof(*ret));
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n; i++)
        ret[c->jobs[i]->state]++;
    pthread_mutex_unlock(&c->lock);
}

bool catalogue_removed(struct catalogue *c, uint64_t since, struct buf *ret)
{
    bool known = true;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < REMOVED_KEPT && i < c->n_removed; i++) {
        const struct removed *r = &c->removed[(c->n_removed - 1 - i) % REMOVED_KEPT];
        if (r->version <= since)
            break;
        buf_add(ret, r->id, strlen(r->id) + 1);
        known = i + 1 < REMOVED_KEPT;
    }
    pthread_mutex_unlock(&c->lock);
    return known;
}

void job_row(struct catalogue *c, struct job *job, struct buf *ret)
{
    pthread_mutex_lock(&c->lock);
    buf_str(ret, job->row ? job->row : "{}");
    pthread_mutex_unlock(&c->lock);
}

char *job_title(struct catalogue *c, struct job *job, int64_t *ret_start_ns)
{
    pthread_mutex_lock(&c->lock);
    char *title = job->title ? strdup(job->title) : NULL;
    *ret_start_ns = job->start_ns;
    pthread_mutex_unlock(&c->lock);
    return title;
}

enum job_state job_state(struct catalogue *c, struct job *job)
{
    pthread_mutex_lock(&c->lock);
    enum job_state state = job->state;
    pthread_mutex_unlock(&c->lock);
    return state;
}

const char *catalogue_folder(const struct catalogue *c)
{
    return c->listed;
}

void catalogue_error(struct catalogue *c, char *ret, size_t size)
{
    pthread_mutex_lock(&c->lock);
    snprintf(ret, size, "%s", c->error);
    pthread_mutex_unlock(&c->lock);
}

/* ---- what the thread changes ---- */

static int newest_first(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? 1 : -1;
    return strcmp(y->id, x->id);
}

static char *text_of(struct buf *b)
{
    buf_byte(b, 0);
    return b->failed ? NULL : strdup((const char *)b->at);
}

static void publish(struct catalogue *c, struct job *job, struct found *f)
{
    char *row = text_of(&f->row), *title = text_of(&f->title);
    pthread_mutex_lock(&c->lock);
    bool moves = job->start_ns != f->start_ns && f->start_ns;
    free(job->row);
    free(job->title);
    job->row = row;
    job->title = title;
    job->state = f->state;
    job->start_ns = f->start_ns ? f->start_ns : job->start_ns;
    job->is_summed = f->is_summed;
    job->version = ++c->version;
    if (moves)
        qsort(c->jobs, c->n, sizeof(*c->jobs), newest_first);
    pthread_mutex_unlock(&c->lock);
    found_done(f);
}

/* "a.baro" is job "a". */
static struct job *job_new(const char *name, const char *path, const struct stat *st, uint64_t bytes)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    size_t len = strlen(name);
    job->id = strndup(name, len > 5 ? len - 5 : len);
    job->path = strdup(path);
    job->device = st->st_dev;
    job->inode = st->st_ino;
    job->bytes = bytes;
    job->holders = 1;
    pthread_mutex_init(&job->lock, NULL);
    if (job->id && job->path)
        return job;
    job_free(job);
    return NULL;
}

static void remove_at(struct catalogue *c, size_t i)
{
    struct job *job = c->jobs[i];
    struct removed *r = &c->removed[c->n_removed++ % REMOVED_KEPT];
    memmove(c->jobs + i, c->jobs + i + 1, (--c->n - i) * sizeof(*c->jobs));
    free(r->id);
    *r = (struct removed){strdup(job->id), ++c->version};
    if (!r->id)
        c->n_removed = 0;
    job->is_removed = true;
    if (--job->holders == 0)
        job_free(job);
}

/* Where does a job stand? n: nowhere. */
static size_t place_of(const struct catalogue *c, const char *name)
{
    size_t len = strlen(name) - 5, i = 0;
    while (i < c->n && (strncmp(c->jobs[i]->id, name, len) != 0 || c->jobs[i]->id[len]))
        i++;
    return i;
}

static void note_file(struct catalogue *c, const char *name, const char *path, uint64_t bytes)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return;
    size_t i = place_of(c, name);
    if (i < c->n && (c->jobs[i]->inode != st.st_ino || c->jobs[i]->device != st.st_dev)) {
        remove_at(c, i);
        i = c->n;
    }
    if (i < c->n) {
        struct job *job = c->jobs[i];
        if (job->bytes != bytes && job->state != JOB_RUNNING)
            job->state = JOB_NEW; /* it is read again */
        job->bytes = bytes;
        return;
    }
    struct job **grown = realloc(c->jobs, (c->n + 1) * sizeof(*grown));
    struct job *job = grown ? job_new(name, path, &st, bytes) : NULL;
    c->jobs = grown ? grown : c->jobs;
    if (job)
        c->jobs[c->n++] = job;
}

static bool is_listed(const struct baro_runs *runs, const struct job *job)
{
    size_t len = strlen(job->id);
    for (size_t i = 0; i < baro_runs_count(runs); i++) {
        const char *name = baro_runs_name(runs, i);
        if (strncmp(name, job->id, len) == 0 && strcmp(name + len, ".baro") == 0)
            return true;
    }
    return false;
}

static int list_folder(const struct catalogue *c, struct baro_runs **ret, struct baro_error *err)
{
    return c->folder ? baro_runs_list_folder(ret, c->folder, err) : baro_runs_list(ret, 0, err);
}

static void list_now(struct catalogue *c)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_runs *runs = NULL;
    int code = list_folder(c, &runs, &err);
    pthread_mutex_lock(&c->lock);
    snprintf(c->error, sizeof(c->error), "%s", code < 0 ? err.text : "");
    for (size_t i = c->n; code >= 0 && i-- > 0;) {
        if (!is_listed(runs, c->jobs[i]))
            remove_at(c, i);
    }
    for (size_t i = 0; code >= 0 && i < baro_runs_count(runs); i++)
        note_file(c, baro_runs_name(runs, i), baro_runs_path(runs, i), baro_runs_bytes(runs, i));
    pthread_mutex_unlock(&c->lock);
    baro_runs_free(runs);
}

/* The first job of a state, or of those that were not summed; held. */
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

/* Reads one tape: heads before the rest, so that the list is complete soon. False: all was read. */
static bool read_one(struct catalogue *c)
{
    struct found f;
    struct job *job = next_job(c, true);
    bool is_head = job != NULL;
    job = job ? job : next_job(c, false);
    if (!job)
        return false;
    if (is_head)
        follow_head(job, &f);
    else
        follow_read(job, &f);
    publish(c, job, &f);
    job_release(c, job);
    return true;
}

/* Reads what is new on the tapes of jobs that run. Returns how many run. */
static size_t tick(struct catalogue *c)
{
    struct job_list all;
    struct job_filter any = {.state = -1};
    size_t running = 0;
    if (catalogue_list(c, &any, 0, UINT64_MAX, &all) < 0)
        return 1;
    uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < all.n; i++) {
        struct found f;
        enum job_state state = job_state(c, all.at[i]);
        if (state == JOB_RUNNING && follow_tick(all.at[i], &f))
            publish(c, all.at[i], &f);
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
    char events[4096];
    bool any = false;
    while (c->watch_fd >= 0 && read(c->watch_fd, events, sizeof(events)) > 0)
        any = true;
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
    list_now(c);
    c->list_ns = now_ns + (c->soon ? TICK_MS / c->soon : LIST_MS) * NS_PER_MS;
    c->soon -= c->soon > 0;
}

static void *run(void *context)
{
    struct catalogue *c = context;
    struct pollfd fds[] = {{.fd = c->stop_fd, .events = POLLIN}, {.fd = c->watch_fd, .events = POLLIN}};
    size_t running = 0;
    setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone */
    while (!(fds[0].revents & POLLIN)) {
        list_if_due(c);
        bool more = read_one(c);
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= c->tick_ns) {
            running = tick(c);
            c->tick_ns = now_ns + TICK_MS * NS_PER_MS;
        }
        uint64_t until_ns = running || more ? c->tick_ns : c->list_ns;
        until_ns = until_ns < c->list_ns ? until_ns : c->list_ns;
        uint64_t wait_ms = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;
        poll(fds, 2, more ? 0 : (int)wait_ms);
    }
    return NULL;
}

/* ---- beginning and end ---- */

static int begin(struct catalogue *c, const char *folder, struct baro_error *err)
{
    struct baro_runs *runs;
    c->stop_fd = c->watch_fd = -1;
    c->soon = 4;
    c->folder = folder ? strdup(folder) : NULL;
    if (folder && !c->folder)
        return error_set(err, -ENOMEM, "out of memory");
    int code = list_folder(c, &runs, err);
    if (code < 0)
        return code;
    c->listed = strdup(baro_runs_folder(runs));
    baro_runs_free(runs);
    c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!c->listed || c->stop_fd < 0)
        return error_set(err, -ENOMEM, "out of memory or descriptors");
    c->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (c->watch_fd >= 0)
        inotify_add_watch(c->watch_fd, c->listed, IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE);
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
    fd_close(c->watch_fd);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int catalogue_start(struct catalogue **ret, const char *folder, struct baro_error *err)
{
    struct catalogue *c = calloc(1, sizeof(*c));
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    int code = begin(c, folder, err);
    if (code >= 0)
        list_now(c);
    if (code >= 0 && (code = -pthread_create(&c->thread, NULL, run, c)) < 0)
        error_set(err, code, "can't start a thread: %s", strerror(-code));
    if (code < 0) {
        catalogue_free(c);
        return code;
    }
    *ret = c;
    return 0;
}

void catalogue_stop(struct catalogue *c)
{
    eventfd_write(c->stop_fd, 1);
    pthread_join(c->thread, NULL);
    catalogue_free(c);
}
