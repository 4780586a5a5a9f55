/* SPDX-License-Identifier: Apache-2.0 */
/* Derived metrics between each two samples as CSV: derived TAPE job|recorder|host */
#include <inttypes.h>
#include <stdio.h>

#include <baro/baro.h>

static void print_row(const struct baro_sample *before, const struct baro_sample *now, int kind)
{
    printf("%" PRIu64, baro_sample_t_ns(now));
    for (int i = 0; i < baro_derived_count(kind); i++) {
        double v;
        if (baro_row_derived(baro_sample_row(before, kind, 0), baro_sample_row(now, kind, 0), i, &v) == BARO_PRESENT)
            printf(",%.17g", v);
        else
            printf(",");
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_record record;
    struct baro_tape *tape;
    struct baro_sample *before = NULL;
    int kind = argc == 3 ? baro_kind_find(argv[2]) : -1, code;

    if (kind != BARO_KIND_JOB && kind != BARO_KIND_RECORDER && kind != BARO_KIND_HOST) {
        fprintf(stderr, "usage: derived TAPE job|recorder|host\n");
        return 2;
    }
    if (baro_tape_open(&tape, argv[1], &err) < 0) {
        fprintf(stderr, "derived: %s\n", err.text);
        return 1;
    }
    printf("t_ns");
    for (int i = 0; i < baro_derived_count(kind); i++)
        printf(",%s", baro_derived_get(kind, i)->name);
    printf("\n");
    while ((code = baro_tape_next(tape, &record, &err)) > 0) {
        struct baro_sample *copy;
        if (record.kind != BARO_RECORD_SAMPLE)
            continue;
        if (before)
            print_row(before, record.u.sample, kind);
        /* The sample is the cursor's; the one to compare the next with is ours. */
        if ((code = baro_sample_copy(record.u.sample, &copy, &err)) < 0)
            break;
        baro_sample_free(before);
        before = copy;
    }
    if (code < 0)
        fprintf(stderr, "derived: %s\n", err.text);
    baro_sample_free(before);
    baro_tape_close(tape);
    return code < 0;
}
