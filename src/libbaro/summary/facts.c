/* SPDX-License-Identifier: Apache-2.0 */
/* The table of facts, and how it is read: include/baro/summary.h. */
#include "libbaro/summary/facts.h"

#include <math.h>
#include <string.h>

/* The index of each fact, and of the first one of each section. A section's first enumerator does not count. */
#define MARK(...)
enum {
#define SECTION(id, name, is_table, help) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define FACT(id, name, type, unit, semantics, trend, get, of, help) FACT_##id##_##name,
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help) FACT_##id##_##name,
#define END(id) END_##id, LAST_##id = END_##id - 1,
#include "libbaro/summary/facts.def"
    FACTS
#undef SECTION
#undef FACT
#undef FACT_NOT_IN_JSON
#undef END
};

enum {
#define SECTION(id, name, is_table, help) SECTION_##id,
#define FACT(id, name, type, unit, semantics, trend, get, of, help)
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help)
#define END(id)
#include "libbaro/summary/facts.def"
    SECTIONS
#undef SECTION
#undef END
};

static const struct baro_section sections[SECTIONS] = {
#define SECTION(id, name, is_table, help) {name, help, is_table, FIRST_##id, END_##id - FIRST_##id},
#define END(id)
#include "libbaro/summary/facts.def"
#undef SECTION
#undef FACT
#undef FACT_NOT_IN_JSON
};

#define SECTION(id, name, is_table, help)
static const struct baro_fact facts[FACTS] = {
#define FACT(id, name, type, unit, semantics, trend, get, of, help)                                                    \
    FACT_ROW(SECTION_##id, #name, type, unit, semantics, trend, true, help),
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help)                                        \
    FACT_ROW(SECTION_##id, #name, type, unit, semantics, trend, false, help),
#include "libbaro/summary/facts.def"
#undef FACT
#undef FACT_NOT_IN_JSON
};

static const struct {
    fact_getter *get;
    int of;
} getters[FACTS] = {
#define FACT(id, name, type, unit, semantics, trend, get, of, help) {get, of},
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help) {get, of},
#include "libbaro/summary/facts.def"
};

/* ---- flags ---- */

enum mark { EXACT, AT_LEAST, ABOUT, AT_MOST };

static enum mark mark_of(unsigned flags)
{
    bool least = flags & BARO_VALUE_LOWER_BOUND, most = flags & BARO_VALUE_UPPER_BOUND;
    return (least && most) || flags & BARO_VALUE_ESTIMATE ? ABOUT : least ? AT_LEAST : most ? AT_MOST : EXACT;
}

const char *baro_value_prefix(unsigned flags, enum baro_prefix as)
{
    static const char *const marks[][3] = {{"", "", ""},
                                           {"at least ", ">=", "\342\211\245"},
                                           {"about ", "~", "\342\211\210"},
                                           {"at most ", "<=", "\342\211\244"}};
    return marks[mark_of(flags)][as >= BARO_PREFIX_WORDS && as <= BARO_PREFIX_SYMBOL ? as : BARO_PREFIX_WORDS];
}

const char *baro_value_mark(unsigned flags)
{
    static const char *const marks[] = {NULL, "lower_bound", "estimate", "upper_bound"};
    return marks[mark_of(flags)];
}

int baro_summary_section_count(void)
{
    return SECTIONS;
}

const struct baro_section *baro_summary_section(int section)
{
    return section >= 0 && section < SECTIONS ? &sections[section] : NULL;
}

int baro_summary_section_find(const char *name)
{
    for (int i = 0; i < SECTIONS; i++) {
        if (strcmp(sections[i].name, name) == 0)
            return i;
    }
    return -1;
}

int baro_summary_fact_count(void)
{
    return FACTS;
}

const struct baro_fact *baro_summary_fact(int fact)
{
    return fact >= 0 && fact < FACTS ? &facts[fact] : NULL;
}

int baro_summary_fact_find(const char *section, const char *name)
{
    const struct baro_section *in = baro_summary_section(baro_summary_section_find(section));
    for (int i = in ? in->first_fact : FACTS; in && i < in->first_fact + in->fact_count; i++) {
        if (strcmp(facts[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* The key is the first fact of each table. */
int baro_summary_key(int section)
{
    const struct baro_section *s = baro_summary_section(section);
    return s && s->is_table && section != SECTION_command ? s->first_fact : -1;
}

size_t baro_summary_rows(const struct baro_summary *s, int section)
{
    switch (section) {
    case SECTION_command: return s->subject.n_argv;
    case SECTION_targets: return s->subject.n_targets;
    case SECTION_pss_peak_held_by:
        return s->peaks.sum[PEAK_PSS].absent == BARO_PRESENT ? s->peaks.sum[PEAK_PSS].n_top : 0;
    case SECTION_rss_peak_held_by: return summary_rss_holders(s);
    case SECTION_directories: return s->fold.directories.n;
    case SECTION_gpus: return s->fold.gpus.n;
    case SECTION_commands: return s->finished.n_order;
    case SECTION_tasks: return s->fold.tasks.n;
    case SECTION_course: return course_buckets(&s->course);
    default: return section >= 0 && section < SECTIONS;
    }
}

enum baro_absent baro_summary_value(const struct baro_summary *s, int fact, size_t row, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_UNSUPPORTED};
    if (fact < 0 || fact >= FACTS || row >= baro_summary_rows(s, facts[fact].section))
        return ret->absent;
    *ret = (struct baro_value){0};
    getters[fact].get(s, getters[fact].of, row, ret);
    return ret->absent;
}

const char *baro_fact_semantics_name(enum baro_fact_semantics semantics)
{
    static const char *const names[] = {"property", "instant", "sum", "peak", "least", "mean", "share"};
    return (unsigned)semantics < sizeof(names) / sizeof(*names) ? names[semantics] : "unknown";
}

const char *baro_fact_trend_name(enum baro_fact_trend trend)
{
    static const char *const names[] = {"none", "more_is_worse", "more_is_better"};
    return (unsigned)trend < sizeof(names) / sizeof(*names) ? names[trend] : "unknown";
}

ptrdiff_t baro_summary_row_find(const struct baro_summary *s, int section, const char *key)
{
    int fact = baro_summary_key(section);
    struct baro_value v;
    for (size_t row = 0; fact >= 0 && row < baro_summary_rows(s, section); row++)
        if (baro_summary_value(s, fact, row, &v) == BARO_PRESENT && v.text && strcmp(v.text, key) == 0)
            return (ptrdiff_t)row;
    return -1;
}

double baro_fact_real(const struct baro_fact *fact, const struct baro_value *value)
{
    if (value->absent != BARO_PRESENT)
        return NAN;
    switch (fact->type) {
    case BARO_FACT_UNSIGNED:
    case BARO_FACT_BOOLEAN: return (double)value->u64;
    case BARO_FACT_SIGNED:
    case BARO_FACT_TIME: return (double)value->i64;
    case BARO_FACT_REAL: return value->real;
    case BARO_FACT_TEXT: break;
    }
    return NAN;
}
