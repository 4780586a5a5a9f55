/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a job by CPU time: heaviest TAPE */
#include <inttypes.h>
#include <stdio.h>

#include <baro/baro.h>

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_fold *fold;

    if (argc != 2) {
        fprintf(stderr, "usage: heaviest TAPE\n");
        return 2;
    }
    if (baro_tape_open(&tape, argv[1], &err) < 0 || baro_fold_of_tape(tape, BARO_FOLD_SUMMARY, &fold, &err) < 0) {
        fprintf(stderr, "heaviest: %s\n", err.text);
        return 1;
    }
    const struct baro_summary *summary = baro_fold_summary(fold);
    int section = baro_summary_section_find("commands");
    int name = baro_summary_fact_find("commands", "name"), processes = baro_summary_fact_find("commands", "processes"),
        cpu_ns = baro_summary_fact_find("commands", "cpu_ns");
    for (size_t row = 0; row < baro_summary_rows(summary, section); row++) {
        struct baro_value v;
        baro_summary_value(summary, name, row, &v);
        printf("%-16s", v.text);
        baro_summary_value(summary, processes, row, &v);
        printf(" %6" PRIu64 " processes  ", v.u64);
        int absent = baro_summary_value(summary, cpu_ns, row, &v);
        if (absent)
            printf("CPU time not known: %s\n", baro_absent_name((enum baro_absent)absent));
        else
            printf("%.3f s\n", (double)v.u64 / 1e9);
    }
    baro_fold_free(fold);
    baro_tape_close(tape);
    return 0;
}
