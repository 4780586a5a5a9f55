/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a job by CPU time: heaviest TAPE */
#include <inttypes.h>
#include <stdio.h>

#include <baro/baro.h>

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_summary *summary;

    if (argc != 2) {
        fprintf(stderr, "usage: heaviest TAPE\n");
        return 2;
    }
    if (baro_tape_open(&tape, argv[1], &err) < 0 || baro_summary_of_tape(tape, &summary, &err) < 0) {
        fprintf(stderr, "heaviest: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < baro_summary_command_count(summary); i++) {
        uint64_t cpu_ns;
        int absent = baro_summary_command_cpu_ns(summary, i, &cpu_ns);
        printf("%-16s %6" PRIu64 " processes  ", baro_summary_command_name(summary, i),
               baro_summary_command_processes(summary, i));
        if (absent)
            printf("CPU time not known: %s\n", baro_absent_name((enum baro_absent)absent));
        else
            printf("%.3f s\n", (double)cpu_ns / 1e9);
    }
    baro_summary_free(summary);
    baro_tape_close(tape);
    return 0;
}
