/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a tape from another one. include/baro/writer.h has the rules. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baro/writer.h"
#include "libbaro/sample/row.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/header_fields.h"
#include "libbaro/tape/row_encoding.h"
#include "libbaro/writer/writer.h"

/* ---- renaming ---- */

/* Copies of records with the same values and other texts. */

struct room {
    struct room *before;
    size_t used, cap;
    _Alignas(8) unsigned char at[];
};

/* Memory of one record, freed as a whole. */
struct renamer {
    struct baro_writer_options options;
    struct room *room;
    bool failed; /* no memory */
};

/* ---- memory ---- */

static void *take(struct renamer *r, size_t size)
{
    enum { LEAST = 64 << 10 };
    size = (size + 7) / 8 * 8;
    struct room *m = r->room;
    if (!m || size > m->cap - m->used) {
        size_t cap = size > LEAST ? size : LEAST;
        m = malloc(sizeof *m + cap);
        if (!m) {
            r->failed = true;
            return NULL;
        }
        *m = (struct room){.before = r->room, .cap = cap};
        r->room = m;
    }
    void *at = m->at + m->used;
    m->used += size;
    return at;
}

/* Frees all memory but the piece that was allocated last, which is used again. */
static void renamer_clear(struct renamer *r)
{
    struct room *before = r->room ? r->room->before : NULL;
    while (before) {
        struct room *next = before->before;
        free(before);
        before = next;
    }
    if (r->room) {
        r->room->before = NULL;
        r->room->used = 0;
    }
}

static void renamer_done(struct renamer *r)
{
    renamer_clear(r);
    free(r->room);
    r->room = NULL;
}

/* ---- texts ---- */

static const char *ask(const struct renamer *r, enum baro_text_kind what, int kind, const char *name, const char *text)
{
    const struct baro_text t = {what, kind, name, text ? text : ""};
    const char *other = r->options.text && *t.text ? r->options.text(r->options.context, &t) : t.text;
    return other ? other : "";
}

/* Never NULL. */
static char *renamed_text(struct renamer *r, enum baro_text_kind what, int kind, const char *name, const char *text)
{
    static const char none[1];
    const char *other = ask(r, what, kind, name, text);
    if (other == text)
        return (char *)text;
    size_t size = strlen(other) + 1;
    char *to = take(r, size);
    return to ? memcpy(to, other, size) : (char *)none;
}

static void text_in(struct renamer *r, enum baro_text_kind what, const char *name, char *text, size_t size)
{
    const char *other = ask(r, what, -1, name, text);
    if (other != text)
        snprintf(text, size, "%s", other);
}

static uint32_t uid_of(const struct renamer *r, uint32_t uid)
{
    return r->options.uid && uid != UINT32_MAX ? r->options.uid(r->options.context, uid) : uid;
}

/* ---- the header ---- */

static void rename_limits(struct renamer *r, struct baro_limits *ret, const struct baro_limits *from)
{
    *ret = *from;
    text_in(r, BARO_TEXT_LIMIT, NULL, ret->memory_source, sizeof ret->memory_source);
    text_in(r, BARO_TEXT_LIMIT, NULL, ret->cores_source, sizeof ret->cores_source);
    text_in(r, BARO_TEXT_LIMIT, NULL, ret->pids_source, sizeof ret->pids_source);
}

static char **texts_of(struct renamer *r, enum baro_text_kind what, char **argv)
{
    size_t n = 0;
    while (argv && argv[n])
        n++;
    char **to = argv ? take(r, (n + 1) * sizeof *to) : NULL;
    if (!to)
        return NULL;
    for (size_t i = 0; i < n; i++)
        to[i] = renamed_text(r, what, -1, NULL, argv[i]);
    to[n] = NULL;
    return to;
}

/* Each makes *ret, which is valid until renamer_clear(). Parts that do not change are borrowed from the original.
 * Check r->failed afterwards. */
static void rename_header(struct renamer *r, struct baro_header *ret, const struct baro_header *from)
{
    *ret = *from;
    if (r->options.from_ns && ret->segment < 2)
        ret->segment = 2;
    ret->is_stretch |= r->options.is_stretch;
    text_in(r, BARO_TEXT_HOST, NULL, ret->host, sizeof ret->host);
    text_in(r, BARO_TEXT_KERNEL, NULL, ret->kernel, sizeof ret->kernel);
    text_in(r, BARO_TEXT_BOOT_ID, NULL, ret->boot_id, sizeof ret->boot_id);
    text_in(r, BARO_TEXT_CPU_MODEL, NULL, ret->cpu_model, sizeof ret->cpu_model);
    text_in(r, BARO_TEXT_RECORDING, NULL, ret->name, sizeof ret->name);
    text_in(r, BARO_TEXT_BATCH, "job_id", ret->job_id, sizeof ret->job_id);
    text_in(r, BARO_TEXT_BATCH, "step_id", ret->step_id, sizeof ret->step_id);
    text_in(r, BARO_TEXT_BATCH, "rank", ret->rank, sizeof ret->rank);
    text_in(r, BARO_TEXT_BATCH, "local_rank", ret->local_rank, sizeof ret->local_rank);
    text_in(r, BARO_TEXT_HOST, NULL, ret->node, sizeof ret->node);
    text_in(r, BARO_TEXT_RECORDING, "container", ret->place.container, sizeof ret->place.container);
    text_in(r, BARO_TEXT_RECORDING, "image", ret->place.image, sizeof ret->place.image);
    text_in(r, BARO_TEXT_RECORDING, "pod", ret->place.pod, sizeof ret->place.pod);
    text_in(r, BARO_TEXT_RECORDING, "pod_namespace", ret->place.pod_namespace, sizeof ret->place.pod_namespace);
    text_in(r, BARO_TEXT_RECORDING, "unit", ret->place.unit, sizeof ret->place.unit);
    rename_limits(r, &ret->limits, &from->limits);
    ret->argv = texts_of(r, BARO_TEXT_ARGUMENT, from->argv);
    ret->tags = texts_of(r, BARO_TEXT_TAG, from->tags);
    if (from->cwd)
        ret->cwd = renamed_text(r, BARO_TEXT_DIRECTORY, -1, NULL, from->cwd);
    ret->uid = uid_of(r, from->uid);
}

/* ---- samples ---- */

static struct baro_process *process_of(struct renamer *r, const struct baro_process *from)
{
    struct baro_process *to = take(r, sizeof *to);
    if (!to)
        return NULL;
    *to = *from;
    to->name = renamed_text(r, BARO_TEXT_NAME, -1, NULL, from->name);
    if (from->cmdline)
        to->cmdline = renamed_text(r, BARO_TEXT_CMDLINE, -1, NULL, from->cmdline);
    to->uid = uid_of(r, from->uid);
    return to;
}

static struct baro_process *const *processes_of(struct renamer *r, const struct baro_sample *from)
{
    struct baro_process **to = take(r, (from->n + 1) * sizeof *to);
    for (size_t i = 0; to && i < from->n; i++)
        if (!(to[i] = process_of(r, from->processes[i])))
            return NULL;
    return to;
}

/* kind: of the entity; -1: of an event. */
static const struct baro_attribute *attributes_of(struct renamer *r, int kind, const struct baro_attribute *from,
                                                  size_t n)
{
    struct baro_attribute *to = take(r, n * sizeof *to);
    for (size_t i = 0; to && i < n; i++) {
        bool json = from[i].type == BARO_ATTRIBUTE_JSON;
        to[i] = from[i];
        if (json || from[i].type == BARO_ATTRIBUTE_TEXT)
            to[i].text = renamed_text(r, json ? BARO_TEXT_JSON : BARO_TEXT_ATTRIBUTE, kind, from[i].name, from[i].text);
        to[i].name = renamed_text(r, BARO_TEXT_ATTRIBUTE_NAME, kind, NULL, from[i].name);
    }
    return to;
}

static struct baro_entity *entity_of(struct renamer *r, int kind, const struct baro_entity *from)
{
    struct baro_entity *to = take(r, sizeof *to);
    if (!to)
        return NULL;
    *to = *from;
    to->name = renamed_text(r, BARO_TEXT_ENTITY, kind, NULL, from->name);
    to->label = renamed_text(r, BARO_TEXT_LABEL, kind, NULL, from->label);
    if (from->n_attributes)
        to->attribute = attributes_of(r, kind, from->attribute, from->n_attributes);
    return to;
}

/* Gives an entity as many values as the copy of its kind has columns (n), because a declared kind may have got
 * columns after the row was read. n is 0: the row stays as it is. */
static void fill_up(struct renamer *r, struct baro_entity *e, size_t n)
{
    if (e->n_values >= n)
        return;
    uint64_t *value = take(r, n * sizeof *value);
    uint8_t *absent = take(r, n);
    if (!value || !absent)
        return;
    memset(value, 0, n * sizeof *value);
    memset(absent, BARO_ABSENT_UNKNOWN, n);
    memcpy(value, e->value, e->n_values * sizeof *value);
    memcpy(absent, e->absent, e->n_values);
    e->value = value;
    e->absent = absent;
    e->n_values = n;
}

static struct baro_entities entities_of(struct renamer *r, int kind, size_t n_values, struct baro_entities from)
{
    struct baro_entity **to = take(r, (from.n + 1) * sizeof *to);
    for (size_t i = 0; to && i < from.n; i++) {
        to[i] = entity_of(r, kind, from.at[i]);
        if (!to[i])
            to = NULL;
        else
            fill_up(r, to[i], n_values);
    }
    from.n = to ? from.n : 0;
    from.at = to;
    return from;
}

static const struct baro_metric *metric_of(struct renamer *r, const struct baro_metric *from)
{
    struct baro_metric *to = r->options.text ? take(r, sizeof *to) : NULL;
    if (!to)
        return from;
    *to = *from;
    to->stem = renamed_text(r, BARO_TEXT_METRIC, -1, from->stem, from->stem);
    to->name = renamed_text(r, BARO_TEXT_METRIC, -1, from->stem, from->name);
    to->help = renamed_text(r, BARO_TEXT_HELP, -1, from->stem, from->help);
    to->file = renamed_text(r, BARO_TEXT_HELP, -1, from->stem, from->file);
    return to;
}

static struct baro_declared *declared_of(struct renamer *r, int kind, const struct baro_declared *from)
{
    struct baro_declared *to = take(r, sizeof *to);
    const struct baro_metric **metric = take(r, (from->n_metrics + 1) * sizeof *metric);
    if (!to || !metric)
        return NULL;
    *to = *from;
    to->name = renamed_text(r, BARO_TEXT_KIND, kind, NULL, from->name);
    to->metric = metric;
    for (size_t i = 0; i < from->n_metrics; i++)
        metric[i] = metric_of(r, from->metric[i]);
    to->rows = entities_of(r, kind, from->n_metrics, from->rows);
    return to;
}

/* All kinds that only the tape has, those of a newer barograph first: they are declared kinds in the copy. */
static void rename_declared(struct renamer *r, struct baro_sample *ret, const struct baro_sample *from)
{
    struct baro_declared **to = take(r, (from->n_declared + 1) * sizeof *to);
    ret->n_declared = 0;
    for (size_t i = 0; to && i < from->n_declared; i++) {
        struct baro_declared *d = from->declared[i] ? declared_of(r, KIND_COUNT + (int)i, from->declared[i]) : NULL;
        if (!d)
            break;
        to[ret->n_declared++] = d;
    }
    ret->declared = to;
}

static void rename_sample(struct renamer *r, struct baro_sample *ret, const struct baro_sample *from)
{
    *ret = *from;
    ret->moved = NULL; /* the sample before may have been left out */
    if (from->n_declared)
        rename_declared(r, ret, from);
    if (r->options.text || r->options.uid) {
        ret->processes = processes_of(r, from);
        ret->n = ret->processes ? from->n : 0;
    }
    if (r->options.text)
        for (int kind = BARO_KIND_CPU; kind < KIND_COUNT; kind++)
            ret->entities[kind] = entities_of(r, kind, 0, from->entities[kind]);
}

/* ---- exits and events ---- */

static void rename_exit(struct renamer *r, struct baro_exit *ret, const struct baro_exit *from)
{
    *ret = *from;
    ret->name = renamed_text(r, BARO_TEXT_NAME, -1, NULL, from->name);
    if (from->cmdline)
        ret->cmdline = renamed_text(r, BARO_TEXT_CMDLINE, -1, NULL, from->cmdline);
    ret->uid = uid_of(r, from->uid);
}

static void rename_event(struct renamer *r, struct baro_event *ret, const struct baro_event *from)
{
    *ret = *from;
    ret->text = renamed_text(r, BARO_TEXT_EVENT, (int)from->kind, NULL, from->text);
    if (from->n_attributes)
        ret->attribute = attributes_of(r, -1, from->attribute, from->n_attributes);
}

#define DAMAGE_SAYS "a damaged part of the tape that this one was copied from is missing here"

struct baro_writer {
    struct tape_writer *tape;
    struct tape_file file;
    struct stat original; /* the file that the copy replaces, if it is thinned */
    int fd;               /* the tape writer's */
    struct renamer renamer;
    size_t left_out;
    int failed; /* code of the first failure */
    bool finished;
};

/* Copies the options of a program that may be older: its struct is then shorter. */
static struct baro_writer_options take_options(const struct baro_writer_options *from)
{
    struct baro_writer_options to = BARO_WRITER_OPTIONS_INIT;
    if (from)
        memcpy(&to, from, from->size < sizeof to ? from->size : sizeof to);
    return to;
}

static int create(struct baro_writer *w, const char *path, struct baro_error *err)
{
    const char *name;
    int dir = folder_of(path, &name, err);
    return dir < 0 ? dir : tape_file_create(&w->file, dir, name, path, w->renamer.options.force, err);
}

/* A stretch has no steps of the clock from before it: its header has the time as the clock showed it there. */
static int set_clock(const struct baro_writer *w, const struct baro_tape *tape, struct baro_header *ret,
                     struct baro_error *err)
{
    uint64_t from_ns = w->renamer.options.from_ns;
    int64_t shown;
    if (!w->renamer.options.is_stretch || !from_ns)
        return 0;
    int r = realtime_at(tape, from_ns, &shown, err);
    if (r == 0)
        ret->start_realtime_ns = (int64_t)((uint64_t)shown - from_ns);
    return r;
}

static int begin(struct baro_writer *w, int fd, const struct baro_tape *tape, struct baro_error *err)
{
    struct baro_header header;
    rename_header(&w->renamer, &header, baro_tape_header(tape));
    if (w->renamer.options.thinned) {
        header.thinned = w->renamer.options.thinned;
    } else {
        header.task_rules = NULL; /* the copy has the tasks themselves, and may have other commands */
        head_new_id(&header);
    }
    int r = w->renamer.failed ? error_set(err, -ENOMEM, "out of memory") : set_clock(w, tape, &header, err);
    if (r == 0)
        r = tape_writer_new(&w->tape, fd, &header, NULL, err);
    renamer_clear(&w->renamer);
    if (r == 0 && w->renamer.options.thinned) {
        int64_t ahead_ns = 0;
        tape_writer_dense(w->tape);
        r = realtime_ahead(tape, &ahead_ns, err);
        tape_writer_clock(w->tape, ahead_ns);
    }
    if (r == 0)
        r = tape_writer_start(w->tape, err);
    return r;
}

/* path: NULL: the file is fd. */
static int new_writer(struct baro_writer **ret, const char *path, int fd, const struct baro_tape *tape,
                      const struct baro_writer_options *options, struct baro_error *err)
{
    if (options && options->size < offsetof(struct baro_writer_options, force))
        return error_set(err, BARO_E_RANGE, "struct baro_writer_options: its size was not set");
    struct baro_writer *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, -ENOMEM, "out of memory");
    w->file.dir_fd = -1;
    w->renamer.options = take_options(options);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        w->left_out += tape->schema.kind[kind] ? kind_extras(tape->schema.kind[kind]) : 0;
    if (w->renamer.options.thinned && (!path || tape->fd < 0 || fstat(tape->fd, &w->original) < 0)) {
        baro_writer_free(w);
        return error_set(err, BARO_E_RANGE, "a tape in memory has no file that could be replaced");
    }
    if (path)
        fd = create(w, path, err);
    else if ((fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
        fd = error_set(err, -errno, "can't write the tape: %s", strerror(errno));
    int r = fd < 0 ? fd : begin(w, fd, tape, err);
    if (r < 0) {
        if (fd >= 0 && !w->tape)
            close(fd);
        baro_writer_free(w);
        return r;
    }
    w->fd = fd;
    *ret = w;
    return 0;
}

int baro_writer_new(struct baro_writer **ret, const char *path, const struct baro_tape *tape,
                    const struct baro_writer_options *options, struct baro_error *err)
{
    return new_writer(ret, path, -1, tape, options, err);
}

int baro_writer_new_fd(struct baro_writer **ret, int fd, const struct baro_tape *tape,
                       const struct baro_writer_options *options, struct baro_error *err)
{
    return new_writer(ret, NULL, fd, tape, options, err);
}

static int add_sample(struct baro_writer *w, const struct baro_sample *from, struct baro_error *err)
{
    struct baro_sample s;
    rename_sample(&w->renamer, &s, from);
    return w->renamer.failed ? error_set(err, -ENOMEM, "out of memory") : tape_writer_commit(w->tape, &s, err);
}

/* Finds out what failed. Many pending exits or events are written at once, and that may have failed. */
static int what_failed(struct baro_writer *w, struct baro_error *err)
{
    if (w->renamer.failed)
        return error_set(err, -ENOMEM, "out of memory");
    return tape_writer_failing(w->tape) ? tape_writer_commit(w->tape, NULL, err) : 0;
}

static int add(struct baro_writer *w, const struct baro_record *record, struct baro_error *err)
{
    struct baro_exit exit;
    struct baro_limits limits;
    struct baro_event event = {.t_ns = record->t_ns, .kind = BARO_EVENT_WARNING, .text = DAMAGE_SAYS};
    switch (record->kind) {
    case BARO_RECORD_SAMPLE: return add_sample(w, record->u.sample, err);
    case BARO_RECORD_EXIT:
        rename_exit(&w->renamer, &exit, row_exit(record->u.exit));
        tape_writer_exit(w->tape, &exit);
        break;
    case BARO_RECORD_LIMITS:
        rename_limits(&w->renamer, &limits, record->u.limits);
        tape_writer_limits(w->tape, &limits, record->t_ns);
        break;
    case BARO_RECORD_EVENT:
        rename_event(&w->renamer, &event, record->u.event);
        tape_writer_event(w->tape, &event);
        break;
    case BARO_RECORD_DAMAGE: tape_writer_event(w->tape, &event); break;
    default: break;
    }
    return what_failed(w, err);
}

int baro_writer_add(struct baro_writer *w, const struct baro_record *record, struct baro_error *err)
{
    if (w->failed || w->finished)
        return error_set(err, w->failed ? w->failed : BARO_E_RANGE, "the copy can't be added to any more");
    w->failed = add(w, record, err);
    renamer_clear(&w->renamer);
    return w->failed;
}

/* Gives the copy the owner, the mode and the time of the file that it replaces, which must not have become another one,
 * and waits until it is on the disk. */
static int take_place(struct baro_writer *w)
{
    const struct stat *old = &w->original;
    if (!folder_holds(w->file.dir_fd, w->file.name, old))
        return -ESTALE;
    if ((old->st_uid != w->file.file.st_uid || old->st_gid != w->file.file.st_gid) &&
        fchown(w->fd, old->st_uid, old->st_gid) < 0)
        return -errno;
    const struct timespec times[] = {old->st_atim, old->st_mtim};
    return fchmod(w->fd, old->st_mode & 0777) < 0 || futimens(w->fd, times) < 0 || fsync(w->fd) < 0 ? -errno : 0;
}

int baro_writer_finish(struct baro_writer *w, struct baro_error *err)
{
    if (w->failed || w->finished)
        return error_set(err, w->failed ? w->failed : BARO_E_RANGE, "the copy can't be finished");
    int r = tape_writer_finish(w->tape, err);
    if (r < 0)
        return w->failed = r;
    r = w->renamer.options.thinned ? take_place(w) : 0;
    if (r == 0 && w->file.dir_fd >= 0)
        r = tape_file_publish(&w->file, w->fd);
    if (r < 0)
        error_set(err, r, "can't give the tape its name: %s", strerror(-r));
    w->failed = r;
    w->finished = r == 0;
    return r;
}

uint64_t baro_writer_bytes(const struct baro_writer *w)
{
    return tape_writer_bytes(w->tape);
}

size_t baro_writer_left_out(const struct baro_writer *w)
{
    return w->left_out;
}

void baro_writer_free(struct baro_writer *w)
{
    if (!w)
        return;
    if (!w->finished)
        tape_file_remove(&w->file);
    tape_writer_free(w->tape);
    tape_file_done(&w->file);
    renamer_done(&w->renamer);
    free(w);
}
