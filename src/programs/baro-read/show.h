/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `baro show` share: the sample that is shown, and its two forms. */
#ifndef PROGRAMS_BARO_READ_SHOW_H
#define PROGRAMS_BARO_READ_SHOW_H

#include "output/rows/csv_json.h"
#include "programs/baro-read/show_phases.h"
#include "programs/common/moment.h"
#include "programs/common/tape_args.h"

/* Ids of the process metrics that the table shows, and of the job's. */
struct show_metrics {
    int state, cpu, rss, pss, uss, threads, fds, tcp_sent, tcp_received;
    int job_cpu, job_cpu_bound, job_processes, job_pss_stale, job_tcp_sent, job_tcp_received, job_tcp_is_bound;
};

struct show {
    struct cli *cli;
    const struct settings *settings;
    struct baro_tape *tape;
    const char *path;
    struct baro_previous *memory, *of_tasks; /* apart: ids of entities are those of processes, too */
    struct baro_sample *gpus_before;         /* NULL: there was no reading of GPUs before */
    uint64_t before_ns;                      /* the sample that rates are computed from; UINT64_MAX: none */
    int64_t asked_ns;
    uint64_t tolerance_ns; /* a sample up to this much later is the requested one */
    bool asked;
    long zone;                  /* seconds east of UTC */
    struct show_metrics metric; /* their ids */
    struct show_phases phases;
    bool any_not_known, any_name; /* in the table: marks that a legend explains */
    struct baro_error err;
};

/* How much later than the requested moment the sample is; negative: earlier. 0 also if the moment was given less
 * exactly than the sample's time. */
int64_t show_off_by(const struct show *w, const struct baro_record *record);
/* Did the sample have processes? Zombies are in a sample, but do not count. */
bool show_has_processes(const struct show *w, const struct baro_sample *s);
/* show_text.c, show_json.c: add the sample to b. Return 0 or a negative code. */
int show_text(struct show *w, const struct baro_record *record, struct buf *b);
int show_json(struct show *w, const struct baro_record *record, struct buf *b);

#endif
