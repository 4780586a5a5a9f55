/* SPDX-License-Identifier: Apache-2.0 */
/* The table of facts, and how it is read: include/baro/summary.h. */
#include "libbaro/summary/facts.h"

#include <math.h>
#include <string.h>

/* The index of each fact, and of the first one of each section. A section's first enumerator does not count. */
enum {
#define SECTION(id, name, is_table, help) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define FACT(id, name, type, unit, semantics, trend, get, of, help) FACT_##id##_##name,
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help) FACT_##id##_##name,
#define FLAG(id, name, flag, covers, help) FACT_##id##_##name,
#define FLAG_KNOWN_BY(id, name, flag, covers, metric, help) FACT_##id##_##name,
#define END(id) END_##id, LAST_##id = END_##id - 1,
#include "libbaro/summary/facts.def"
    FACTS
#undef SECTION
#undef FACT
#undef FACT_NOT_IN_JSON
#undef FLAG
#undef FLAG_KNOWN_BY
#undef END
};

enum {
#define SECTION(id, name, is_table, help) SECTION_##id,
#define FACT(id, name, type, unit, semantics, trend, get, of, help)
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help)
#define FLAG(id, name, flag, covers, help)
#define FLAG_KNOWN_BY(id, name, flag, covers, metric, help)
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
#undef FLAG
#undef FLAG_KNOWN_BY
};

#define SECTION(id, name, is_table, help)
static const struct baro_fact facts[FACTS] = {
#define FACT(id, name, type, unit, semantics, trend, get, of, help)                                                    \
    FACT_ROW(SECTION_##id, #name, type, unit, semantics, trend, true, help),
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help)                                        \
    FACT_ROW(SECTION_##id, #name, type, unit, semantics, trend, false, help),
#define FLAG(id, name, flag, covers, help) FACT(id, name, BOOLEAN, NONE, PROPERTY, NONE, NULL, 0, help)
#define FLAG_KNOWN_BY(id, name, flag, covers, metric, help) FLAG(id, name, flag, covers, help)
#include "libbaro/summary/facts.def"
#undef FACT
#undef FACT_NOT_IN_JSON
#undef FLAG
#undef FLAG_KNOWN_BY
};

static const struct {
    fact_getter *get; /* for a flag: reads if it is known; NULL: its values decide that */
    int of;
    unsigned flag;
    const char *covers;
} getters[FACTS] = {
#define FACT(id, name, type, unit, semantics, trend, get, of, help) {get, of, 0, NULL},
#define FACT_NOT_IN_JSON(id, name, type, unit, semantics, trend, get, of, help) {get, of, 0, NULL},
#define FLAG(id, name, flag, covers, help) {NULL, 0, BARO_VALUE_##flag, covers},
#define FLAG_KNOWN_BY(id, name, flag, covers, metric, help) {fact_job, metric, BARO_VALUE_##flag, covers},
#include "libbaro/summary/facts.def"
};

/* ---- flags ---- */

const char *baro_value_prefix(unsigned flags, enum baro_prefix as)
{
    static const char *const marks[][3] = {{"", "", ""},
                                           {"at least ", ">", "\342\211\245"},
                                           {"about ", "~", "\342\211\210"},
                                           {"at most ", "<", "\342\211\244"}};
    bool least = flags & BARO_VALUE_LOWER_BOUND, most = flags & BARO_VALUE_UPPER_BOUND;
    int which = least && !most ? 1 : least || flags & BARO_VALUE_ESTIMATE ? 2 : most ? 3 : 0;
    return marks[which][as >= BARO_PREFIX_WORDS && as <= BARO_PREFIX_SYMBOL ? as : BARO_PREFIX_WORDS];
}

bool fact_is_covered(int flag, int fact)
{
    const char *covers = getters[flag].covers, *name = facts[fact].name;
    size_t n = covers ? strlen(covers) : 0;
    enum baro_fact_type type = facts[fact].type;
    return covers && facts[flag].section == facts[fact].section &&
           (type == BARO_FACT_UNSIGNED || type == BARO_FACT_SIGNED || type == BARO_FACT_REAL) &&
           strncmp(name, covers, n) == 0 && (!n || !name[n] || name[n] == '_');
}

unsigned fact_flag(int fact)
{
    return getters[fact].flag;
}

/* Reads a flag from the values that it covers: it is true if one of them has the flag, such as "may be too small".
 * If none of the values is known, the flag is absent as well: "false" would say that they are exact. */
static void get_flag(const struct baro_summary *s, int flag, size_t row, struct baro_value *ret)
{
    const struct baro_section *in = &sections[facts[flag].section];
    struct baro_value v = {0};
    int why = BARO_PRESENT;
    bool any = false, is = false;
    if (getters[flag].get)
        getters[flag].get(s, getters[flag].of, row, &v);
    int known = v.absent;
    for (int i = in->first_fact; i < in->first_fact + in->fact_count; i++) {
        if (!fact_is_covered(flag, i))
            continue;
        int absent = baro_summary_value(s, i, row, &v);
        why = why ? why : absent;
        any = any || !absent;
        is = is || (v.flags & getters[flag].flag);
    }
    value_u64(ret, any ? known : why, is);
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
    if (getters[fact].flag)
        get_flag(s, fact, row, ret);
    else
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
