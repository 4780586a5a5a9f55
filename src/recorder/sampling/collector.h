/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectors: what the sampler reads, as rows of a table. The schedule, the overhead budget, barograph's own cost and
 * `baro doctor` walk the table and know no row by name. Rows can be added until the first tick.
 *
 * At each sample the rows have their turns in the order of the table, so a row may use what earlier rows have put into
 * the sample. Members are found before their memory is read, and the job's totals come after both.
 */
#ifndef RECORDER_SAMPLING_COLLECTOR_H
#define RECORDER_SAMPLING_COLLECTOR_H

#include "libbaro/sample/sample.h"
#include "recorder/helper/worker.h"
#include "recorder/sampling/budget.h"

#define COLLECTORS_MOST 32u
#define COLLECTOR_KIND(kind) (1u << (kind))

/* One turn. Times are in nanoseconds since the recording began. */
struct collector_tick {
    uint64_t now_ns;
    enum budget_level level;    /* what must be left out to stay within the overhead budget */
    bool last;                  /* this is the last turn */
    struct baro_sample *sample; /* to be filled */
};

struct sampling;
typedef void collector_say(void *context, const char *line);

/* A collector. Its functions get the row's state. All but tick may be NULL. */
struct collector {
    const char *name;
    /* For a collector that needs nothing of the others (recorder/collectors/independent.def): the size of its state,
     * which is allocated, zeroed and freed for it; and a function that begins it, which returns 0 or -ENOMEM. */
    size_t state_size;
    int (*begin)(void *state, struct sampling *sampling);
    uint32_t kinds; /* COLLECTOR_KIND() of each kind that it fills */
    /* it serves the metrics of its kinds that are read from these enum baro_source; 0: from any */
    unsigned sources;
    /* the shortest time between two turns; longer if turns are expensive: schedule_period(). 0: a turn at each sample
     */
    uint64_t period_ns;
    /* what it leaves out at each level of the budget, as text for users; NULL: nothing */
    const char *left_out[BUDGET_MAX];

    /* called early, so that a helper, which is a fork of this process, is small */
    void (*prepare)(void *state);
    bool (*tick)(void *state, const struct collector_tick *t); /* returns whether anything was read */
    bool (*is_quiet)(void *state, uint64_t now_ns); /* nothing has changed since the last turn, and nothing is due */
    /* Its helper process, which is ended after the last turn; NULL: none, or it is the account's. Its CPU time is part
     * of barograph's cost (own_cost.c measures that of the turns). */
    struct worker *(*worker)(const void *state);
    bool is_unbudgeted; /* that of the helper is not charged to the budget */
    /* called at the end of the recording: reports each failure so far with a line for users */
    void (*trouble)(void *state, collector_say *say, void *context);
    void (*finish)(void *state); /* after the last turn */
    void (*close)(void *state);  /* frees what it has, with the helper */
};

struct collectors {
    struct {
        const struct collector *is;
        void *state;
        bool is_own; /* state is freed by collectors_close() */
        bool began, is_retired;
        uint64_t read_ns, cost_ns; /* time and cost of the last turn, if the row has a period */
    } row[COLLECTORS_MOST];
    size_t n;
};

/* Returns 0, or -ENOSPC. Both are borrowed until collectors_close(). */
int collectors_add(struct collectors *c, const struct collector *is, void *state);
/* Adds a collector that needs nothing of the others. Returns 0, -ENOMEM or -ENOSPC. */
int collectors_add_own(struct collectors *c, const struct collector *is, struct sampling *sampling);

void collectors_prepare(struct collectors *c);
void collectors_tick(struct collectors *c, const struct collector_tick *t, uint64_t overhead_ppm);
/* Makes the next turn of a row due at once, whatever its period. */
void collectors_hurry(struct collectors *c, const struct collector *is);
/* Ends the turns of the row with this state: it has nothing to read and never will. */
void collectors_retire(struct collectors *c, const void *state);
bool collectors_are_quiet(struct collectors *c, uint64_t now_ns);
void collectors_trouble(const struct collectors *c, collector_say *say, void *context);
void collectors_finish(struct collectors *c);              /* kills helpers and does not wait for them */
void collectors_close(struct collectors *c, bool exiting); /* exiting: this process ends now: only reaps helpers */
struct worker *collectors_worker(const struct collectors *c, size_t i); /* the helper of row i; NULL: none */

/* Writes what all rows leave out at this level, for example "pss and uss only at peaks". Returns text. */
const char *collectors_left_out(const struct collectors *c, enum budget_level level, char *text, size_t cap);

/* Does the collector serve metric id of this kind? */
bool collector_serves(const struct collector *is, enum baro_kind kind, int id);

#endif
