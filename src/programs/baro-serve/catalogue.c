/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/catalogue_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "programs/baro-serve/follow.h"

const char *job_id(const struct job *job)
{
    return job->id;
}

const char *job_state_name(enum job_state state)
{
    static const char *const names[] = {[JOB_NEW] = "new",
                                        [JOB_RUNNING] = "running",
                                        [JOB_ENDED] = "ended",
                                        [JOB_CUT_OFF] = "cut_off",
                                        [JOB_UNREADABLE] = "unreadable"};
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

void job_free(struct job *job)
{
    follow_forget(job, 0, true);
    pthread_mutex_destroy(&job->lock);
    free(job->id);
    free(job->shown);
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
        found = strcmp(c->jobs[i]->shown, id) == 0 ? c->jobs[i] : NULL;
    if (found)
        found->holders++;
    pthread_mutex_unlock(&c->lock);
    return found;
}

static bool fits(const struct job *job, const struct job_filter *f)
{
    if ((f->is_over && job->state == JOB_RUNNING) || (f->no_machine && job->is_machine))
        return false;
    if (f->no_private && job->is_private)
        return false;
    return (f->state < 0 || (int)job->state == f->state) && job->version > f->since && job->turned > f->turned_since &&
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

enum job_state job_version(struct catalogue *c, struct job *job, uint64_t *ret_bytes)
{
    pthread_mutex_lock(&c->lock);
    enum job_state state = job->state;
    *ret_bytes = job->bytes;
    pthread_mutex_unlock(&c->lock);
    return state;
}

bool job_is_private(struct catalogue *c, const struct job *job)
{
    pthread_mutex_lock(&c->lock);
    bool yes = job->is_private;
    pthread_mutex_unlock(&c->lock);
    return yes;
}

bool job_is_machine(struct catalogue *c, struct job *job, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    pthread_mutex_lock(&c->lock);
    bool is_machine = job->start_ns && (job->is_machine || job->is_private);
    *ret_start_ns = job->start_ns;
    *ret_end_ns = job->end_ns;
    pthread_mutex_unlock(&c->lock);
    return is_machine;
}

#define PATIENCE_S 5 /* a read that takes longer is reported; a tape takes at most 2 s of CPU time */

bool job_lock(struct job *job)
{
    struct timespec until;
    bool locked = pthread_mutex_trylock(&job->lock) == 0;
    if (!locked && !job->hangs) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += PATIENCE_S;
        locked = pthread_mutex_clocklock(&job->lock, CLOCK_MONOTONIC, &until) == 0;
    }
    job->hangs = !locked;
    return locked;
}

int64_t job_host_ns(struct job *job)
{
    if (!job_lock(job))
        return 0;
    int64_t at_ns = job->host_ns;
    pthread_mutex_unlock(&job->lock);
    return at_ns;
}

const char *catalogue_folder(const struct catalogue *c)
{
    return c->listed;
}

#define HANGS_S 10

void catalogue_error(struct catalogue *c, char *ret, size_t size)
{
    pthread_mutex_lock(&c->lock);
    uint64_t now_ns = clock_monotonic_ns(), since_ns = c->waits ? c->waits_ns : now_ns;
    if (now_ns - since_ns >= HANGS_S * NS_PER_SEC)
        snprintf(ret, size, "%s has not been read for %llu s: its file system does not answer; no job is followed",
                 c->waits, (unsigned long long)((now_ns - since_ns) / NS_PER_SEC));
    else
        snprintf(ret, size, "%s", c->error);
    pthread_mutex_unlock(&c->lock);
}
