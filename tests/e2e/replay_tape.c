/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_tape SOURCE FOLDER SECONDS SEGMENT [EVERY LAST [BEGAN]]: makes a long recording in a folder of segments, by
 * writing the samples and exits of a tape again and again, with counters, ids and times that go on. A segment has
 * SEGMENT seconds. With EVERY, the segments but those of the last LAST seconds say that they are thinned, and have each
 * EVERY-th sample. The recording began BEGAN seconds ago (default: SECONDS).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "baro/metric.h"
#include "libbaro/sample/copy.h"
#include "libbaro/sample/row.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/header_fields.h"
#include "libbaro/writer/writer.h"

struct record {
    bool is_exit;
    struct baro_sample *sample;
    struct baro_exit exit;
};

static struct record *records;
static size_t n_records;
static const struct baro_sample *first, *last; /* of the source */
static uint32_t ids;                           /* the highest of the source */
static uint64_t turn, length_ns;               /* how often the source was written, and how long it is */

static void check(int code, const char *what)
{
    if (code >= 0)
        return;
    fprintf(stderr, "replay_tape: %s: %s\n", what, strerror(-code));
    exit(1);
}

static char *text(const char *from)
{
    return from ? strdup(from) : NULL;
}

static void read_source(struct baro_tape *tape)
{
    struct baro_record r;
    while (baro_tape_next(tape, &r, NULL) > 0) {
        if (r.kind != BARO_RECORD_SAMPLE && r.kind != BARO_RECORD_EXIT)
            continue;
        records = realloc(records, (n_records + 1) * sizeof(*records));
        struct record *to = &records[n_records++];
        *to = (struct record){.is_exit = r.kind == BARO_RECORD_EXIT};
        if (to->is_exit) {
            if (getenv("NO_EXITS")) {
                n_records--;
                continue;
            }
            to->exit = *row_exit(r.u.exit);
            to->exit.name = text(to->exit.name);
            to->exit.cmdline = text(to->exit.cmdline);
            to->exit.extra = NULL;
            ids = to->exit.id > ids ? to->exit.id : ids;
            continue;
        }
        check(baro_sample_copy(r.u.sample, &to->sample, NULL), "a sample");
        first = first ? first : to->sample;
        last = to->sample;
        for (size_t i = 0; i < last->n; i++)
            ids = last->processes[i]->id > ids ? last->processes[i]->id : ids;
    }
    if (!first || first == last)
        check(-EINVAL, "the source has too few samples");
    length_ns = last->t_ns - first->t_ns + 1000000000u;
}

/* Adds what a counter grows by in a turn. */
static void go_on(int kind, uint64_t *value, const uint8_t *absent, const uint64_t *begin, const uint64_t *end)
{
    for (int i = 0; i < baro_metric_count(kind); i++)
        if (!absent[i] && baro_metric_get(kind, i)->semantics == BARO_SEM_COUNTER && end[i] >= begin[i])
            value[i] += turn * (end[i] - begin[i]);
}

/* The rows of processes in the first and the last sample, by id; NULL: it is not in both. */
static const struct baro_process **in_first, **in_last;

static const struct baro_process **by_ids(const struct baro_sample *s)
{
    const struct baro_process **at = calloc(ids + 1, sizeof(struct baro_process *));
    for (size_t i = 0; i < s->n; i++)
        at[s->processes[i]->id] = s->processes[i];
    return at;
}

static int by_id(const void *a, const void *b)
{
    const struct baro_process *x = *(struct baro_process *const *)a, *y = *(struct baro_process *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void write_sample(struct tape_writer *w, const struct baro_sample *from, uint64_t shift_ns)
{
    struct baro_sample s = *from;
    struct baro_process *rows = calloc(from->n + 1, sizeof(*rows)), **list = calloc(from->n + 1, sizeof(*list));
    struct baro_entity *entities[KIND_COUNT] = {0}, **lists[KIND_COUNT] = {0};
    s.t_ns += shift_ns;
    s.host_ns += shift_ns;
    s.moved = NULL;
    s.n_declared = 0;
    s.job_extra = s.self_extra = s.host_extra = NULL;
    go_on(BARO_KIND_JOB, s.job, s.job_absent, first->job, last->job);
    go_on(BARO_KIND_RECORDER, s.self, s.self_absent, first->self, last->self);
    go_on(BARO_KIND_HOST, s.host, s.host_absent, first->host, last->host);
    for (size_t i = 0; i < s.n; i++) {
        const struct baro_process *a = in_first[from->processes[i]->id];
        const struct baro_process *b = in_last[from->processes[i]->id];
        rows[i] = *from->processes[i];
        list[i] = &rows[i];
        rows[i].extra = NULL;
        rows[i].read_ns += shift_ns;
        if (a && b) {
            go_on(BARO_KIND_PROCESS, rows[i].value, rows[i].absent, a->value, b->value);
        } else {
            rows[i].id += (uint32_t)turn * ids;
            rows[i].key.start += turn * length_ns / 10000000;
            rows[i].first_ns += shift_ns;
        }
    }
    if (s.n)
        qsort(list, s.n, sizeof(*list), by_id);
    s.processes = list;
    for (int kind = BARO_KIND_CPU; kind < KIND_COUNT; kind++) {
        size_t n = s.entities[kind].n;
        if (!n)
            continue;
        entities[kind] = calloc(n, sizeof(**entities));
        lists[kind] = calloc(n, sizeof(**lists));
        for (size_t i = 0; i < n; i++) {
            struct baro_entity *e = &entities[kind][i];
            *e = *s.entities[kind].at[i];
            size_t size = (size_t)baro_metric_count(kind) * sizeof(*e->value);
            e->value = memcpy(malloc(size), e->value, size);
            e->extra = NULL;
            lists[kind][i] = e;
            if (first->entities[kind].n == n && last->entities[kind].n == n)
                go_on(kind, e->value, e->absent, first->entities[kind].at[i]->value, last->entities[kind].at[i]->value);
        }
        s.entities[kind].at = lists[kind];
        s.entities[kind].read_ns += shift_ns;
    }
    check(tape_writer_commit(w, &s, NULL), "a sample");
    for (int kind = BARO_KIND_CPU; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; entities[kind] && i < s.entities[kind].n; i++)
            free(entities[kind][i].value);
        free(entities[kind]);
        free(lists[kind]);
    }
    free(rows);
    free(list);
}

static void write_exit(struct tape_writer *w, const struct baro_exit *from, uint64_t shift_ns)
{
    struct baro_exit e = *from;
    e.t_ns += shift_ns;
    e.id += (uint32_t)turn * ids;
    e.key.start += turn * length_ns / 10000000;
    tape_writer_exit(w, &e);
}

static int new_segment(const char *folder, uint32_t number)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/%06u.baro", folder, number);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    check(fd < 0 ? -errno : 0, path);
    return fd;
}

int main(int argc, char **argv)
{
    struct baro_tape *tape;
    struct tape_writer *w;
    if (argc < 5)
        check(-EINVAL, "SOURCE FOLDER SECONDS SEGMENT [EVERY LAST [BEGAN]]");
    uint64_t total_ns = strtoull(argv[3], NULL, 10) * NS_PER_SEC, segment_ns = strtoull(argv[4], NULL, 10) * NS_PER_SEC;
    uint64_t every = argc > 6 ? strtoull(argv[5], NULL, 10) : 1,
             last_ns = argc > 6 ? strtoull(argv[6], NULL, 10) * NS_PER_SEC : 0;
    uint64_t began_ns = argc > 7 ? strtoull(argv[7], NULL, 10) * NS_PER_SEC : total_ns;
    check(baro_tape_open(&tape, argv[1], NULL), argv[1]);
    check(mkdir(argv[2], 0700) < 0 ? -errno : 0, argv[2]);
    read_source(tape);
    in_first = by_ids(first);
    in_last = by_ids(last);
    struct baro_header h = *baro_tape_header(tape);
    head_new_id(&h);
    h.task_rules = NULL;
    h.segment = 1;
    h.keep_ns = total_ns;
    h.thinned = every > 1 ? (uint32_t)every : 0;
    h.start_realtime_ns = clock_realtime_ns() - (int64_t)began_ns;
    check(tape_writer_new(&w, new_segment(argv[2], 1), &h, NULL, NULL), "the writer");
    if (h.thinned)
        tape_writer_dense(w);
    uint64_t t_ns = 0, next_ns = segment_ns, count = 0;
    for (turn = 0; t_ns < total_ns; turn++) {
        uint64_t shift_ns = turn * length_ns;
        for (size_t i = 0; i < n_records && t_ns < total_ns; i++) {
            const struct record *r = &records[i];
            if (r->is_exit) {
                write_exit(w, &r->exit, shift_ns);
                continue;
            }
            t_ns = r->sample->t_ns + shift_ns;
            if (h.thinned && count++ % every)
                continue;
            write_sample(w, r->sample, shift_ns);
            if (t_ns < next_ns)
                continue;
            next_ns += segment_ns;
            h.segment++;
            h.thinned = every > 1 && t_ns + last_ns < total_ns ? (uint32_t)every : 0;
            check(tape_writer_next(w, new_segment(argv[2], h.segment), &h, NULL), "a segment");
        }
    }
    check(tape_writer_finish(w, NULL), "the end");
    tape_writer_free(w);
    baro_tape_close(tape);
    return 0;
}
