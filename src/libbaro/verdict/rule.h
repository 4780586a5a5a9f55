/* SPDX-License-Identifier: Apache-2.0 */
/* A rule: its row in the table, and what it finds. */
#ifndef LIBBARO_VERDICT_RULE_H
#define LIBBARO_VERDICT_RULE_H

#include "baro/verdict.h"
#include "base/buf.h"
#include "base/fmt.h"
#include "libbaro/verdict/evidence.h"

#define SECOND_NS 1e9
#define LONG_ENOUGH_NS (1 * SECOND_NS) /* a shorter stretch has no history that rules could judge */
#define SAMPLES_ENOUGH 10.0

#define FINDING_ROWS_MOST 10u

struct finding {
    struct buf title, advice;
    uint64_t begin_ns, end_ns; /* preset to the stretch */
    struct finding_row {
        const char *name;
        double value;
        enum baro_unit unit;
        unsigned flags; /* enum baro_value_flag */
        struct buf text;
    } row[FINDING_ROWS_MOST];
    size_t n_rows;
};

/* Returns whether it has something to say; then it has filled in a title. */
typedef bool rule_fn(const struct evidence *e, const struct stretch *s, struct finding *f);

enum rule_flag {
    RULE_OF_PHASES = 1,    /* is applied to phases, too */
    RULE_NEEDS_HISTORY = 2 /* needs a job of at least LONG_ENOUGH_NS and SAMPLES_ENOUGH */
};

struct rule {
    struct baro_rule is;
    rule_fn *apply;
    unsigned flags;
};

#define THRESHOLDS(array) .thresholds = (array), .threshold_count = sizeof(array) / sizeof(*(array))

/* rules.c: in the order in which verdicts of one weight are listed */
extern const struct rule *const verdict_rules[];
extern const int verdict_rule_count;

/* ---- what rules need of each other: one cause is named once ---- */
bool is_feeding_gpu(const struct evidence *e, const struct stretch *s); /* one thread works, and a GPU waits for it */
bool is_throttled(const struct evidence *e, const struct stretch *s);
bool is_short_of_cores(const struct evidence *e, const struct stretch *s);
bool is_contended(const struct evidence *e, const struct stretch *s);
bool is_short_of_memory(const struct evidence *e, const struct stretch *s);
bool is_waiting_for_storage(const struct evidence *e, const struct stretch *s);

/* ---- finding.c: sentences and numbers ---- */
__attribute__((format(printf, 2, 3))) void find_title(struct finding *f, const char *format, ...);
__attribute__((format(printf, 2, 3))) void find_advice(struct finding *f, const char *format, ...);
/* A number of the evidence with its flags; one that is not known is left out. */
void find_number(struct finding *f, const char *name, double value, unsigned flags, enum baro_unit unit);
void find_text(struct finding *f, const char *name, const char *text);
void finding_done(struct finding *f);

/*
 * How exact a number is goes with it, always: enum baro_value_flag of the fact or the curve that it is, FACT(e, cpu_ns)
 * and GROWN(s, CURVE_CPU); of several numbers those of each together, inverted() of what it is divided by. 0: exact.
 */
#define FACT(e, member) (e)->member, (e)->flags.member
#define GROWN(s, curve) (s)->grown[curve], (s)->flags[curve]
/* What is divided by a number that may be too small may be too large. */
static inline unsigned inverted(unsigned flags)
{
    return (flags & BARO_VALUE_ESTIMATE) | (flags & BARO_VALUE_LOWER_BOUND ? BARO_VALUE_UPPER_BOUND : 0) |
           (flags & BARO_VALUE_UPPER_BOUND ? BARO_VALUE_LOWER_BOUND : 0);
}

/* Numbers as words, after their mark: words_duration(9.8e9, BARO_VALUE_LOWER_BOUND).at is "at least 9.8 s". */
struct words {
    char at[48];
};
/* Without libm. NAN and what is below 0 are 0. */
double whole_down(double value);
double whole_up(double value);
struct words words_duration(double ns, unsigned flags);
struct words words_bytes(double bytes, unsigned flags);
struct words words_limit(double bytes); /* in the unit in which it was set */
struct words words_count(double n, unsigned flags);
struct words words_percent(double ratio, unsigned flags);
struct words words_cores(double cores, unsigned flags); /* "2", "0.50" */
struct words words_first(struct words w);               /* of a sentence: "About 3" */

#endif
