/* SPDX-License-Identifier: Apache-2.0 */
/* Instants of a tape: the one before, the ones around a time, the first and the last. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "libbaro/sample/copy.h"
#include "libbaro/tape/cursor.h"

static int next_sample(struct baro_tape *t, struct baro_record *ret, struct baro_error *err)
{
    int r;
    while ((r = baro_tape_next(t, ret, err)) > 0) {
        if (ret->kind == BARO_RECORD_SAMPLE)
            return 1;
    }
    return r;
}

int baro_tape_previous(struct baro_tape *t, struct baro_record *ret, struct baro_error *err)
{
    uint64_t now_ns = t->sample_ns;
    memset(ret, 0, sizeof *ret);
    if (!t->sample_given || now_ns == 0)
        return 0;
    int r = baro_tape_seek(t, now_ns - 1, ret, err);
    return r > 0 && ret->t_ns >= now_ns ? 0 : r;
}

/* Reads the sample after `before`, and makes the interpolated sample or takes the nearer one of the two. `before` is
 * a copy, which the function frees or returns. Sets *ret only if it returns 1. */
static int between(struct baro_tape *t, uint64_t t_ns, enum baro_at how, struct baro_sample *before,
                   struct baro_sample **ret, struct baro_error *err)
{
    struct baro_record after;
    struct baro_sample *found = before;
    int r = next_sample(t, &after, err);
    if (r == 0 && how == BARO_AT_NEAREST)
        r = 1;
    else if (r > 0 && how == BARO_AT_INTERPOLATE)
        r = sample_interpolate(before, after.u.sample, t_ns, &found, err);
    else if (r > 0 && after.t_ns - t_ns < t_ns - before->t_ns)
        r = baro_sample_copy(after.u.sample, &found, err) < 0 ? -ENOMEM : 1;
    if (r > 0)
        *ret = found;
    if (r <= 0 || found != before)
        baro_sample_free(before);
    return r;
}

int baro_tape_at(struct baro_tape *t, uint64_t t_ns, enum baro_at how, struct baro_sample **ret, struct baro_error *err)
{
    struct baro_record record;
    struct baro_sample *copy;
    int r = baro_tape_seek(t, t_ns, &record, err);
    if (r <= 0)
        return r;
    if (record.t_ns < t_ns && how == BARO_AT_EXACT)
        return 0;
    if (record.t_ns < t_ns && how == BARO_AT_AFTER && (r = next_sample(t, &record, err)) <= 0)
        return r;
    if (record.t_ns > t_ns && how != BARO_AT_AFTER && how != BARO_AT_NEAREST)
        return 0;
    r = baro_sample_copy(record.u.sample, &copy, err);
    if (r < 0)
        return r;
    if (record.t_ns < t_ns && (how == BARO_AT_NEAREST || how == BARO_AT_INTERPOLATE))
        return between(t, t_ns, how, copy, ret, err);
    *ret = copy;
    return 1;
}

int baro_tape_range(struct baro_tape *t, uint64_t *ret_first_ns, uint64_t *ret_last_ns, struct baro_error *err)
{
    struct baro_tape *other;
    struct baro_record record;
    int r = tape_open_again(&other, t, PART_EVENTS, err);
    if (r < 0)
        return r;
    r = next_sample(other, &record, err);
    uint64_t first_ns = record.t_ns;
    if (r > 0)
        r = baro_tape_seek(other, UINT64_MAX, &record, err);
    if (r > 0) {
        *ret_first_ns = first_ns;
        *ret_last_ns = record.t_ns;
    }
    baro_tape_close(other);
    return r;
}

/* Each block declares all kinds that were declared before, so the last block has all of them. */
int baro_tape_read_kinds(struct baro_tape *t, struct baro_error *err)
{
    struct baro_tape *other;
    struct baro_record record;
    int r = tape_open_again(&other, t, PART_ALL, err);
    if (r < 0)
        return r;
    r = baro_tape_seek(other, UINT64_MAX, &record, err);
    if (r > 0 && (r = schema_learn(&t->schema, &other->schema)) < 0)
        error_set(err, r, "out of memory");
    baro_tape_close(other);
    return r < 0 ? r : 0;
}
