/* SPDX-License-Identifier: Apache-2.0 */
/* All readers of tapes: the calls of libbaro and the commands of baro. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "baro/baro.h"
#include "mutate.h"
#include "touch.h"

int baro_main(int argc, char **argv); /* main() of baro, by another name */

/* ---- libbaro ---- */
static int walk(const char *path)
{
    struct baro_tape *t;
    struct baro_record r;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    uint64_t sum = touch_front(t);
    while (baro_tape_next(t, &r, NULL) == 1)
        sum += touch_record(t, &r);
    sum += touch_arrow(t);
    sum += baro_tape_damage(t) + baro_tape_complete(t) + (uint64_t)baro_tape_state(t);
    (void)sum;
    baro_tape_close(t);
    return 0;
}

static int walk_whole(struct baro_tape *t)
{
    struct baro_record r;
    uint64_t sum = touch_front(t);
    while (baro_tape_next(t, &r, NULL) == 1)
        sum += touch_record(t, &r);
    (void)sum;
    bool whole = baro_tape_complete(t) && baro_tape_damage(t) == 0;
    baro_tape_close(t);
    return whole ? 0 : 5;
}

static void look_at(struct baro_tape *t, uint64_t t_ns)
{
    struct baro_record r;
    for (int how = BARO_AT_EXACT; how <= BARO_AT_INTERPOLATE; how++) {
        struct baro_sample *s, *copy;
        if (baro_tape_at(t, t_ns, (enum baro_at)how, &s, NULL) != 1)
            continue;
        touch_sample(t, s);
        if (baro_sample_copy(s, &copy, NULL) == 0)
            baro_sample_free(copy);
        baro_sample_free(s);
    }
    if (baro_tape_seek(t, t_ns, &r, NULL) == 1)
        touch_record(t, &r);
    for (int i = 0; i < 3 && baro_tape_previous(t, &r, NULL) == 1; i++)
        touch_record(t, &r);
    for (int i = 0; i < 3 && baro_tape_next(t, &r, NULL) == 1; i++)
        touch_record(t, &r);
}

static int moments(const char *path)
{
    struct baro_tape *t;
    struct baro_record r;
    uint64_t first = 0, last = 0;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    if (baro_tape_range(t, &first, &last, NULL) == 1) {
        look_at(t, first / 2 + last / 2);
        look_at(t, last);
        look_at(t, first);
    }
    if (baro_tape_seek(t, UINT64_MAX, &r, NULL) == 1)
        touch_record(t, &r);
    baro_tape_rewind(t, NULL);
    for (int i = 0; i < 5; i++)
        baro_tape_next(t, &r, NULL);
    baro_tape_previous(t, &r, NULL);
    baro_tape_close(t);
    return 0;
}

static void add_curves(struct baro_series *s, const struct baro_tape *t)
{
    for (int kind = 0; kind < baro_tape_kind_count(t); kind++)
        for (int metric = 0; metric < baro_tape_metric_count(t, kind) && metric < 3; metric++) {
            baro_series_add_value(s, kind, 0, NULL, metric, NULL);
            baro_series_add_rate(s, kind, (uint32_t)metric, NULL, metric, NULL);
        }
    baro_series_add_rate(s, BARO_KIND_PROCESS, 0, "sh", 0, NULL);
}

static int series(const char *path)
{
    struct baro_tape *t;
    uint64_t first = 0, last = 0;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    if (baro_tape_range(t, &first, &last, NULL) == 1) {
        const uint64_t ends[][2] = {{first, last}, {0, UINT64_MAX}};
        for (size_t i = 0; i < 2; i++) {
            struct baro_series *s;
            if (baro_series_new(&s, ends[i][0], ends[i][1], 50, NULL) < 0)
                continue;
            add_curves(s, t);
            baro_series_read(s, t, NULL);
            baro_series_bucket(s, 0, 49);
            baro_series_free(s);
        }
    }
    baro_tape_close(t);
    return 0;
}

static int drop(void *context, const char *text, size_t len)
{
    *(size_t *)context += len ? (unsigned char)*text : 0;
    return 0;
}

static int summary(const char *path)
{
    struct baro_tape *t;
    struct baro_fold *fold;
    size_t sum = 0;
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    if (baro_fold_of_tape(t, BARO_FOLD_SUMMARY, &fold, NULL) == 0) {
        const struct baro_summary *s = baro_fold_summary(fold);
        baro_summary_json(s, "mutant", drop, &sum, NULL);
        for (int f = 0; f < baro_summary_fact_count(); f++) {
            for (size_t row = 0; row < baro_summary_rows(s, baro_summary_fact(f)->section); row++) {
                struct baro_value v;
                if (baro_summary_value(s, f, row, &v) == BARO_PRESENT)
                    sum += v.u64 + (v.text ? strlen(v.text) : 0);
            }
        }
        baro_fold_free(fold);
    }
    baro_tape_close(t);
    return 0;
}

static const char *shorter(void *context, const struct baro_text *t)
{
    (void)context;
    return t->what == BARO_TEXT_JSON ? "[]" : t->text + (strlen(t->text) > 3);
}

static uint32_t next_uid(void *context, uint32_t uid)
{
    (void)context;
    return uid + 1;
}

/* Another tape of it, without each seventh record; with the kinds of all of the tape while its beginning is read. A
 * copy of what could be read has to be a tape without damage. */
static int copy(const char *path)
{
    struct baro_tape *t;
    struct baro_writer *w;
    struct baro_record r;
    struct baro_writer_options options = BARO_WRITER_OPTIONS_INIT;
    char to[PATH_MAX];
    int bad = 0;
    options.force = true;
    options.text = shorter;
    options.uid = next_uid;
    snprintf(to, sizeof to, "%s.copy", path);
    if (baro_tape_open(&t, path, NULL) < 0)
        return 0;
    baro_tape_read_kinds(t, NULL);
    if (baro_writer_new(&w, to, t, &options, NULL) == 0) {
        int code = 0;
        for (size_t i = 0; code == 0 && baro_tape_next(t, &r, NULL) == 1; i++)
            code = i % 7 ? baro_writer_add(w, &r, NULL) : 0;
        if (code == 0)
            code = baro_writer_finish(w, NULL);
        baro_writer_free(w);
        struct baro_tape *made;
        if (code == 0 && (baro_tape_open(&made, to, NULL) < 0 || (bad = walk_whole(made))))
            bad = 5;
        unlink(to);
    }
    baro_tape_close(t);
    return bad;
}

/* ---- commands ---- */
enum { WORDS = 8 };
/* clang-format off */
static const struct {
    const char *name;
    int (*function)(const char *path);
    const char *words[WORDS]; /* arguments of a command, the tape's path after them */
} readers[] = {
    {"cursor", walk, {NULL}},
    {"seek and at", moments, {NULL}},
    {"series", series, {NULL}},
    {"summary of libbaro", summary, {NULL}},
    {"copy", copy, {NULL}},
    {"summary", NULL, {"summary"}},
    {"summary --json", NULL, {"summary", "--json"}},
    {"summary --by step", NULL, {"summary", "--by", "step", "--verbose"}},
    {"summary --by step --json", NULL, {"summary", "--by", "step", "--json"}},
    {"summary --by command", NULL, {"summary", "--by", "command"}},
    {"summary --by service of a stretch", NULL, {"summary", "--by", "service", "--from", "20%", "--to", "80%"}},
    {"summary --json of a stretch", NULL, {"summary", "--json", "--from", "50%"}},
    {"show", NULL, {"show"}},
    {"show --json", NULL, {"show", "--json"}},
    {"show --at 50%", NULL, {"show", "--at", "50%", "--pick", "nearest"}},
    {"show --at peak", NULL, {"show", "--at", "peak", "-n", "3"}},
#define EXPORT(entity) \
    {"export -e " entity, NULL, {"export", "-e", entity}}, \
    {"export -F jsonl -e " entity, NULL, {"export", "-F", "jsonl", "-e", entity}}
    EXPORT("process"), EXPORT("job"), EXPORT("event"), EXPORT("exit"), EXPORT("host"), EXPORT("cpu"), EXPORT("disk"),
        EXPORT("fs"),
    EXPORT("net"), EXPORT("sensor"), EXPORT("cgroup"),
    {"export -d spare-cores", NULL, {"export", "-d", "spare-cores"}},
    {"export -d spare-cores -e host", NULL, {"export", "-d", "spare-cores", "-e", "host"}},
    {"export -d spare-cores-mended", NULL, {"export", "-d", "spare-cores-mended"}},
    {"export -d spare-cores-mended -e host", NULL, {"export", "-d", "spare-cores-mended", "-e", "host"}},
    {"export -d pytyche-cpu", NULL, {"export", "-d", "pytyche-cpu"}},
    {"ls --json", NULL, {"ls", "--json", ""}}, /* "": without the path; it lists the folder */
    {"ls", NULL, {"ls", ""}},
};
/* clang-format on */

size_t readers_count(void)
{
    return sizeof(readers) / sizeof(*readers);
}

const char *reader_name(size_t i)
{
    return readers[i].name;
}

int reader_run(size_t i, const char *path)
{
    char program[] = "baro", *argv[WORDS + 3] = {program};
    int argc = 1;
    bool with_path = true;
    if (readers[i].function)
        return readers[i].function(path);
    for (size_t k = 0; k < WORDS && readers[i].words[k]; k++) {
        with_path = *readers[i].words[k];
        if (with_path)
            argv[argc++] = (char *)readers[i].words[k];
    }
    if (with_path)
        argv[argc++] = (char *)path;
    int status = baro_main(argc, argv);
    return status >= 0 && status <= 2 ? 0 : status;
}
