/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and memory of a job at each sample: samples TAPE */
#include <stdio.h>

#include <baro/baro.h>

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_record record;
    int code;

    if (argc != 2 || baro_tape_open(&tape, argv[1], &err) < 0) {
        fprintf(stderr, "samples: %s\n", argc == 2 ? err.text : "which tape?");
        return 2;
    }
    baro_metric_id rss = baro_metric_find(BARO_KIND_PROCESS, "rss");
    while ((code = baro_tape_next(tape, &record, &err)) > 0) {
        const struct baro_sample *sample = record.u.sample;
        uint64_t bytes;
        if (record.kind == BARO_RECORD_SAMPLE && baro_sample_sum(sample, rss, &bytes, NULL) == BARO_PRESENT)
            printf("%9.3f s %4zu processes %9.1f MB\n", (double)record.t_ns / 1e9,
                   baro_sample_rows(sample, BARO_KIND_PROCESS), (double)bytes / 1e6);
    }
    if (code < 0)
        fprintf(stderr, "samples: %s\n", err.text);
    baro_tape_close(tape);
    return code < 0;
}
