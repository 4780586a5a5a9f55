/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison of runs as text, Markdown and JSON. */
#ifndef PROGRAMS_BARO_REPORT_DIFF_H
#define PROGRAMS_BARO_REPORT_DIFF_H

#include "baro/runset.h"
#include "baro/steps.h"
#include "base/buf.h"
#include "output/text/summary_text.h"
#include "programs/common/cli.h"

/* Visits the rows that are shown, the job's first. */
void diff_each_row(const struct baro_runset *set, void (*visit)(void *context, const struct baro_difference *d),
                   void *context);
/* What to do to be told more; "" if that is not needed. */
const char *diff_advice(const struct baro_runset *set, size_t before);
/* cmd_diff.c: adds a tape, called `name`. Returns 0 or the exit status of a failure that was reported. */
int diff_add_tape(const struct cli *cli, struct baro_runset *set, const char *path, const char *name);

/* before: how many runs are those before. */
void diff_text(const struct baro_runset *set, size_t before, struct report_style style, struct buf *ret);
void diff_markdown(const struct baro_runset *set, size_t before, struct buf *ret);
void diff_json(const struct baro_runset *set, size_t before, struct buf *ret);

/* diff_page.c: one file of HTML. paths: where the tapes of the runs are; those of two are read again. Returns 0 or the
 * status of a failure that was reported. */
int diff_page(const struct cli *cli, const struct baro_runset *set, const char *const *paths, size_t before,
              struct buf *ret);

/* diff_words.c: one sentence that says what changed, and because of what */
void diff_sentence(const struct baro_runset *set, size_t before, struct buf *ret);
/* What a fact is called: "cpu", "wall", "memory", ... */
const char *diff_label(const struct baro_difference *d);
void diff_value(struct buf *b, const struct baro_difference *d, double value);
/* "+3.10 s" */
void diff_shift(struct buf *b, const struct baro_difference *d);
/* "+12 %"; nothing where there is nothing before */
void diff_percent(struct buf *b, const struct baro_difference *d);
/* "changed", "same", "cannot tell", "needs 9 runs", "only a bound" */
void diff_answer(struct buf *b, const struct baro_difference *d);
/* Is the row worth showing? Of the job what was used; of others what differs by more than next to nothing. */
bool diff_is_shown(const struct baro_difference *d);

/* diff_at.c: what moved at the time of --at. Returns the exit status. */
int diff_at(const struct cli *cli, const struct settings *s, const char *name);

/* diff_steps.c: the steps of one run each that are new, gone or used more CPU time. Returns whether there was memory.
 */
bool diff_steps(const struct baro_steps *before, const struct baro_steps *after, bool is_json,
                struct report_style style, struct buf *ret);

/* noise.c: why runs of the same thing differ, as far as their own tapes tell */
/* Returns the row of a fact of the job; as many as there are rows if there is none. */
size_t diff_job_row(const struct baro_runset *set, const char *fact);
/* Collects the known values of runs, sorted; `without` is left out. Returns how many there are. */
size_t diff_values(const struct baro_runset *set, size_t row, size_t from, size_t to, size_t without, double *ret);
/* The CPU time of each command after, as a ratio of that before, sorted; to be freed. Returns how many there are. */
size_t diff_ratios(const struct baro_runset *set, double **ret);
/* Of one run against runs from `from` to `to`: "other processes used 1.8 cores". Returns whether there is a reason. */
bool noise_of_run(const struct baro_runset *set, size_t run, size_t from, size_t to, struct buf *ret);
/* Of both sides: "other processes used 0.1 to 1.8 cores before, 0.2 after". Returns how many there are. */
size_t noise_of_sides(const struct baro_runset *set, size_t before, struct buf *ret);

#endif
