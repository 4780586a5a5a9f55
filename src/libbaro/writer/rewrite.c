/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a tape from another one. include/baro/writer.h has the rules. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libbaro/sample/row.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/folder.h"
#include "libbaro/tape/header_fields.h"
#include "libbaro/writer/rename.h"
#include "libbaro/writer/writer.h"

#define DAMAGE_SAYS "a damaged part of the tape that this one was copied from is missing here"

struct baro_writer {
    struct tape_writer *tape;
    struct tape_file file;
    int fd; /* the tape writer's */
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

static int begin(struct baro_writer *w, int fd, const struct baro_header *from, struct baro_error *err)
{
    struct baro_header header;
    rename_header(&w->renamer, &header, from);
    header.task_rules = NULL; /* the copy has the tasks themselves, and may have other commands */
    head_new_id(&header);
    int r = w->renamer.failed ? error_set(err, -ENOMEM, "out of memory")
                              : tape_writer_new(&w->tape, fd, &header, NULL, err);
    renamer_clear(&w->renamer);
    if (r == 0)
        r = tape_writer_start(w->tape, err);
    return r;
}

int baro_writer_new(struct baro_writer **ret, const char *path, const struct baro_tape *tape,
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
    int fd = create(w, path, err);
    int r = fd < 0 ? fd : begin(w, fd, baro_tape_header(tape), err);
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

int baro_writer_finish(struct baro_writer *w, struct baro_error *err)
{
    if (w->failed || w->finished)
        return error_set(err, w->failed ? w->failed : BARO_E_RANGE, "the copy can't be finished");
    int r = tape_writer_finish(w->tape, err);
    if (r == 0 && (r = tape_file_publish(&w->file, w->fd)) < 0)
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
