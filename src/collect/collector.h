/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectors: what the sampler reads, as rows of a table. The schedule, the overhead budget, barograph's own cost and
 * `baro doctor` walk the table and name no row of it. A row can be added at any time before the first tick, so that a
 * program that the user names (--collect) is a row like the others.
 *
 * At each sample the rows have their turns in the order of the table: a row may rely on what those before it have put
 * into the sample (members are found before their memory is asked for, and the job's totals come after both).
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "sample/sample.h"
#include "schedule/budget.h"

#define COLLECTORS_MOST 32u
#define COLLECTOR_KIND(kind) (1u << (kind))

/* One turn. Times are in nanoseconds since the recording began. */
struct collector_tick {
    uint64_t now_ns;
    enum budget_level level;    /* how much is left out to stay within the overhead budget */
    bool last;                  /* there will be no other turn */
    struct baro_sample *sample; /* to be filled */
};

/* What a collector costs besides the CPU time of its turns: its helper processes. */
struct collector_cost {
    uint64_t cpu_ns;  /* of all its helpers so far */
    uint64_t unbudgeted_ns; /* of programs that the user asked for: part of what barograph costs, but nothing is left
                               out because of it */
    uint64_t refused; /* forks of them that the kernel refused (EAGAIN) */
};

/* All functions but tick may be NULL. They get the row's state. */
struct collector {
    const char *name;
    uint32_t kinds;     /* COLLECTOR_KIND() of each kind that it fills */
    unsigned sources;   /* enum baro_source: of these kinds it serves the metrics that are read from these; 0: all */
    uint64_t period_ns; /* the shortest time between two turns; longer where a turn is expensive: schedule_period().
                           0: a turn with each sample */
    /* What is not read at that level of the budget, for people; NULL: nothing is left out. */
    const char *left_out[BUDGET_MAX];

    void (*prepare)(void *state); /* before the recording grows: a helper is a fork of this process */
    bool (*tick)(void *state, const struct collector_tick *t); /* returns whether anything was read */
    bool (*is_quiet)(void *state, uint64_t now_ns); /* nothing has changed since the last turn, and nothing is due */
    int32_t (*helper)(void *state);                 /* the pid of the helper that runs now; 0: none */
    bool (*owns)(void *state, int32_t pid);         /* is it a process that its helper has started? */
    void (*cost)(void *state, struct collector_cost *ret); /* asked at each sample: may not read files */
    void (*finish)(void *state);              /* after the last turn: helpers are killed, nobody waits for them */
    void (*close)(void *state, bool exiting); /* exiting: this process ends now, so only processes are seen to */
};

struct collectors {
    struct {
        const struct collector *is;
        void *state;
        bool began;
        uint64_t read_ns, cost_ns; /* of the last turn, where there is a period */
    } row[COLLECTORS_MOST];
    size_t n;
};

/* Returns 0, or -ENOSPC. Both are borrowed until collectors_close(). */
int collectors_add(struct collectors *c, const struct collector *is, void *state);

void collectors_prepare(struct collectors *c);
void collectors_tick(struct collectors *c, const struct collector_tick *t, uint64_t overhead_ppm);
bool collectors_are_quiet(struct collectors *c, uint64_t now_ns);
void collectors_finish(struct collectors *c);
void collectors_close(struct collectors *c, bool exiting);

/* Of row i: zeros where it has no helper. */
struct collector_cost collectors_cost(const struct collectors *c, size_t i);
int32_t collectors_helper(const struct collectors *c, size_t i); /* its pid */
bool collectors_is_helper(const struct collectors *c, int32_t pid);
bool collectors_own(const struct collectors *c, int32_t pid); /* was it started by a helper? Reads files */

/* What all of them leave out at that level, as in "pss and uss only at peaks". Returns text. */
const char *collectors_left_out(const struct collectors *c, enum budget_level level, char *text, size_t cap);

/* Does it serve metric id of this kind? */
bool collector_serves(const struct collector *is, enum baro_kind kind, int id);

#endif
