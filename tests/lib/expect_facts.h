/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a summary as lines: "job.cpu_ns 2400000000", "job.pss_peak_bytes at least 490000000",
 * "exit.signal none" (absent, and why), "commands.name[1] cc1", "wall_ns 5" (of the recording as a whole). Reals have
 * six digits.
 */
#ifndef TESTS_EXPECT_FACTS_H
#define TESTS_EXPECT_FACTS_H

#include "unit.h"
#include "baro/summary.h"
#include "baro/text.h"

static inline void fact_line(const struct baro_fact *fact, const struct baro_value *v, char *ret, size_t size)
{
    const char *mark = baro_value_prefix(v->flags, BARO_PREFIX_WORDS);
    if (v->absent)
        snprintf(ret, size, "%s", baro_absent_name((enum baro_absent)v->absent));
    else if (fact->type == BARO_FACT_TEXT)
        snprintf(ret, size, "%s%s", mark, v->text);
    else if (fact->type == BARO_FACT_REAL)
        snprintf(ret, size, "%s%.6g", mark, v->real);
    else if (fact->type == BARO_FACT_SIGNED || fact->type == BARO_FACT_TIME)
        snprintf(ret, size, "%s%lld", mark, (long long)v->i64);
    else
        snprintf(ret, size, "%s%llu", mark, (unsigned long long)v->u64);
}

static inline bool has_fact(const struct baro_summary *s, const char *line)
{
    char section[64] = "", name[64] = "", is[512];
    size_t row = 0, len = strcspn(line, " [");
    const char *rest = line + len, *dot = memrchr(line, '.', len);
    struct baro_value v;
    snprintf(section, sizeof(section), "%.*s", dot ? (int)(dot - line) : 0, line);
    dot = dot ? dot + 1 : line;
    snprintf(name, sizeof(name), "%.*s", (int)(rest - dot), dot);
    if (*rest == '[')
        row = strtoul(rest + 1, (char **)&rest, 10), rest++;
    int fact = baro_summary_fact_find(section, name);
    if (fact < 0)
        fail_msg("there is no fact %s", line);
    baro_summary_value(s, fact, row, &v);
    fact_line(baro_summary_fact(fact), &v, is, sizeof(is));
    if (strcmp(is, *rest ? rest + 1 : rest) != 0)
        print_error("%s: it is %s\n", line, is);
    return strcmp(is, *rest ? rest + 1 : rest) == 0;
}

/* The number of rows of a section. */
static inline size_t rows_of(const struct baro_summary *s, const char *section)
{
    return baro_summary_rows(s, baro_summary_section_find(section));
}

static inline void expect_all_facts(const struct baro_summary *s, const char *const *line)
{
    bool all = true;
    for (; *line; line++)
        all &= has_fact(s, *line);
    assert_true(all);
}

#define expect_facts(s, ...) expect_all_facts(s, (const char *const[]){__VA_ARGS__, NULL})

#endif
