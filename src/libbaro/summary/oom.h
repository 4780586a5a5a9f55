/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the OOM kills are that a control group counted. The kernel counts them for the group, and the job may share
 * that with others. What is known of the job: which of its processes SIGKILL ended, and when. A kill is the job's for
 * certain in a group that holds the job alone, or where the kernel's log names the process. Else it is likely the job's
 * where the group's counter rose as SIGKILL ended a process of the job: another process may have sent that SIGKILL
 * while another process of the group was killed.
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
    uint64_t ended;      /* how many it ended in all */
    bool status_unknown; /* how some processes ended is not known */
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
/* Which of the ends in end_ns[] are likely OOM kills, by the counter of the job's control group. */
void oom_ends(const struct baro_summary *s, bool ret[OOM_TIMES]);

#endif
