/* SPDX-License-Identifier: Apache-2.0 */
/* How many cores the job kept busy over time, as a text chart: curve TAPE */
#include <stdio.h>

#include <baro/baro.h>

enum { ROWS = 20, WIDTH = 60 };

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_series *series;
    uint64_t first_ns, last_ns;

    if (argc != 2) {
        fprintf(stderr, "usage: curve TAPE\n");
        return 2;
    }
    if (baro_tape_open(&tape, argv[1], &err) < 0) {
        fprintf(stderr, "curve: %s\n", err.text);
        return 1;
    }
    int cpu = -1, any = baro_tape_range(tape, &first_ns, &last_ns, &err);
    if (any > 0 && baro_series_new(&series, 0, last_ns, ROWS, &err) == 0) {
        cpu = baro_series_add_rate(series, BARO_KIND_JOB, 0, NULL, baro_metric_find(BARO_KIND_JOB, "cpu_ns"), &err);
        if (cpu < 0 || baro_series_read(series, tape, &err) < 0) {
            baro_series_free(series);
            cpu = -1;
        }
    }
    if (cpu < 0) {
        fprintf(stderr, "curve: %s\n", any ? err.text : "the tape has no sample");
        baro_tape_close(tape);
        return 1;
    }
    double cpus = baro_header_cpus(baro_tape_header(tape));
    for (size_t i = 0; i < ROWS; i++) {
        const struct baro_bucket *b = baro_series_bucket(series, cpu, i);
        double cores = b->mean / 1e9;
        printf("%8.2f s  %5.2f  ", (double)baro_series_bucket_ns(series, i) / 1e9, cores);
        for (int k = 0; cpus > 0 && k < (int)(cores / cpus * WIDTH + 0.5); k++)
            putchar('#');
        putchar('\n');
    }
    baro_series_free(series);
    baro_tape_close(tape);
    return 0;
}
