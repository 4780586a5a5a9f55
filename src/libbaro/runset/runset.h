/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBBARO_RUNSET_RUNSET_H
#define LIBBARO_RUNSET_RUNSET_H

#include <stdbool.h>

#include "baro/runset.h"
#include "base/map.h"

struct cell {
    double value;
    unsigned flags;
    enum baro_absent absent; /* BARO_ABSENT_NONE: the run has no such row */
};

/* How a fact is compared: compared.def. */
struct compared {
    const char *scope, *section, *fact;
    double relative, absolute, relative_one, absolute_one;
    bool is_exact, is_kept_only; /* is_kept_only: it has rows, but they are not compared */
};
extern const struct compared compared_facts[];
extern const size_t compared_count;

#define CIRCUMSTANCES 9u

struct set_row {
    struct baro_runset_row is;
    const struct compared *how;
    struct cell *cell; /* one for each run, as far as it has room */
    size_t n;
};

struct set_run {
    char *name;
    int64_t start_ns;          /* realtime */
    char *text[CIRCUMSTANCES]; /* of each circumstance; NULL: out of memory */
};

struct baro_runset {
    struct set_run *run;
    size_t n_runs, room_runs;
    struct set_row *row;
    size_t n_rows, room_rows;
    struct map by_name;
    struct baro_difference *difference;
    size_t n_differences;
    struct baro_circumstance circumstance[CIRCUMSTANCES];
    size_t n_circumstances;
};

void runset_run_done(struct set_run *run);
/* Makes a row known by its fact and its name. Returns whether there was memory. */
bool runset_index(struct baro_runset *set, size_t row);
/* Returns the row of a fact and a name, such as a command; NULL: there is none. */
struct set_row *runset_find(const struct baro_runset *set, const struct compared *how, const char *name);

/* most.c: returns the row of a scope, a fact and a name; NULL: there is none. */
const struct set_row *runset_beside(const struct baro_runset *set, const char *scope, const char *fact,
                                    const char *name);

/* Returns what circumstance @p i of set_run.text is, such as "CPU model". */
const char *circumstance_name(size_t i);

/* Returns the value of a fact that is a number. */
double runset_number(const struct baro_fact *fact, const struct baro_value *v);

#endif
