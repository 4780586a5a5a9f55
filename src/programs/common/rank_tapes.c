/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/rank_tapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baro/fold.h"
#include "base/error.h"
#include "output/rows/escaped.h"
#include "output/text/read_fact.h"

#define KEY_SIZE 256u

/* What ranks of one job have in common. Without a job's id that is how many there are, and the machine's name tells
 * nothing. */
static void put_key(const struct baro_header *h, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "%s.%s.%llu", baro_header_job_id(h), report_header(h, "step_id").text,
             (unsigned long long)report_header(h, "ranks").u64);
}

static void note(struct rank_tapes *t, const char *path, const char *why)
{
    text_escaped(&t->notes, path, strlen(path));
    buf_str(&t->notes, why);
    buf_byte(&t->notes, '\n');
}

/* Says why these are not ranks of one job, in place of all other notes. */
static void note_other(struct rank_tapes *t, const char *path, const struct baro_header *h)
{
    buf_clear(&t->notes);
    text_escaped(&t->notes, path, strlen(path));
    buf_str(&t->notes, " is a rank of another job than those before it (");
    text_escaped(&t->notes, baro_header_job_id(h), strlen(baro_header_job_id(h)));
    buf_printf(&t->notes, " step '");
    text_escaped(&t->notes, report_header(h, "step_id").text, strlen(report_header(h, "step_id").text));
    buf_printf(&t->notes, "', %llu ranks): name the tapes of one job\n",
               (unsigned long long)report_header(h, "ranks").u64);
}

/* Reads the header of a tape. Returns 1 if it is a rank of the job with this key, which the first one sets; 0 if not.
 */
static int take(struct rank_tapes *t, const char *path, char key[KEY_SIZE])
{
    struct baro_tape *tape;
    struct baro_error err = BARO_ERROR_INIT;
    char own[KEY_SIZE];
    if (baro_tape_open(&tape, path, &err) < 0) {
        buf_str(&t->notes, "not read: ");
        note(t, err.text, "");
        return 1;
    }
    const struct baro_header *h = baro_tape_header(tape);
    struct rank_tape one = {.path = path,
                            .attempt = (uint32_t)report_header(h, "attempt").u64,
                            .start_ns = baro_header_start_realtime_ns(h)};
    uint32_t ranks = (uint32_t)report_header(h, "ranks").u64;
    bool is_rank = ranks_number(report_header(h, "rank").text, &one.rank) && ranks != 1;
    put_key(h, own);
    bool is_other = is_rank && *key && strcmp(key, own) != 0;
    if (!is_rank)
        buf_clear(&t->notes);
    if (is_other)
        note_other(t, path, h);
    baro_tape_close(tape);
    if (!is_rank || is_other)
        return 0;
    memcpy(key, own, KEY_SIZE);
    t->ranks = ranks;
    t->at[t->n++] = one;
    return 1;
}

static int by_rank(const void *a, const void *b)
{
    const struct rank_tape *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? 1 : -1;
    return (x->start_ns < y->start_ns) - (x->start_ns > y->start_ns);
}

/* Keeps the first tape of each rank. */
static void drop_doubles(struct rank_tapes *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (kept && t->at[kept - 1].rank == t->at[i].rank)
            note(t, t->at[i].path, ": an earlier tape of the same rank, not counted");
        else
            t->at[kept++] = t->at[i];
    }
    t->n = kept;
}

int rank_tapes_find(const struct tape_list *list, bool alone, struct rank_tapes *ret, struct baro_error *err)
{
    char key[KEY_SIZE] = "";
    *ret = (struct rank_tapes){.at = calloc(list->n ? list->n : 1, sizeof(*ret->at))};
    if (!ret->at)
        return error_set(err, -ENOMEM, "out of memory");
    if (alone && list->n == 1)
        ret->at[ret->n++] = (struct rank_tape){.path = list->at[0].path};
    if (list->n < 2)
        return ret->n > 0;
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i].is_unread)
            note(ret, list->at[i].reason.text, "");
        else if (!take(ret, list->at[i].path, key))
            return 0;
    }
    if (ret->n < 2) {
        buf_clear(&ret->notes);
        return 0;
    }
    qsort(ret->at, ret->n, sizeof(*ret->at), by_rank);
    drop_doubles(ret);
    return 1;
}

void rank_tapes_done(struct rank_tapes *t)
{
    free(t->at);
    buf_done(&t->notes);
}

static int read_one(const struct rank_tape *one, enum baro_fold_part most, struct ranks *ret, struct baro_error *err)
{
    struct baro_tape *tape;
    struct baro_fold *fold = NULL;
    int code = baro_tape_open(&tape, one->path, err);
    if (code < 0)
        return code;
    code = baro_fold_of_tape(tape, most, &fold, err);
    if (code >= 0)
        code = ranks_add(ret, one->path, baro_tape_header(tape), fold, err);
    baro_fold_free(fold);
    baro_tape_close(tape);
    return code;
}

int rank_tapes_read(const struct rank_tapes *t, enum baro_fold_part most, struct ranks *ret, struct baro_error *err)
{
    int code = ranks_begin(ret, err);
    for (size_t i = 0; i < t->n && code >= 0; i++)
        code = read_one(&t->at[i], most, ret, err);
    return code < 0 ? code : ranks_finish(ret, err);
}
