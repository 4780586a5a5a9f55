/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of tapes: a log of what was written, and comparing it with what is read. */
#ifndef TESTS_TAPE_FILE_H
#define TESTS_TAPE_FILE_H

#include <fcntl.h>
#include <unistd.h>

#include "tapes.h"
#include "libbaro/builder/builder.h"
#include "libbaro/sample/row.h"
#include "libbaro/summary/summary.h"
#include "libbaro/tape/create.h"
#include "libbaro/writer/writer.h"
#include "tape_world.h"

struct item {
    enum baro_record_kind kind;
    struct snapshot whole, no_cmdline;
    uint64_t t_ns, end; /* end: of the tape when it was acknowledged */
};

struct log {
    struct item *at;
    size_t n, cap;
};

static inline struct item *log_add(struct log *l, enum baro_record_kind kind, uint64_t t_ns)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 1024;
        l->at = realloc(l->at, l->cap * sizeof *l->at);
        assert_non_null(l->at);
    }
    l->at[l->n] = (struct item){.kind = kind, .t_ns = t_ns};
    return &l->at[l->n++];
}

static inline void log_free(struct log *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i].whole.at);
        free(l->at[i].no_cmdline.at);
    }
    free(l->at);
}

static inline void log_sample(struct log *l, const struct baro_sample *s, uint64_t end)
{
    struct item *item = log_add(l, BARO_RECORD_SAMPLE, s->t_ns);
    item->whole = snapshot_sample(s, true);
    item->no_cmdline = snapshot_sample(s, false);
    item->end = end;
}

static inline struct tape_writer *tape_with(const char *path, const struct baro_header *h, const struct tape_io *io)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct tape_writer *w;
    unlink(path);
    int fd = tape_create(path, &err);
    assert_true(fd >= 0);
    assert_int_equal(tape_writer_new(&w, fd, h, io, &err), 0);
    return w;
}

static inline struct tape_writer *tape_begun(const char *path, const struct baro_header *h)
{
    return tape_with(path, h, NULL);
}

static inline struct tape_writer *new_tape(const char *path, const struct tape_io *io)
{
    static char *argv[] = {"make", "-j8", NULL};
    struct baro_header h = {.version = "0.1.0", .host = "h", .clk_tck = 100, .wanted = UINT32_MAX, .argv = argv};
    return tape_with(path, &h, io);
}

static inline void tape_add(struct tape_writer *w, const struct baro_sample *s)
{
    assert_int_equal(tape_writer_commit(w, s, NULL), 0);
}

static inline void tape_ended(struct tape_writer *w)
{
    assert_int_equal(tape_writer_finish(w, NULL), 0);
    tape_writer_free(w);
}

static inline unsigned char *slurp(const char *name, size_t *ret_len)
{
    int fd = open(name, O_RDONLY);
    *ret_len = (size_t)lseek(fd, 0, SEEK_END);
    unsigned char *at = malloc(*ret_len + 1);
    assert_int_equal(pread(fd, at, *ret_len, 0), *ret_len);
    close(fd);
    return at;
}

static inline bool same_as(const struct item *item, const struct baro_record *r, bool with_cmdline)
{
    struct snapshot s = {0};
    if (r->kind != item->kind || r->t_ns != item->t_ns)
        return false;
    if (r->kind == BARO_RECORD_SAMPLE)
        s = snapshot_sample(r->u.sample, with_cmdline);
    else if (r->kind == BARO_RECORD_EXIT)
        s = snapshot_exit(row_exit(r->u.exit));
    else
        s = snapshot_event(r->u.event);
    bool same = snapshot_equal(&s, with_cmdline || r->kind != BARO_RECORD_SAMPLE ? &item->whole : &item->no_cmdline);
    free(s.at);
    return same;
}

/* The summary of a whole tape, to be freed with summary_free(). */
static inline struct baro_summary *summary_of_file(const char *path)
{
    struct baro_tape *tape = tape_opened(path);
    struct baro_fold *fold;
    assert_int_equal(baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, NULL), 0);
    baro_tape_close(tape); /* the summary does not need it any more */
    struct baro_summary *summary = fold->summary;
    fold->summary = NULL;
    baro_fold_free(fold);
    return summary;
}

#endif
