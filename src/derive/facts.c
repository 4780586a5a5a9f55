/* SPDX-License-Identifier: Apache-2.0 */
/* The table of facts, and how it is read: include/baro/summary.h. */
#include "derive/facts.h"

#include <string.h>

/* The index of each fact, and of the first one of each section. A section's first enumerator does not count. */
enum {
#define SECTION(id, name, is_table, help) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define FACT(id, name, type, unit, get, of, help) FACT_##id##_##name,
#define FACT_NOT_IN_JSON(id, name, type, unit, get, of, help) FACT_##id##_##name,
#define END(id) END_##id, LAST_##id = END_##id - 1,
#include "derive/facts.def"
    FACTS
#undef SECTION
#undef FACT
#undef FACT_NOT_IN_JSON
#undef END
};

enum {
#define SECTION(id, name, is_table, help) SECTION_##id,
#define FACT(id, name, type, unit, get, of, help)
#define FACT_NOT_IN_JSON(id, name, type, unit, get, of, help)
#define END(id)
#include "derive/facts.def"
    SECTIONS
#undef SECTION
#undef END
};

static const struct baro_section sections[SECTIONS] = {
#define SECTION(id, name, is_table, help) {name, help, is_table, FIRST_##id, END_##id - FIRST_##id},
#define END(id)
#include "derive/facts.def"
#undef SECTION
#undef FACT
#undef FACT_NOT_IN_JSON
};

#define SECTION(id, name, is_table, help)
static const struct baro_fact facts[FACTS] = {
#define FACT(id, name, type, unit, get, of, help) {SECTION_##id, #name, help, BARO_FACT_##type, BARO_UNIT_##unit, true},
#define FACT_NOT_IN_JSON(id, name, type, unit, get, of, help)                                                          \
    {SECTION_##id, #name, help, BARO_FACT_##type, BARO_UNIT_##unit, false},
#include "derive/facts.def"
#undef FACT
#undef FACT_NOT_IN_JSON
};

static const struct {
    fact_getter *get;
    int of;
} getters[FACTS] = {
#define FACT(id, name, type, unit, get, of, help) {get, of},
#define FACT_NOT_IN_JSON(id, name, type, unit, get, of, help) {get, of},
#include "derive/facts.def"
};

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

size_t baro_summary_rows(const struct baro_summary *s, int section)
{
    switch (section) {
    case SECTION_command:
        return s->n_argv;
    case SECTION_targets:
        return s->n_targets;
    case SECTION_pss_peak_held_by:
        return s->peak[PEAK_PSS].absent == BARO_PRESENT ? s->peak[PEAK_PSS].n_top : 0;
    case SECTION_rss_peak_held_by:
        return summary_rss_holders(s);
    case SECTION_directories:
        return s->directories.n;
    case SECTION_commands:
        return s->n_order;
    case SECTION_tasks:
        return s->tasks.n;
    case SECTION_course:
        return course_buckets(&s->course);
    default:
        return section >= 0 && section < SECTIONS;
    }
}

int baro_summary_value(const struct baro_summary *s, int fact, size_t row, struct baro_value *ret)
{
    *ret = (struct baro_value){.absent = BARO_ABSENT_UNKNOWN};
    if (fact < 0 || fact >= FACTS || row >= baro_summary_rows(s, facts[fact].section))
        return BARO_E_RANGE;
    *ret = (struct baro_value){0};
    getters[fact].get(s, getters[fact].of, row, ret);
    return ret->absent;
}
