/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading a tape through libbaro costs, in CPU time of this process.
 *
 *   readers TAPE [MOMENTS]      default: 200
 *
 * walk:    every sample, and of each the processes that may have changed: what a reader needs that keeps its own state
 * values:  the same, with all values of these processes read in one call each
 * moments: the tape is opened and read at a time anywhere between its begin and end, each time anew
 *
 * Tapes to try it with are made by tape_density: `tape_density 200 0 5000 FILE` has 1,000,000 process-samples of which
 * nearly nothing changed, `tape_density 200 20 86400 FILE` is 24 hours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "baro/baro.h"

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fail(const struct baro_error *err)
{
    fprintf(stderr, "readers: %s\n", err->text);
    exit(1);
}

static void walk(const char *path, bool read_values)
{
    struct baro_tape *tape;
    struct baro_record record;
    struct baro_error err;
    uint64_t value[256], processes = 0, changed = 0;
    uint8_t absent[256];
    int metric[256], r;
    double from = cpu_ms();
    if (baro_tape_open(&tape, path, &err) < 0)
        fail(&err);
    int n = baro_tape_metric_count(tape, BARO_KIND_PROCESS);
    for (int i = 0; i < n; i++)
        metric[i] = i;
    while ((r = baro_tape_next(tape, &record, &err)) > 0) {
        if (record.kind != BARO_RECORD_SAMPLE)
            continue;
        const struct baro_sample *s = record.u.sample;
        size_t count = baro_sample_rows(s, BARO_KIND_PROCESS);
        processes += count;
        for (size_t i = baro_sample_next_changed(s, 0); i < count; i = baro_sample_next_changed(s, i + 1)) {
            changed++;
            if (read_values)
                baro_row_values(baro_sample_row(s, BARO_KIND_PROCESS, i), metric, (size_t)n, value, absent);
        }
    }
    if (r < 0)
        fail(&err);
    baro_tape_close(tape);
    double ms = cpu_ms() - from;
    printf("%-7s %.1f ms: %llu process-samples (%.1f million a second), %llu that may have changed\n",
           read_values ? "values" : "walk", ms, (unsigned long long)processes, (double)processes / ms / 1e3,
           (unsigned long long)changed);
}

static void moments(const char *path, size_t n)
{
    struct baro_tape *tape;
    struct baro_record record;
    struct baro_error err;
    uint64_t first = 0, last = 0, state = 88172645463325252u;
    double *ms = calloc(n, sizeof(*ms));
    if (!ms || baro_tape_open(&tape, path, &err) < 0 || baro_tape_range(tape, &first, &last, &err) < 0)
        fail(&err);
    baro_tape_close(tape);
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double from = cpu_ms();
        if (baro_tape_open(&tape, path, &err) < 0 ||
            baro_tape_seek(tape, first + state % (last - first + 1), &record, &err) < 0)
            fail(&err);
        baro_tape_close(tape);
        ms[i] = cpu_ms() - from;
    }
    qsort(ms, n, sizeof(*ms), by_size);
    printf("moments median %.2f ms, nine in ten below %.2f ms, longest %.2f ms, of %zu\n", ms[n / 2], ms[n * 9 / 10],
           ms[n - 1], n);
    free(ms);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    walk(argv[1], false);
    walk(argv[1], true);
    moments(argv[1], n ? n : 1);
    return 0;
}
