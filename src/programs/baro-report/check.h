/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of what a run may use: how they are read, what runs say of them, and how that is shown. */
#ifndef PROGRAMS_BARO_REPORT_CHECK_H
#define PROGRAMS_BARO_REPORT_CHECK_H

#include "baro/runset.h"
#include "output/text/summary_text.h"
#include "programs/common/cli.h"
#include "programs/common/scoped_fact.h"

enum outcome { OUTCOME_KEPT, OUTCOME_UNKNOWN, OUTCOME_BROKEN };

/* "phase:link cpu <= 1.05*base+50ms": factor 1.05, plus 50e6. */
struct limit {
    char *text;       /* as it was written, escaped */
    const char *file; /* the budget; NULL: it is of --max */
    unsigned line;
    bool is_warning, is_strict; /* is_strict: "<" */
    struct scoped_fact is;
    double factor, plus; /* factor 0: plus is the limit */

    /* what the runs say: check_judge.c */
    enum outcome outcome;
    const struct baro_runset_row *row; /* the one that is farthest over the limit; NULL: there is none */
    size_t rows;                       /* how many the name fits */
    double allowed, low, middle, high; /* NAN: not known; high: may be INFINITY */
    unsigned flags;
    struct buf why;   /* why it can't be told, or by how much it is over; NUL-terminated */
    struct buf cause; /* which command, when: of the run that is farthest over; NUL-terminated */
    double worst;     /* its value */
};

/* Is the value over the limit? */
static inline bool limit_is_over(const struct limit *l, double value, double allowed)
{
    return l->is_strict ? value >= allowed : value > allowed;
}

/* The values of earlier runs, from a file that people review. */
struct base_value {
    char *scope, *name, *fact; /* name: escaped */
    double median, least, most;
    uint64_t n;
};
#define MACHINE_FACTS 3
struct base {
    char *machine[MACHINE_FACTS]; /* circumstances, escaped; NULL: not known */
    struct base_value *at;
    size_t n, cap;
    bool is_there;
};

struct check {
    const struct cli *cli;
    const struct check_settings *s;
    struct limit *limit;
    size_t n, cap;
    int unknown_fails; /* -1: nothing was said */
    char *base_path;   /* NULL: none */
    struct base base;
    struct baro_runset *set;
    struct checked_run {
        bool is_partial;          /* its values are lower bounds */
        bool is_elsewhere;        /* not of the base's machine */
        const char *differs;      /* what of the machine: a constant */
    } * run;                      /* one for each column of the set */
    size_t cap_runs, unread;      /* unread: tapes that can't be read */
    struct baro_error why_unread; /* of the first of them */
    struct buf notes;             /* lines about tapes; NUL-terminated */
    bool is_failed;               /* some command ended with another status than 0 */
};

/* check_limits.c: each returns 0, or a negative code with one line in err. */
int limits_read_file(struct check *c, const char *path, struct baro_error *err);
int limits_read_options(struct check *c, struct baro_error *err);
void limits_done(struct check *c);
/* check_base.c */
int base_read(struct base *b, const char *path, struct baro_error *err);
void base_done(struct base *b);
const struct base_value *base_find(const struct base *b, const struct baro_runset_row *row);
/* The values of limits that name the base. Returns 0 or the exit status of a failure that was reported. */
int base_write(struct check *c);
/* What a machine is told from others by; no names: circumstance i of a run set. */
const char *check_machine_name(size_t i);
/* Is it the same of the base's machine as of a run's? */
bool base_is_of(const struct base *b, const struct baro_runset *set, size_t run, size_t i);

/* check_judge.c */
/* Sorts numbers and returns their median; NAN of none. */
double check_median(double *at, size_t n);
struct bounds {
    double low, value, high; /* value: NAN: not known; then from 0 to INFINITY */
    unsigned flags;
};
/* What a run says of a row. */
struct bounds check_bounds(const struct check *c, const struct limit *l, size_t row, size_t run);
/* What is allowed, and beyond which value it is certainly not: of the base, its highest or the noise of one run.
 * Returns false if the base lacks the value. */
bool check_allowed(const struct check *c, const struct limit *l, const struct baro_runset_row *row, double *ret,
                   double *ret_top);
/* Judges all limits. Returns false if out of memory. */
bool check_judge(struct check *c);
size_t check_count(const struct check *c, enum outcome outcome, bool is_warning);
/* 0, 1 or 3 */
int check_status(const struct check *c);
const char *check_outcome_name(const struct limit *l);
void check_put_number(struct buf *b, const struct limit *l, double value);
/* "≥ 3.1 s", "3.1 s (3 s to 3.4 s, 5 runs)" */
void check_put_value(const struct check *c, struct buf *b, const struct limit *l);

/* check_cause.c: notes the cause of what the last run of the set has used beyond its limits. */
void check_cause(struct check *c, const struct baro_fold *fold);

/* Which fact of commands says where one of the job comes from; NULL: none. */
const char *check_fact_of_commands(const char *fact);

/* check_text.c */
/* "3.1 s, 0.1 s (3 %) over: cc1 2.9 s" */
void check_put_evidence(const struct check *c, const struct limit *l, struct buf *b);
void check_text(const struct check *c, bool all, struct report_style style, struct buf *ret);
void check_markdown(const struct check *c, struct buf *ret);
void check_json(const struct check *c, struct buf *ret);

/* check_ci.c: files of other programs */
void check_junit(const struct check *c, struct buf *ret);
void check_annotations(const struct check *c, struct buf *ret);
void check_gitlab_metrics(const struct check *c, struct buf *ret);
void check_gitlab_quality(const struct check *c, struct buf *ret);

#endif
