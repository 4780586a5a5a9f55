/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a recording while it lasts: cores and memory of the job at each sample. follow TAPE (or @last) */
#include <baro/baro.h>
#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_sample *before = NULL;
    struct baro_tape *tape;
    struct baro_record record;
    const int derived = baro_derived_find(BARO_KIND_JOB, "cores"),
              rss = baro_metric_find(BARO_KIND_PROCESS, "rss_bytes");
    int code = baro_tape_open_named(&tape, argc > 1 ? argv[1] : NULL, &err);
    if (code < 0) {
        fprintf(stderr, "follow: %s\n", err.text);
        return 1;
    }
    do {
        while ((code = baro_tape_next(tape, &record, &err)) > 0) {
            if (record.kind != BARO_RECORD_SAMPLE)
                continue;
            const struct baro_sample *now = record.u.sample;
            const struct baro_row *then = before ? baro_sample_row(before, BARO_KIND_JOB, 0) : NULL;
            double cores;
            uint64_t bytes;
            size_t lacking;
            printf("%8.2f s", (double)record.t_ns / 1e9);
            if (baro_row_derived(then, baro_sample_row(now, BARO_KIND_JOB, 0), derived, &cores) == BARO_PRESENT)
                printf("  %5.2f cores", cores);
            if (baro_sample_sum(now, rss, &bytes, &lacking) == BARO_PRESENT)
                printf("  %s%.1f MB", lacking ? "at least " : "", (double)bytes / 1e6);
            printf("\n");
            baro_sample_free(before);
            before = NULL;
            if ((code = baro_sample_copy(now, &before, &err)) < 0)
                break;
        }
    } while (code == 0 && (code = baro_tape_wait(tape, -1, &err)) > 0);
    baro_sample_free(before);
    baro_tape_close(tape);
    if (code < 0 && code != BARO_E_ENDED) {
        fprintf(stderr, "follow: %s\n", err.text);
        return 1;
    }
    return 0;
}
