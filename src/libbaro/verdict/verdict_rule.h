/* SPDX-License-Identifier: Apache-2.0 */
/* A rule: its row in the table, and its finding. */
#ifndef LIBBARO_VERDICT_VERDICT_RULE_H
#define LIBBARO_VERDICT_VERDICT_RULE_H

#include "baro/verdict.h"
#include "base/buf.h"
#include "base/fmt.h"
#include "libbaro/verdict/evidence.h"

#define SECOND_NS 1e9
#define LONG_ENOUGH_NS (1 * SECOND_NS) /* a shorter stretch has too little history for rules */
#define SAMPLES_ENOUGH 10.0

#define FINDING_ROWS_MOST 10u

struct finding {
    struct buf title, advice;        /* sentences */
    struct buf brief, hint;          /* the same in a few words, for a list */
    uint64_t begin_ns, end_ns;       /* preset to the stretch */
    enum baro_verdict_weight weight; /* preset to that of the rule */
    struct finding_row {
        const char *name;
        double value;
        enum baro_unit unit;
        unsigned flags; /* enum baro_value_flag */
        struct buf text;
    } row[FINDING_ROWS_MOST];
    size_t n_rows;
};

/* Returns true if the rule applies; then it has filled in a title. */
typedef bool rule_fn(const struct evidence *e, const struct stretch *s, struct finding *f);

enum rule_flag {
    RULE_OF_PHASES = 1,    /* also applied to phases */
    RULE_OF_MACHINES = 4,  /* also applied where the job is all processes of a machine */
    RULE_NEEDS_HISTORY = 2 /* needs a job of at least LONG_ENOUGH_NS and SAMPLES_ENOUGH */
};

struct verdict_rule {
    struct baro_rule is;
    rule_fn *apply;
    unsigned flags;
};

#define THRESHOLDS(array) .thresholds = (array), .threshold_count = sizeof(array) / sizeof(*(array))

/* rules.c: in the order in which verdicts of one weight are listed */
extern const struct verdict_rule *const verdict_rules[];
extern const int verdict_rule_count;

/* ---- what rules ask each other, so that one cause is named once ---- */
bool is_feeding_gpu(const struct evidence *e, const struct stretch *s); /* one thread works, and a GPU waits for it */
bool is_throttled(const struct evidence *e, const struct stretch *s);
bool is_short_of_cores(const struct evidence *e, const struct stretch *s);
bool is_contended(const struct evidence *e, const struct stretch *s);
bool is_short_of_memory(const struct evidence *e, const struct stretch *s);
/* Was a process of the job OOM-killed? Or was the recording cut off when a limit was nearly reached? */
bool is_out_of_memory(const struct evidence *e);
const struct group *limiting_group(const struct evidence *e); /* that sets the memory limit; NULL: none that was read */
bool is_waiting_for_storage(const struct evidence *e, const struct stretch *s);

/* ---- finding.c: sentences and numbers ---- */
__attribute__((format(printf, 2, 3))) void find_title(struct finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void find_advice(struct finding *f, const char *format, ...);
/* What was found in at most 60 columns, and what to do in at most 30. Numbers have signs: flags | SIGNS. */
__attribute__((format(printf, 2, 3))) void find_brief(struct finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void find_hint(struct finding *f, const char *format, ...);
/* Adds a number of the evidence with its flags; leaves it out if it is not known. */
void find_number(struct finding *f, const char *name, double value, unsigned flags, enum baro_unit unit);
/* rules_end.c: what the bytes that a group used were, if most were of one kind, and who held them, if processes did.
 * Returns false if that is not known. Example: a job has 132 MB in /dev/shm, and its processes 3.5 MB: it is of no use
 * that most of these were held by sh. */
bool find_memory_kind(const struct evidence *e, double used, const struct group *g, struct finding *f);
void find_text(struct finding *f, const char *name, const char *text);
void finding_done(struct finding *f);

/*
 * Each number has flags that say how exact it is: the enum baro_value_flag of its fact or curve, by FACT(e, cpu_ns) and
 * GROWN(s, FOLD_CPU). A number made of several has the flags of all of them together; those of a divisor go through
 * inverted(). 0: exact.
 */
#define FACT(e, member) (e)->member, (e)->flags.member
#define GROWN(s, curve) (s)->grown[curve], (s)->flags[curve]
/* A divisor that may be too small makes the result one that may be too large. */
static inline unsigned inverted(unsigned flags)
{
    return (flags & BARO_VALUE_ESTIMATE) | (flags & BARO_VALUE_LOWER_BOUND ? BARO_VALUE_UPPER_BOUND : 0) |
           (flags & BARO_VALUE_UPPER_BOUND ? BARO_VALUE_LOWER_BOUND : 0);
}

/* A number as words, after words for its flags: words_duration(9.8e9, BARO_VALUE_LOWER_BOUND).at is "at least 9.8
 * s"; with SIGNS among the flags "≥9.8 s". */
#define SIGNS (1u << 31)
struct words {
    char at[48];
};
/* Rounded to a whole number without libm; 0 for NAN and for numbers below 0. */
double whole_down(double value);
double whole_up(double value);
struct words words_duration(double ns, unsigned flags);
struct words words_bytes(double bytes, unsigned flags);
struct words words_limit(double bytes); /* in the unit in which it was set */
struct words words_count(double n, unsigned flags);
struct words words_percent(double ratio, unsigned flags);
struct words words_cores(double cores, unsigned flags); /* "2", "0.50" */
struct words words_first(struct words w);               /* as the first words of a sentence: "About 3" */

#endif
