/* SPDX-License-Identifier: Apache-2.0 */
/* All that `baro summary` knows of a tape, a line for each fact: facts TAPE */
#include <inttypes.h>
#include <stdio.h>

#include <baro/baro.h>

static void print_value(const struct baro_fact *fact, const struct baro_value *v)
{
    if (v->absent == BARO_ABSENT_NONE)
        printf("none");
    else if (v->absent)
        printf("absent: %s", baro_absent_name((enum baro_absent)v->absent));
    else if (fact->type == BARO_FACT_UNSIGNED)
        printf("%" PRIu64, v->u64);
    else if (fact->type == BARO_FACT_SIGNED || fact->type == BARO_FACT_TIME)
        printf("%" PRId64, v->i64);
    else if (fact->type == BARO_FACT_REAL)
        printf("%.6g", v->real);
    else if (fact->type == BARO_FACT_BOOLEAN)
        printf("%s", v->u64 ? "true" : "false");
    else
        printf("%s", v->text);
    if (v->flags & BARO_VALUE_LOWER_BOUND)
        printf(" (at least)");
    if (v->flags & BARO_VALUE_ESTIMATE)
        printf(" (estimate)");
}

static void print_section(const struct baro_summary *summary, int number)
{
    const struct baro_section *section = baro_summary_section(number);
    for (size_t row = 0; row < baro_summary_rows(summary, number); row++) {
        for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
            struct baro_value v;
            baro_summary_value(summary, i, row, &v);
            printf("%s%s", section->name, *section->name ? "." : "");
            if (section->is_table)
                printf("%zu.", row);
            printf("%s ", baro_summary_fact(i)->name);
            print_value(baro_summary_fact(i), &v);
            printf("\n");
        }
    }
}

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_fold *fold;

    if (argc != 2) {
        fprintf(stderr, "usage: facts TAPE\n");
        return 2;
    }
    if (baro_tape_open(&tape, argv[1], &err) < 0 || baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, &err) < 0) {
        fprintf(stderr, "facts: %s\n", err.text);
        return 1;
    }
    for (int i = 0; i < baro_summary_section_count(); i++)
        print_section(baro_fold_summary(fold), i);
    baro_fold_free(fold);
    baro_tape_close(tape);
    return 0;
}
