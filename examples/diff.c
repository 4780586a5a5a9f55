/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two recordings of the same work: the facts of the job, and those of its commands.
 * diff BEFORE AFTER. "worse" stands where more is worse and there is more of it. */
#include <baro/baro.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int summarize(const char *name, struct baro_fold **ret, struct baro_error *err)
{
    struct baro_tape *tape;
    int code = baro_tape_open_named(&tape, name, err);
    if (code < 0)
        return code;
    code = baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, ret, err);
    baro_tape_close(tape);
    return code;
}

static const char *verdict(const struct baro_fact *fact, double grown)
{
    switch (fact->trend) {
    case BARO_TREND_MORE_IS_WORSE: return grown > 0 ? "  worse" : "  better";
    case BARO_TREND_MORE_IS_BETTER: return grown > 0 ? "  better" : "  worse";
    default: return "";
    }
}

/* One row of each. */
static void compare_row(const struct baro_summary *a, size_t row, const struct baro_summary *b, size_t other,
                        const struct baro_section *section, const char *what)
{
    for (int f = section->first_fact; f < section->first_fact + section->fact_count; f++) {
        const struct baro_fact *fact = baro_summary_fact(f);
        struct baro_value before, after;
        baro_summary_value(a, f, row, &before);
        baro_summary_value(b, f, other, &after);
        double x = baro_fact_real(fact, &before), y = baro_fact_real(fact, &after);
        bool is_measured = fact->semantics != BARO_FACT_PROPERTY && fact->semantics != BARO_FACT_INSTANT;
        if (is_measured && !isnan(x) && !isnan(y) && x != y)
            printf("%s.%s %s%.10g %s%.10g%s\n", what, fact->name, baro_value_prefix(before.flags, BARO_PREFIX_ASCII), x,
                   baro_value_prefix(after.flags, BARO_PREFIX_ASCII), y, verdict(fact, y - x));
    }
}

/* The rows of a table that both have, and those of the first that the second has not. */
static void compare_table(const struct baro_summary *a, const struct baro_summary *b, const char *name,
                          const char *first, bool both)
{
    const int table = baro_summary_section_find(name), key = baro_summary_key(table);
    char shown[128], what[256];
    struct baro_value v;
    for (size_t row = 0; row < baro_summary_rows(a, table); row++) {
        if (baro_summary_value(a, key, row, &v) != BARO_PRESENT)
            continue;
        ptrdiff_t other = baro_summary_row_find(b, table, v.text);
        baro_text_escape(v.text, strlen(v.text), shown, sizeof(shown));
        snprintf(what, sizeof(what), "%s[%s]", name, shown);
        if (other < 0)
            printf("%s only in the %s\n", what, first);
        else if (both)
            compare_row(a, row, b, (size_t)other, baro_summary_section(table), what);
    }
}

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_fold *before = NULL, *after = NULL;
    int bad = argc != 3 || summarize(argv[1], &before, &err) < 0 || summarize(argv[2], &after, &err) < 0;
    if (bad) {
        fprintf(stderr, "%s\n", argc != 3 ? "usage: diff BEFORE AFTER" : err.text);
    } else {
        const struct baro_summary *a = baro_fold_summary(before), *b = baro_fold_summary(after);
        compare_row(a, 0, b, 0, baro_summary_section(baro_summary_section_find("job")), "job");
        compare_table(a, b, "commands", "first", true);
        compare_table(b, a, "commands", "second", false);
    }
    baro_fold_free(before);
    baro_fold_free(after);
    return bad;
}
