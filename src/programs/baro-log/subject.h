/* SPDX-License-Identifier: Apache-2.0 */
/* What a trend is of: a fact of the job, of a phase, command or task of it, or a number of its marks. */
#ifndef PROGRAMS_BARO_LOG_SUBJECT_H
#define PROGRAMS_BARO_LOG_SUBJECT_H

#include "programs/baro-log/log.h"
#include "programs/common/scoped_fact.h"

struct subject {
    const struct baro_fact *fact; /* unit and type; of a mark a real number without a unit */
    int figure;                   /* among tape_figures_fact(); -1: it is one of these: */
    struct scoped_fact of;        /* scope NULL: it is a mark's */
    char *mark;                   /* "loss" */
    char *name;                   /* as in JSON and in the catalogue: "job.cpu_ns", "phase:link cpu_ns", "mark.loss" */
};

/* Returns 1 if the word is one, 0 if it is none, or a negative code. subject_done() has to be called in any case. */
int subject_parse(const char *word, struct subject *ret, struct baro_error *err);
void subject_done(struct subject *s);
/* "CPU time", "CPU time of phase link"; escaped */
void subject_words(const struct subject *s, struct buf *ret);
void subject_put(const struct subject *s, struct figure f, struct buf *ret); /* for people; "-" if it is absent */
/* Reads its value of a run. Returns false if the tape can't be read. */
bool subject_read(struct log *l, struct tape_row *row, const struct subject *s, struct figure *ret);

#endif
