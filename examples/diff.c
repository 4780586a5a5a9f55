/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two recordings: the facts of the job, and the commands by name. diff BEFORE AFTER */
#include <baro/baro.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int summarize(const char *name, struct baro_summary **ret, struct baro_error *err)
{
    struct baro_tape *tape;
    int code = baro_tape_open_named(&tape, name, err);
    if (code < 0)
        return code;
    code = baro_summary_of_tape(tape, ret, err);
    baro_tape_close(tape);
    return code;
}

static double number(const struct baro_summary *s, int fact, size_t row)
{
    struct baro_value v;
    if (baro_summary_value(s, fact, row, &v) != BARO_PRESENT)
        return NAN;
    switch (baro_summary_fact(fact)->type) {
    case BARO_FACT_UNSIGNED: return (double)v.u64;
    case BARO_FACT_SIGNED: return (double)v.i64;
    case BARO_FACT_REAL: return v.real;
    default: return NAN;
    }
}

/* The row with the same key; the last one and more: there is none. */
static size_t same(const struct baro_summary *a, size_t row, const struct baro_summary *b, int section)
{
    const int key = baro_summary_key(section);
    struct baro_value x, y;
    size_t i = 0, n = baro_summary_rows(b, section);
    if (key < 0 || baro_summary_value(a, key, row, &x) != BARO_PRESENT || !x.text)
        return key < 0 ? row : n;
    while (i < n && (baro_summary_value(b, key, i, &y) != BARO_PRESENT || !y.text || strcmp(x.text, y.text) != 0))
        i++;
    return i;
}

/* What a row is called: the text of its key, else its number. */
static void print_name(const char *section, const struct baro_summary *s, int key, size_t row)
{
    struct baro_value v;
    char name[256];
    if (key < 0) {
        printf("%s", section);
    } else if (baro_summary_value(s, key, row, &v) == BARO_PRESENT && v.text) {
        baro_text_escape(v.text, strlen(v.text), name, sizeof(name));
        printf("%s[%s]", section, name);
    } else {
        printf("%s[%zu]", section, row);
    }
}

static void only(const char *name, const struct baro_summary *s, size_t row, int section, const char *where)
{
    print_name(name, s, baro_summary_key(section), row);
    printf(" only in %s\n", where);
}

static void compare(const struct baro_summary *a, const struct baro_summary *b, const char *name)
{
    const int number_of = baro_summary_section_find(name), key = baro_summary_key(number_of);
    const struct baro_section *section = baro_summary_section(number_of);
    for (size_t row = 0; row < baro_summary_rows(a, number_of); row++) {
        size_t other = same(a, row, b, number_of);
        if (other == baro_summary_rows(b, number_of))
            only(name, a, row, number_of, "the first");
        for (int f = section->first_fact; f < section->first_fact + section->fact_count; f++) {
            double x = number(a, f, row), y = number(b, f, other);
            if (!isnan(x) && !isnan(y) && x != y) {
                print_name(name, a, key, row);
                printf(".%s %.10g %.10g\n", baro_summary_fact(f)->name, x, y);
            }
        }
    }
    for (size_t row = 0; row < baro_summary_rows(b, number_of); row++)
        if (same(b, row, a, number_of) == baro_summary_rows(a, number_of))
            only(name, b, row, number_of, "the second");
}

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_summary *a = NULL, *b = NULL;
    int bad = argc != 3 || summarize(argv[1], &a, &err) < 0 || summarize(argv[2], &b, &err) < 0;
    if (bad) {
        fprintf(stderr, "%s\n", argc != 3 ? "usage: diff BEFORE AFTER" : err.text);
    } else {
        compare(a, b, "job");
        compare(a, b, "commands");
    }
    baro_summary_free(a);
    baro_summary_free(b);
    return bad;
}
