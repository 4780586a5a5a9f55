/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's side. */
#include "recorder/collectors/directories/directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/fmt.h"
#include "kernel/proc/procfs.h"
#include "recorder/collectors/directories/state.h"
#include "recorder/redact/redact.h"
#include "recorder/sampling/entity.h"

#define STUCK_AFTER (5 * NS_PER_SEC)
#define BARRED_FIRST (60 * NS_PER_SEC)
#define PROGRESS_EVERY NS_PER_SEC /* how often rows are made whose only news is the progress of a walk */

struct directory {
    uint32_t seen; /* the turn that was taken last */
    unsigned hangs;
    bool known; /* device and type */
    uint32_t major, minor;
    char device[24], type[DIRECTORY_TYPE], *source;
    struct baro_attribute attribute[3];
    int32_t error;
};

struct directories {
    struct worker *worker;
    struct directories_plan plan;
    struct directory at[DIRECTORIES_MOST];
    struct entity_table table;
    uint32_t hung; /* the directory in which the worker last hung, counted from 1 */
    uint64_t read_ns;
};

int directories_new(struct directories **ret, const struct directories_options *options, struct baro_error *err)
{
    struct directories *d = calloc(1, sizeof(*d));
    if (!d)
        return error_set(err, -ENOMEM, "out of memory");
    d->plan.options = *options;
    d->table.kind = KIND_directory;
    const struct worker_options o = {.shared_bytes = sizeof(struct directories_shared),
                                     .stuck_after_ns = STUCK_AFTER,
                                     .live = directories_live,
                                     .context = &d->plan};
    int code = worker_new(&d->worker, &o, err);
    if (code < 0) {
        free(d);
        return code;
    }
    *ret = d;
    return 0;
}

int directories_add(struct directories *d, const char *path, struct baro_entity_owner owner, struct baro_error *err)
{
    size_t n = d->plan.n;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(d->plan.path[i], path) == 0)
            return error_set(err, -EEXIST, "%s is given twice", path);
    }
    if (n == DIRECTORIES_MOST)
        return error_set(err, BARO_E_RANGE, "more than %u directories", DIRECTORIES_MOST);
    char *copy = strdup(path);
    struct baro_entity *e = copy ? entity_add(&d->table, d->plan.options.entity_ids, path, "") : NULL;
    if (!e) {
        free(copy);
        return error_set(err, -ENOMEM, "out of memory");
    }
    e->owner = owner;
    entity_put(e, DIRECTORY_walks, 0);
    entity_put(e, DIRECTORY_walked, 0);
    d->plan.path[n] = copy;
    d->plan.n++;
    return 0;
}

/* ---- what was read ---- */

static uint64_t tape_time(const struct directories *d, uint64_t ns)
{
    uint64_t start = d->plan.options.start_monotonic_ns;
    return ns > start ? ns - start : 1; /* 0 would be: never */
}

/* Reports where the directory is: once, and again if something else was mounted there. */
static void take_place(struct directory *at, struct baro_entity *e, const struct directory_reading *r)
{
    struct buf source = {0};
    if (at->known && at->major == r->sums.major && at->minor == r->sums.minor && strcmp(at->type, r->type) == 0)
        return;
    redact_name(span_str(r->source), &source);
    buf_byte(&source, 0);
    free(at->source);
    at->source = source.failed ? NULL : (char *)source.at;
    at->known = true;
    at->major = r->sums.major;
    at->minor = r->sums.minor;
    snprintf(at->device, sizeof(at->device), "%u:%u", at->major, at->minor);
    memcpy(at->type, r->type, sizeof(at->type));
    at->attribute[0] = text_attribute("device", at->device);
    at->attribute[1] = text_attribute("type", at->type);
    at->attribute[2] = text_attribute("source", at->source ? at->source : "");
    e->attribute = at->attribute;
    e->n_attributes = 3;
    e->info_version++;
}

static void put_sums(struct baro_entity *e, const struct walk_sums *s)
{
    uint64_t peak = e->absent[DIRECTORY_used_peak] ? 0 : e->value[DIRECTORY_used_peak];
    entity_put(e, DIRECTORY_used, s->used);
    entity_put(e, DIRECTORY_apparent, s->apparent);
    entity_put(e, DIRECTORY_files, s->files);
    entity_put(e, DIRECTORY_directories, s->directories);
    entity_put(e, DIRECTORY_unread, s->unread);
    entity_put(e, DIRECTORY_used_peak, s->used > peak ? s->used : peak);
}

static void lack_sums(struct baro_entity *e, enum baro_absent why)
{
    static const int sums[] = {DIRECTORY_used, DIRECTORY_apparent, DIRECTORY_files, DIRECTORY_directories,
                               DIRECTORY_unread};
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
        entity_lack(e, sums[i], why);
    if (e->absent[DIRECTORY_used_peak])
        entity_lack(e, DIRECTORY_used_peak, why);
}

/* Checks the reading, as another process wrote it. */
static bool is_sound(const struct directory_reading *r)
{
    return r->absent < ABSENT_COUNT && r->begin_ns <= r->end_ns && memchr(r->type, 0, sizeof(r->type)) &&
           memchr(r->source, 0, sizeof(r->source));
}

static void take_walk(struct directories *d, size_t i, const struct directory_reading *r)
{
    struct baro_entity *e = d->table.at[i];
    if (!r->end_ns || !is_sound(r))
        return;
    d->at[i].error = r->error;
    d->at[i].hangs = 0;
    if (r->absent)
        lack_sums(e, (enum baro_absent)r->absent);
    else
        put_sums(e, &r->sums);
    if (!r->absent)
        take_place(&d->at[i], e, r);
    entity_put(e, DIRECTORY_walks, e->value[DIRECTORY_walks] + 1);
    entity_put(e, DIRECTORY_walk, r->end_ns - r->begin_ns);
    entity_put(e, DIRECTORY_walk_cpu, r->cpu_ns);
    entity_put(e, DIRECTORY_read_at, tape_time(d, r->end_ns));
}

/* ---- the worker ---- */

static struct directories_shared *shared_of(const struct directories *d)
{
    return worker_shared(d->worker);
}

/* The directory is walked again after a minute, then two, four ... */
static void on_hung(void *context)
{
    struct directories *d = context;
    uint32_t at = atomic_load(&shared_of(d)->at);
    d->hung = at && at <= d->plan.n ? at : 0;
    if (!d->hung)
        return;
    struct directory *dir = &d->at[at - 1];
    uint64_t pause = BARRED_FIRST << (dir->hangs < 6 ? dir->hangs : 6);
    dir->hangs++;
    atomic_store(&shared_of(d)->slot[at - 1].not_before_ns, clock_monotonic_ns() + pause);
    atomic_store(&shared_of(d)->at, 0);
    if (d->table.at[at - 1]->absent[DIRECTORY_used])
        lack_sums(d->table.at[at - 1], BARO_ABSENT_TIMEOUT);
}

/* Its path may control a terminal. */
static void put_subject(struct buf *line, const struct baro_entity *e)
{
    buf_str(line, "disk of ");
    buf_escaped(line, e->name, strlen(e->name));
    buf_str(line, ": ");
}

static void report_trouble(struct directories *d, enum worker_trouble trouble,
                           void (*say)(void *context, const char *line), void *context)
{
    struct buf line = {0};
    if (trouble == WORKER_HUNG && d->hung) {
        put_subject(&line, d->table.at[d->hung - 1]);
        buf_str(&line, "it has not answered for 5 s and is left alone for a while");
    } else if (trouble == WORKER_ENDED)
        buf_str(&line, "the process that reads directories ended, or could not be started; it is tried again");
    else if (trouble == WORKER_GIVEN_UP)
        buf_str(&line, "directories are no longer read: too many processes hang in them");
    buf_byte(&line, 0);
    if (line.len > 1 && !line.failed)
        say(context, (const char *)line.at);
    buf_done(&line);
}

/* Returns whether there is a new reading. */
static bool take_all(struct directories *d)
{
    struct directories_shared *s = shared_of(d);
    struct directory_reading r;
    bool any = false;
    for (size_t i = 0; i < d->plan.n; i++) {
        struct baro_entity *e = d->table.at[i];
        uint64_t walked = e->value[DIRECTORY_walked], found = atomic_load(&s->slot[i].found);
        bool fresh = worker_copy(&r, &s->slot[i].now, sizeof(r), &s->slot[i].turn, &d->at[i].seen);
        if (fresh)
            take_walk(d, i, &r);
        any |= fresh || found != walked;
        entity_put(e, DIRECTORY_walked, found);
    }
    return any;
}

static bool is_new(const struct directories *d)
{
    struct directories_shared *s = shared_of(d);
    for (size_t i = 0; i < d->plan.n; i++) {
        if (atomic_load(&s->slot[i].turn) != d->at[i].seen)
            return true;
    }
    return false;
}

void directories_tick(struct directories *d, uint64_t now_ns, void (*say)(void *context, const char *line),
                      void *context)
{
    enum worker_trouble trouble = worker_turn(d->worker, on_hung, d);
    if (trouble)
        report_trouble(d, trouble, say, context);
    bool due = trouble || !d->read_ns || is_new(d) || now_ns >= d->read_ns + PROGRESS_EVERY;
    if (due && (take_all(d) || trouble || !d->read_ns))
        d->read_ns = now_ns;
}

void directories_last(struct directories *d)
{
    worker_turn(d->worker, on_hung, d); /* of a short job there is none yet */
    atomic_store(&shared_of(d)->last, true);
    worker_wake(d->worker);
    worker_wait(d->worker, DIRECTORY_LAST_MOST);
}

struct baro_entities directories_view(const struct directories *d)
{
    struct baro_entities view = entity_view(&d->table);
    view.read_ns = d->read_ns;
    return view;
}

size_t directories_count(const struct directories *d)
{
    return d->plan.n;
}

bool directories_trouble(const struct directories *d, size_t i, struct buf *line)
{
    const struct baro_entity *e = d->table.at[i];
    enum baro_absent why = (enum baro_absent)e->absent[DIRECTORY_used];
    if (!why && !d->at[i].hangs)
        return false;
    put_subject(line, e);
    if (d->at[i].hangs) {
        buf_str(line, "it has not answered for 5 s");
    } else if (why == BARO_ABSENT_NOT_YET) {
        buf_str(line, "not known: the first walk was not done, and had found ");
        fmt_count(line, e->value[DIRECTORY_walked]);
        buf_str(line, " entries");
    } else {
        buf_printf(line, "%s", strerror(d->at[i].error));
    }
    return true;
}

struct worker *directories_worker(struct directories *d)
{
    return d->worker;
}

void directories_free(struct directories *d)
{
    if (!d)
        return;
    worker_free(d->worker);
    for (size_t i = 0; i < d->plan.n; i++) {
        free((char *)d->plan.path[i]);
        free(d->at[i].source);
    }
    entity_table_done(&d->table);
    free(d);
}
