/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline's state, for its own files. */
#ifndef LIBBARO_TIMELINE_TIMELINE_H
#define LIBBARO_TIMELINE_TIMELINE_H

#include "baro/timeline.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/parents.h"
#include "libbaro/summary/summary.h"
#include "libbaro/fold/window.h"

/* An item of the list. Phases that have not ended are found by name and id, and by the process that reported them. */
enum { CHAIN_NAME, CHAIN_PROCESS, CHAINS };

struct timeline_item {
    struct baro_timeline_item view; /* its texts are in block */
    char *block;
    const char *id;  /* tells a phase from others of its name; "" */
    uint64_t amount; /* for an interval that grows: the sum of nanoseconds or of times so far */
    bool is_hidden;
    uint32_t reporter;         /* the process that reported it: a position in timeline_reporters */
    ptrdiff_t below;           /* the phase of its reporter that had begun before and not ended; -1: none */
    struct fold_window *usage; /* for a phase; NULL: out of memory */
    struct timeline_item *next[CHAINS];
    uint32_t hash[CHAINS];
};

struct timeline_chains {
    struct timeline_item **bucket;
    size_t size, n; /* size: 0 or a power of two */
};

/* A cause that held the job back: a counter of its control groups, and the item that further growth extends. */
enum { HELD_CPU, HELD_MEMORY_LIMIT, HELD_MEMORY_HIGH, HELD_FORKS, HELD_MAX };
struct timeline_held {
    struct timeline_item *item; /* the last item; NULL: none so far */
};

/* Processes that SIGKILL ended, in the same order as struct summary_oom.end_ns. */
struct timeline_killed {
    struct timeline_item *item[OOM_TIMES];
    size_t n;
    char logged[128]; /* names of OOM-killed processes in the kernel's log */
};

/* The last processes that ended: a line that one of them wrote may be read after its exit was reported. */
#define TIMELINE_ENDED 256u
struct timeline_ended {
    struct baro_key key, parent;
    uint64_t t_ns;
};

/* Processes that reported phases or marks, and their ancestors as far as they are on the tape. Reporter 0 is for lines
 * without a process. A process whose parent is not on the tape counts as 0, too. */
#define REPORTER_NONE 0u
struct timeline_reporters {
    struct parents_process *at;
    ptrdiff_t *top;           /* timeline_arrange(): the innermost phase of each; -1: none */
    uint32_t *parent;         /* the same: the parent of each, REPORTER_NONE: none */
    size_t n, cap, n_unknown; /* n_unknown: parents that are not known yet */
    struct map by_pid;
};

/* A moment at which the innermost phase changes, and that phase. */
struct timeline_turn {
    uint64_t t_ns;
    ptrdiff_t phase;
};

struct baro_timeline {
    struct timeline_item **all; /* in the order on the tape */
    size_t n_all, cap_all;
    struct timeline_item **sorted;
    size_t n_sorted;
    size_t n_measured; /* timeline_measure(): how many of `sorted` are measured */
    struct timeline_turn *turn;
    size_t n_turns;
    int lanes;
    struct timeline_chains open[CHAINS];
    const struct baro_summary *summary; /* of the same records: what identifies OOM kills */
    struct timeline_reporters reporters;
    struct timeline_held held[HELD_MAX];
    uint64_t held_ns; /* the last reading of the groups */
    struct timeline_killed killed;
    struct timeline_item *stopped;               /* the command has been stopped since then; NULL: it is not stopped */
    struct timeline_ended ended[TIMELINE_ENDED]; /* a ring */
    size_t n_ended;
    struct baro_key command;
    uint64_t last_ns, end_ns; /* ends: of all records, and of the job; 0: the job has not ended */
    uint64_t first_ns;        /* the first sample; UINT64_MAX: none yet */
    bool begins_later;        /* the tape lacks the beginning of the recording */
    struct fold_windows windows;
    bool is_measured_later; /* what phases use is measured in a second walk: timeline_measure_again() */
    bool failed;            /* out of memory: the timeline is incomplete */
};

/* Appends the path of a phase (baro_timeline_path()), without a NUL. */
void timeline_put_path(const struct baro_timeline *t, size_t item, struct buf *ret);

/* A timeline of the records that a summary has; add each to the summary first. Returns NULL if out of memory. */
struct baro_timeline *timeline_new(const struct baro_summary *s, const struct baro_header *header);
void timeline_free(struct baro_timeline *t); /* NULL allowed */
void timeline_add(struct baro_timeline *t, const struct baro_record *r);
int timeline_finish(struct baro_timeline *t); /* 0 or -ENOMEM */
/* Forgets what phases used, to take the records once more by timeline_measure(): then each phase is known from its
 * beginning. Returns 0 or -ENOMEM. row: that of the record, if it is a sample. */
int timeline_measure_again(struct baro_timeline *t, const struct baro_header *header);
void timeline_measure(struct baro_timeline *t, const struct baro_record *r, const struct fold_row *row);

/* timeline.c. Each item that is added belongs to the timeline; NULL: out of memory. */
struct timeline_item *timeline_append(struct baro_timeline *t, enum baro_timeline_kind kind, const char *name,
                                      uint64_t t_ns);
/* Sets name, attributes and text; attributes in `more` replace those of the same name. */
void timeline_describe(struct baro_timeline *t, struct timeline_item *i, const struct baro_event *more);
/* Returns an attribute with a meaning of its own (ATTRIBUTE_* of libbaro/sample/sample.h), or NULL. */
const struct baro_attribute *timeline_meaning(const struct baro_event *e, const char *name);
void timeline_set_process(struct baro_timeline *t, struct timeline_item *i, const char *name);
void timeline_set_text(struct baro_timeline *t, struct timeline_item *i, struct buf *text);

size_t timeline_size(const struct baro_timeline *t); /* number of items; also valid before timeline_finish() */

/* timeline_chain.c */
bool chains_add(struct timeline_chains *c, int which, struct timeline_item *i);
void chains_remove(struct timeline_chains *c, int which, struct timeline_item *i);
void chains_done(struct timeline_chains *c);
uint32_t chains_hash(uint32_t seed, const void *at, size_t len);

/* timeline_phase.c */
void timeline_add_mark(struct baro_timeline *t, const struct baro_event *e);
void timeline_add_begin(struct baro_timeline *t, const struct baro_event *e);
void timeline_add_end(struct baro_timeline *t, const struct baro_event *e);
void timeline_process_ended(struct baro_timeline *t, const struct baro_exit *e);
int timeline_arrange(struct baro_timeline *t); /* order, lanes, parents; 0 or -ENOMEM */

/* timeline_reporter.c */
uint32_t reporters_add(struct timeline_reporters *r, struct baro_key key); /* a new one, or the one that is there */
void reporters_add_sample(struct timeline_reporters *r, const struct baro_sample *s);
/* Sets the parent of a reporter, unless it is known: the first one counts, because a process can be adopted. */
void reporters_set_parent(struct timeline_reporters *r, struct baro_key key, struct baro_key parent);
int reporters_arrange(struct timeline_reporters *r); /* finds the parents; no phase has begun. 0 or -ENOMEM */
/* Returns REPORTER_NONE for a reporter whose parent is not known, else the reporter itself. */
uint32_t reporters_of(const struct timeline_reporters *r, uint32_t reporter);
void reporters_done(struct timeline_reporters *r);

/* timeline_event.c */
void timeline_add_event(struct baro_timeline *t, const struct baro_event *e);
void timeline_add_exit(struct baro_timeline *t, const struct baro_exit *e);
void timeline_add_damage(struct baro_timeline *t, uint64_t t_ns);
void timeline_name_kills(struct baro_timeline *t);

/* phase_facts.c */
int phase_value(const struct fold_window *w, uint64_t wall_ns, int fact, struct baro_value *ret);

#endif
