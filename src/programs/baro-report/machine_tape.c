/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/machine_tape.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define LOOKED_AT_MOST 64u        /* tapes whose headers are read */
#define HEAD_NS (200 * NS_PER_MS) /* CPU time for each */

/* What baro observe calls the machine. */
static bool has_name_of_machine(const char *name)
{
    return strncmp(name, "host", 4) == 0 || strstr(name, "-host");
}

static bool is_machine_alone(const struct baro_header *h)
{
    return baro_header_mode(h) == BARO_MODE_ATTACH && !baro_header_target_count(h) && !*baro_header_argv(h);
}

/* Does the tape have the machine of the job at the beginning of the job? */
static bool covers(struct baro_tape *machine, const struct baro_header *job)
{
    const struct baro_header *h = baro_tape_header(machine);
    uint64_t first, last;
    int64_t later_ns = baro_header_start_realtime_ns(job) - baro_header_start_realtime_ns(h);
    return is_machine_alone(h) && strcmp(baro_header_host(h), baro_header_host(job)) == 0 && later_ns >= 0 &&
           baro_tape_range(machine, &first, &last, NULL) >= 0 && (uint64_t)later_ns < last;
}

struct baro_tape *machine_tape_find(const char *job_path, const struct baro_header *job, char *ret_name, size_t size)
{
    char folder[PATH_MAX];
    struct baro_runs *runs;
    struct baro_tape *found = NULL;
    size_t n = strlen(job_path), looked_at = 0;
    while (n > 1 && job_path[n - 1] == '/') /* a folder of segments */
        n--;
    while (n && job_path[n - 1] != '/')
        n--;
    if (baro_header_mode(job) != BARO_MODE_ATTACH || is_machine_alone(job) || n >= sizeof(folder))
        return NULL;
    snprintf(folder, sizeof(folder), "%.*s", n ? (int)n : 1, n ? job_path : ".");
    if (baro_runs_list_folder(&runs, folder, NULL) < 0)
        return NULL;
    for (size_t i = 0; !found && i < baro_runs_count(runs) && looked_at < LOOKED_AT_MOST; i++) {
        if (!has_name_of_machine(baro_runs_name(runs, i)))
            continue;
        looked_at++;
        if (baro_runs_open(runs, i, HEAD_NS, &found, NULL) < 0)
            found = NULL;
        if (found && !covers(found, job)) {
            baro_tape_close(found);
            found = NULL;
        }
        if (found)
            snprintf(ret_name, size, "%s", baro_runs_name(runs, i));
    }
    baro_runs_free(runs);
    if (found)
        baro_tape_limit_cpu(found, 0);
    return found;
}
