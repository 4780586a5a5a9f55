/* SPDX-License-Identifier: Apache-2.0 */
/* How each metric is predicted and scaled. What stands here goes into the tape's schema, so it can change freely. */
#include <string.h>

#include "tape/row.h"

static void of_sum(struct column *c, enum predictor p, unsigned n, const uint8_t *terms, unsigned first_minus)
{
    c->predictor = (uint8_t)p;
    c->n_terms = (uint8_t)n;
    for (unsigned i = 0; i < n; i++) {
        c->term[i] = terms[i];
        c->minus[i] = i >= first_minus;
    }
}

static void of_one(struct column *c, enum predictor p, unsigned term)
{
    c->predictor = (uint8_t)p;
    c->n_terms = 1;
    c->term[0] = (uint8_t)term;
}

/* Pages are 4096 bytes at least; smaps_rollup counts KiB; reads and writes come in any size. */
static uint8_t shift_of(enum baro_kind kind, int id)
{
    if (baro_metric_get(kind, id)->unit != BARO_UNIT_BYTES)
        return 0;
    if (kind == BARO_KIND_PROCESS) {
        if (id == PROCESS_pss || id == PROCESS_uss)
            return 10;
        return id == PROCESS_io_rchar || id == PROCESS_io_wchar ? 0 : 12;
    }
    if (kind == BARO_KIND_JOB)
        return id == JOB_io_rchar || id == JOB_io_wchar ? 0 : 12;
    if (kind == BARO_KIND_EXIT)
        return id == EXIT_io_rchar || id == EXIT_io_wchar ? 0 : 10;
    return 12;
}

static void process_columns(struct columns *c)
{
    of_one(&c->at[PROCESS_cpu_user], PREDICT_SHARE, PROCESS_cpu);
    of_sum(&c->at[PROCESS_cpu_system], PREDICT_SUM, 2, (const uint8_t[]){PROCESS_cpu, PROCESS_cpu_user}, 1);
    /* stat counts rss from per-CPU counters that lag (6.2 on), status sums them; VmHWM is made of what status says. */
    static const uint8_t parts[] = {PROCESS_rss_anon, PROCESS_rss_file, PROCESS_rss_shmem};
    of_sum(&c->at[PROCESS_rss_peak], PREDICT_PEAK, 3, parts, 3);
    of_sum(&c->at[PROCESS_uss], PREDICT_SUM, 1, (const uint8_t[]){PROCESS_pss}, 1);
}

static void job_columns(struct columns *c)
{
    of_one(&c->at[JOB_cpu_user], PREDICT_SHARE, JOB_cpu);
    of_sum(&c->at[JOB_cpu_system], PREDICT_SUM, 2, (const uint8_t[]){JOB_cpu, JOB_cpu_user}, 1);
    of_sum(&c->at[JOB_cpu_counted], PREDICT_SUM, 1, (const uint8_t[]){JOB_cpu}, 1);
    of_one(&c->at[JOB_processes_peak], PREDICT_PEAK, JOB_processes);
}

void columns_of_kind(enum baro_kind kind, struct columns *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->n = (unsigned)baro_metric_count(kind);
    for (unsigned i = 0; i < ret->n; i++)
        ret->at[i].shift = shift_of(kind, (int)i);
    if (kind == BARO_KIND_PROCESS)
        process_columns(ret);
    if (kind == BARO_KIND_JOB)
        job_columns(ret);
    if (kind == BARO_KIND_EXIT)
        of_sum(&ret->at[EXIT_cpu_system], PREDICT_SUM, 2, (const uint8_t[]){EXIT_cpu, EXIT_cpu_user}, 1);
    if (kind == BARO_KIND_RECORDER)
        of_one(&ret->at[RECORDER_rss_peak], PREDICT_PEAK, RECORDER_rss);
    for (unsigned i = 0; i < ret->n; i++)
        ret->at[i].falls =
            ret->at[i].predictor != PREDICT_SAME || baro_metric_get(kind, (int)i)->semantics != BARO_SEM_COUNTER;
}
