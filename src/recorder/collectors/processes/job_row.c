/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/job_row.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void job_row_init(struct job_row *r, struct sampling *sampling, const struct memory *memory, struct group_job *group,
                  const struct socket_row *sockets)
{
    *r = (struct job_row){.sampling = sampling, .memory = memory, .group = group, .sockets = sockets};
}

void job_row_lossy(struct job_row *r)
{
    r->lossy_now = true;
}

/* How many rows have left the list so far. */
static uint64_t removals(const struct job_row *r)
{
    const struct job *job = r->sampling->job;
    return job->tree.removals + job->others.changes + r->changes;
}

bool job_row_is_stirred(const struct job_row *r)
{
    const struct job *job = r->sampling->job;
    const struct tree *tree = &job->tree;
    const struct baro_sample *sample = &r->sampling->sample;
    return job->settling.n_gone || removals(r) != sample->removals || tree->n - job->others.listed != sample->n ||
           tree_next_moved(tree, 0) < tree->n;
}

bool job_row_any_moved(const struct job_row *r)
{
    const struct baro_sample *sample = &r->sampling->sample;
    if (group_job_is_counted(r->group))
        return r->group->grew || r->others;
    for (size_t i = 0; sample->moved && i < (sample->n + 63) / 64; i++) {
        if (sample->moved[i])
            return true;
    }
    return !sample->moved;
}

const struct baro_sample *job_row_repeat(struct job_row *r, uint64_t t_ns)
{
    struct baro_sample *sample = &r->sampling->sample;
    const struct job *job = r->sampling->job;
    if (job->settling.n_gone || removals(r) != sample->removals || job->tree.n - job->others.listed < sample->n ||
        !sample->moved || t_ns <= sample->t_ns)
        return NULL;
    memset(r->moved, 0, (sample->n + 63) / 64 * sizeof(*r->moved));
    sample->processes = job->others.listed ? r->rows : job->tree.rows;
    sample->t_ns = t_ns;
    sample->lossy = false;
    return sample;
}

/* Members that belong to another recording, and, of a machine, those that have just begun. */
static bool is_left_out(const struct member *m)
{
    return m->other.is || m->reading.is_brief;
}

/* A process may end, and its exit be reported, between the reading of it and the sample. */
static void mark_rows(struct tree *tree)
{
    for (size_t i = tree_next_moved(tree, 0); i < tree->n; i = tree_next_moved(tree, i + 1))
        tree->at[i]->reading.in_sample |=
            !is_left_out(tree->at[i]) && tree->at[i]->row.absent[PROCESS_cpu] == BARO_PRESENT;
}

/* If out of memory, sample->moved is NULL: all members may have changed. */
static void fill_moved(struct job_row *r)
{
    struct tree *tree = &r->sampling->job->tree;
    struct baro_sample *sample = &r->sampling->sample;
    size_t words = (tree->n + 63) / 64;
    if (words > r->cap_moved) {
        uint64_t *grown = realloc(r->moved, 2 * words * sizeof(*grown));
        r->moved = grown ? grown : r->moved;
        r->cap_moved = grown ? 2 * words : r->cap_moved;
    }
    sample->moved = words <= r->cap_moved ? r->moved : NULL;
    r->changes += r->left_out; /* those that were left out may be in this one, and not at its end */
    sample->removals = removals(r);
    if (sample->moved && words)
        memcpy(r->moved, tree->moved, words * sizeof(*r->moved));
}

static void leave_out_some(struct job_row *r)
{
    const struct tree *tree = &r->sampling->job->tree;
    struct baro_sample *sample = &r->sampling->sample;
    size_t n = 0;
    r->left_out = false;
    if ((!r->sampling->job->others.listed && !r->sampling->job->whole) ||
        array_reserve(&r->rows, tree->n, &r->cap_rows, sizeof(*r->rows)) < 0)
        return;
    if (sample->moved)
        memset(r->moved, 0, (tree->n + 63) / 64 * sizeof(*r->moved));
    for (size_t i = 0; i < tree->n; i++) {
        r->left_out |= tree->at[i]->reading.is_brief;
        if (is_left_out(tree->at[i]))
            continue;
        if (sample->moved)
            r->moved[n / 64] |= (tree->moved[i / 64] >> i % 64 & 1) << n % 64;
        r->rows[n++] = tree->rows[i];
    }
    sample->processes = r->rows;
    sample->n = n;
}

static void fill_rows(struct job_row *r)
{
    struct job *job = r->sampling->job;
    struct baro_sample *sample = &r->sampling->sample;
    sample->n = tree_compact(&job->tree);
    sample->processes = job->tree.rows;
    fill_moved(r);
    leave_out_some(r);
    mark_rows(&job->tree);
    tree_clear_moved(&job->tree);
}

static bool tick_job(void *state, const struct collector_tick *t)
{
    struct job_row *r = state;
    struct job *job = r->sampling->job;
    struct baro_sample *sample = t->sample;
    sample->t_ns = t->now_ns;
    size_t n = sample->n;
    r->others = removals(r) != sample->removals;
    sample->lossy = r->lossy_now;
    r->lossy += r->lossy_now;
    r->lossy_now = false;
    group_job_count(r->group);
    job_totals(job, sample->job, sample->job_absent);
    sample->job[JOB_pss_stale] = memory_stale(r->memory, &sample->job_absent[JOB_pss_stale]);
    socket_row_fill(r->sockets, sample);
    fill_rows(r);
    r->others |= sample->n != n;
    if (r->sampling->options.host_alone) {
        memset(sample->job, 0, sizeof(sample->job));
        memset(sample->job_absent, BARO_ABSENT_NOT_ASKED, sizeof(sample->job_absent));
    }
    return true;
}

static bool job_is_quiet(void *state, uint64_t now_ns)
{
    const struct job_row *r = state;
    (void)now_ns;
    return !job_row_is_stirred(r) && (!r->group->is_on || group_job_is_quiet(r->group));
}

static void close_job(void *state)
{
    struct job_row *r = state;
    group_job_done(r->group);
    free(r->moved);
    free(r->rows);
    r->moved = NULL;
    r->rows = NULL;
}

const struct collector job_collector = {
    .name = "job",
    .kinds = COLLECTOR_KIND(BARO_KIND_JOB),
    .tick = tick_job,
    .is_quiet = job_is_quiet,
    .close = close_job,
};
