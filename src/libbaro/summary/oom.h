/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which of the OOM kills that a control group counted are the job's. The kernel counts them for the group,
 * which the job may share with other processes. For the job it is known which of its processes SIGKILL ended, and when.
 * A kill is certainly the job's if the group holds the job alone, or if the kernel's log names the process. Otherwise
 * it is likely the job's if the group's counter rose when SIGKILL ended a process of the job: another process may have
 * sent that SIGKILL while another process of the group was killed.
 */
#ifndef LIBBARO_SUMMARY_OOM_H
#define LIBBARO_SUMMARY_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OOM_TIMES 32u

/* For struct baro_summary. */
struct summary_oom {
    uint64_t end_ns[OOM_TIMES]; /* when SIGKILL ended a process of the job; the first ones */
    size_t n;
    uint64_t ended; /* how many processes it ended in all */
    uint64_t
        said_ns; /* when a shell ended with 137, as SIGKILL had ended a child whose status is not known; 0: never */
    bool status_unknown; /* for some processes it is not known how they ended */
    uint64_t unknown_ns; /* when the last of these ended */
    bool logged;         /* the kernel's log was read completely */
    uint64_t log_own;    /* processes of the job that the log names */
};

struct baro_summary;
struct baro_exit;
struct baro_event;

void oom_add_exit(struct summary_oom *o, const struct baro_exit *e);
void oom_add_event(struct summary_oom *o, const struct baro_event *e);

struct summary_oom_kills {
    uint64_t likely, least, most; /* OOM kills of the job's processes */
};
/* Returns 0 or enum baro_absent: nothing counts OOM kills where the job ran. */
int summary_oom_kills(const struct baro_summary *s, struct summary_oom_kills *ret);
/* Finds out which of the ends in end_ns[] are likely OOM kills, by the counter of the job's control group. */
void oom_ends(const struct baro_summary *s, bool ret[OOM_TIMES]);

#endif
