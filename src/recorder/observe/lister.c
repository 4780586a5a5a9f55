/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that lists the folder of `--tasks`. The folder may be on a file server that does not answer: then this
 * process hangs and is given up, and the observer continues.
 *
 * When the list has changed and the observer has taken the last one, the process writes the new list to memory that it
 * shares with the observer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/helper/worker.h"
#include "recorder/observe/state.h"

#define LIST_EVERY (500 * NS_PER_MS)
#define LIST_SHARE 500u /* listing may take a 500th of the time */
#define LATE (10 * NS_PER_SEC)
#define FIRST_WITHIN NS_PER_SEC
#define STUCK_AFTER (5 * NS_PER_SEC)
#define RETRY_NS (5 * NS_PER_SEC)
#define HASH_BEGIN 14695981039346656037u /* FNV-1a */

struct listing {
    struct worker_shared worker;
    _Atomic bool is_found;  /* there is a list that the observer has not taken yet. While this is set, only the observer
                               uses the members below; else only the worker does */
    _Atomic bool is_paused; /* the folder, or a file in it, hangs and is not listed */
    _Atomic bool is_late;   /* the folder is so large that it is listed rarely */
    _Atomic uint64_t hash;  /* hash of the last list; 0: any list counts as changed */
    size_t n;
    bool has_more; /* there are more files than there is room for */
    struct task_found file[2 * TASK_FILES_MOST];
};

struct lister {
    struct worker *worker;
    struct listing *shared;
    char path[PATH_MAX];
    const char *name;  /* path of the folder, for messages */
    bool is_new;       /* nothing has waited for the first list yet */
    uint64_t retry_ns; /* CLOCK_MONOTONIC: when it is listed again; 0: it does not hang */
    bool said_hung, said_ended, said_late;
};

/* ---- the worker ---- */

size_t task_stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    if (*name == '.' || !dot || (strcmp(dot, ".yaml") != 0 && strcmp(dot, ".yml") != 0))
        return 0;
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return 0;
    }
    return (size_t)(dot - name);
}

static uint64_t hashed(uint64_t hash, const void *bytes, size_t n)
{
    for (const unsigned char *b = bytes; n--; b++)
        hash = (hash ^ *b) * 1099511628211u;
    return hash;
}

static bool read_file(struct listing *l, int dir, const char *name, struct task_found *ret)
{
    struct stat st;
    size_t len = strlen(name);
    if (!task_stem_length(name) || len > NAME_MAX)
        return false;
    memcpy(ret->name, name, len + 1);
    worker_progress(&l->worker);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
        return false; /* links are not followed: baro-tasks reports them as errors */
    ret->version = (struct task_version){st.st_ino,         st.st_dev,          (uint64_t)st.st_size,
                                         st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_uid};
    return true;
}

/* Lists the folder. If it was removed, it has no files; if it cannot be read, the last list stays. */
static void list(struct listing *l, const char *path)
{
    worker_progress(&l->worker);
    DIR *d = opendir(path);
    if (!d && errno != ENOENT)
        return;
    l->n = 0;
    l->has_more = false;
    uint64_t hash = HASH_BEGIN;
    for (struct dirent *e; d && !l->has_more && (e = readdir(d)) != NULL;) {
        struct task_found *f = &l->file[l->n];
        if (read_file(l, dirfd(d), e->d_name, f)) {
            hash = hashed(hash, f->name, strlen(f->name));
            hash = hashed(hash, &f->version, sizeof(f->version));
            l->has_more = ++l->n == sizeof(l->file) / sizeof(*l->file);
        }
    }
    if (d)
        closedir(d);
    if (hash == atomic_load(&l->hash))
        return;
    atomic_store(&l->hash, hash);
    atomic_store(&l->is_found, true);
}

static uint64_t cpu_now(void)
{
    uint64_t ns = 0;
    clock_process_cpu_ns(0, &ns);
    return ns;
}

static void live(const struct worker_child *c)
{
    struct listing *l = c->shared;
    const struct lister *of = c->context;
    for (;;) {
        uint64_t before = cpu_now();
        if (!atomic_load(&l->is_found) && !atomic_load(&l->is_paused)) {
            list(l, of->path);
            worker_idle(&l->worker);
            worker_done(c);
        }
        uint64_t pause = (cpu_now() - before) * LIST_SHARE;
        atomic_store(&l->is_late, pause > LATE);
        worker_rest(c, pause < LIST_EVERY ? LIST_EVERY : pause);
    }
}

/* ---- the observer's side ---- */

static int set_path(struct lister *l, const char *path)
{
    char here[PATH_MAX] = "";
    if (*path != '/' && !getcwd(here, sizeof(here)))
        return -errno;
    int n = snprintf(l->path, sizeof(l->path), "%s%s%s", here, *here ? "/" : "", path);
    return n < 0 || (size_t)n >= sizeof(l->path) ? -ENAMETOOLONG : 0;
}

int lister_new(struct lister **ret, const char *path, struct baro_error *err)
{
    struct lister *l = calloc(1, sizeof(*l));
    if (!l)
        return error_set(err, -ENOMEM, "out of memory");
    int code = set_path(l, path);
    if (code < 0)
        error_set(err, code, "--tasks %s: %s", path, strerror(-code));
    const struct worker_options o = {
        .shared_bytes = sizeof(struct listing), .stuck_after_ns = STUCK_AFTER, .live = live, .context = l};
    if (code == 0)
        code = worker_new(&l->worker, &o, err);
    if (code < 0) {
        free(l);
        return code;
    }
    l->name = path;
    l->is_new = true;
    l->shared = worker_shared(l->worker);
    *ret = l;
    return 0;
}

struct worker *lister_worker(struct lister *l)
{
    return l->worker;
}

/* The worker hangs: nothing is listed for a while. */
static void on_hung(void *context)
{
    struct lister *l = context;
    l->retry_ns = clock_monotonic_ns() + RETRY_NS;
    atomic_store(&l->shared->is_paused, true);
}

static void say_hung(struct lister *l, const struct jobs_options *o)
{
    struct baro_error line = BARO_ERROR_INIT;
    error_set(&line, -ETIMEDOUT, "listing %s hangs: jobs go on, and it is tried again", l->name);
    if (!l->said_hung)
        o->say(o->context, line.text);
    l->said_hung = true;
}

static void try_again(struct lister *l)
{
    if (!l->retry_ns || worker_left_behind(l->worker) || clock_monotonic_ns() < l->retry_ns)
        return;
    l->retry_ns = 0;
    atomic_store(&l->shared->is_paused, false);
    atomic_store(&l->shared->hash, 0);
    worker_wake(l->worker);
}

static void say_ended(struct lister *l, const struct jobs_options *o)
{
    struct baro_error line = BARO_ERROR_INIT;
    error_set(&line, -ECHILD, "the process that lists %s has ended or can't be started; it is tried again", l->name);
    if (!l->said_ended)
        o->say(o->context, line.text);
    l->said_ended = true;
}

static void say_late(struct lister *l, const struct jobs_options *o)
{
    struct baro_error line = BARO_ERROR_INIT;
    error_set(&line, -E2BIG, "%s has so many files that it is listed less often than every 10 s", l->name);
    if (!l->said_late)
        o->say(o->context, line.text);
    l->said_late = true;
}

const struct task_found *lister_turn(struct lister *l, const struct jobs_options *o, size_t *ret_n, bool *ret_all)
{
    struct listing *s = l->shared;
    try_again(l);
    enum worker_trouble trouble = worker_turn(l->worker, on_hung, l);
    if (trouble == WORKER_HUNG)
        say_hung(l, o);
    else if (trouble == WORKER_ENDED)
        say_ended(l, o);
    if (atomic_load(&s->is_late))
        say_late(l, o);
    if (l->is_new)
        worker_wait(l->worker, FIRST_WITHIN);
    l->is_new = false;
    if (!atomic_load(&s->is_found))
        return NULL;
    l->said_hung = l->said_ended = false;
    *ret_n = s->n;
    *ret_all = !s->has_more;
    return s->file;
}

void lister_taken(struct lister *l)
{
    atomic_store(&l->shared->is_found, false);
}

void lister_free(struct lister *l)
{
    if (l)
        worker_free(l->worker);
    free(l);
}
