/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the folder: there is one job for each tape. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "programs/baro-serve/catalogue_in.h"
#include "programs/baro-serve/shortage.h"

int folder_list(const struct catalogue *c, struct baro_runs **ret, struct baro_error *err)
{
    return c->folder ? baro_runs_list_folder(ret, c->folder, err) : baro_runs_list(ret, 0, err);
}

static char *shown_of(const char *id)
{
    struct buf shown = {0};
    buf_escaped(&shown, id, strlen(id));
    buf_byte(&shown, 0);
    if (!shown.failed)
        return (char *)shown.at;
    buf_done(&shown);
    return NULL;
}

/* Makes a job. The tape "a.baro" is job "a". */
static struct job *job_new(const char *name, const char *path, const struct stat *st, uint64_t bytes)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    size_t len = strlen(name);
    job->id = strndup(name, len > 5 ? len - 5 : len);
    job->shown = job->id ? shown_of(job->id) : NULL;
    job->is_private = true;
    job->path = strdup(path);
    job->device = st->st_dev;
    job->inode = st->st_ino;
    job->bytes = bytes;
    job->watch = -1;
    job->holders = 1;
    pthread_mutex_init(&job->lock, NULL);
    if (job->shown && job->path)
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
    touched_remove(&c->touched, &job->watch);
    if (--job->holders == 0)
        job_free(job);
}

static int by_id(const void *a, const void *b)
{
    return strcmp((*(struct job *const *)a)->id, (*(struct job *const *)b)->id);
}

static int name_to_id(const void *name, const void *job)
{
    const char *id = (*(struct job *const *)job)->id;
    size_t len = strlen(name) - 5;
    int order = strncmp(name, id, len);
    return order ? order : -(id[len] != 0);
}

/* Returns false if memory ran out. */
static bool add_job(struct catalogue *c, struct job *job)
{
    struct job **grown = job ? realloc(c->jobs, (c->n + 1) * sizeof(*grown)) : NULL;
    if (grown) {
        c->jobs = grown;
        c->jobs[c->n++] = job;
        job->listing = c->listing;
    } else if (job) {
        job_free(job);
    }
    return grown;
}

static void note(struct catalogue *c, struct job *job, uint64_t bytes)
{
    if (job->bytes != bytes && job->state != JOB_RUNNING)
        job->state = JOB_NEW; /* the tape is read again */
    job->bytes = bytes;
    job->listing = c->listing;
}

/* A tape that was found. */
struct entry {
    const char *name, *path;
    uint64_t bytes;
    struct stat st;
};
struct entries {
    struct entry *at;
    size_t n;
};

/* Is the tape, or its name, in the list already? A tape of the folder may be announced as well, and another user may
 * have announced a run with any name. */
static bool has(const struct entries *all, size_t n, const struct entry *e)
{
    for (size_t i = 0; i < n; i++) {
        const struct entry *other = &all->at[i];
        if ((other->st.st_ino == e->st.st_ino && other->st.st_dev == e->st.st_dev) || !strcmp(other->name, e->name))
            return true;
    }
    return false;
}

static bool is_listed(const struct catalogue *c, const struct entries *all, const struct entry *e)
{
    return (c->announced == ANNOUNCED_ALL || e->st.st_uid == geteuid()) && !has(all, all->n, e);
}

static void collect(const struct catalogue *c, struct entries *all, const struct baro_runs *runs, bool announced)
{
    for (size_t i = 0; i < baro_runs_count(runs); i++) {
        struct entry e = {baro_runs_name(runs, i), baro_runs_path(runs, i), baro_runs_bytes(runs, i), {0}};
        if (lstat(e.path, &e.st) == 0 && (!announced || is_listed(c, all, &e)))
            all->at[all->n++] = e;
    }
}

/* Notes all tapes that were found. sorted: the jobs so far, sorted by id. Returns false if memory ran out. */
static bool note_all(struct catalogue *c, const struct entries *all, struct job **sorted)
{
    size_t known = c->n;
    bool has_memory = true;
    if (known) {
        memcpy(sorted, c->jobs, known * sizeof(*sorted));
        qsort(sorted, known, sizeof(*sorted), by_id);
    }
    c->listing++;
    for (size_t i = 0; i < all->n; i++) {
        const struct entry *e = &all->at[i];
        struct job **at = bsearch(e->name, sorted, known, sizeof(*sorted), name_to_id);
        bool is_same = at && (*at)->inode == e->st.st_ino && (*at)->device == e->st.st_dev;
        if (is_same)
            note(c, *at, e->bytes);
        else
            has_memory &= add_job(c, job_new(e->name, e->path, &e->st, e->bytes));
    }
    for (size_t i = c->n; i-- > 0;) {
        if (c->jobs[i]->listing != c->listing)
            remove_at(c, i);
    }
    return has_memory;
}

/* A folder may be there only now, or again. Returns whether it is watched since this call: then what lies in it is to
 * be listed after it. */
static bool begin_to_watch(struct baro_runs_watch **w, const char *folder)
{
    return !*w && baro_runs_watch(w, folder, NULL) == 0;
}

void folder_read(struct catalogue *c)
{
    struct baro_error err = BARO_ERROR_INIT;
    unsigned failures = shortage_count();
    struct baro_runs *runs = NULL, *announced = NULL;
    begin_to_watch(&c->watch[0], c->listed);
    int code = folder_list(c, &runs, &err);
    if (code >= 0 && c->announced != ANNOUNCED_NONE)
        code = baro_runs_list_announced(&announced, &err);
    if (announced && begin_to_watch(&c->watch[1], baro_runs_folder(announced)))
        c->soon = c->soon ? c->soon : 1;
    size_t n = code < 0 ? 0 : baro_runs_count(runs) + (announced ? baro_runs_count(announced) : 0);
    struct entries all = {calloc(n + 1, sizeof(*all.at)), 0};
    struct job **sorted = calloc(c->n + 1, sizeof(*sorted)); /* only this thread changes c->n */
    if (code >= 0 && all.at) {
        collect(c, &all, runs, false);
        if (announced)
            collect(c, &all, announced, true);
    }
    pthread_mutex_lock(&c->lock);
    snprintf(c->error, sizeof(c->error), "%s", code < 0 ? err.text : "");
    c->was_listed = true;
    bool is_whole = shortage_count() == failures; /* if not, tapes may be missing from the list */
    if (code >= 0 && !(is_whole && all.at && sorted && note_all(c, &all, sorted))) {
        snprintf(c->error, sizeof(c->error), "out of memory: jobs may not be in the list");
        c->soon = 1; /* the folder is listed again soon */
    }
    pthread_mutex_unlock(&c->lock);
    free(sorted);
    free(all.at);
    baro_runs_free(runs);
    baro_runs_free(announced);
}
