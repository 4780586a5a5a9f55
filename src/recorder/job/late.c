/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exits that wait for the final byte counts of the process's sockets. The kernel reports these shortly after the
 * process has ended, and sockets are read a few times a second at most. Example: curl ended 90 ms after its connection
 * was read last, and received 5 MB in that time, which the next read of the sockets has.
 */
#include <stdlib.h>

#include "recorder/job/counters.h"
#include "recorder/job/task.h"

#define LATE_MOST 1000000000u /* ns. A socket may stay for long if its peer does not read */

static bool is_open(const struct member *m)
{
    return m->row.absent[PROCESS_tcp_connections] == BARO_PRESENT &&
           (value(m, PROCESS_tcp_connections) || value(m, PROCESS_tcp_listening) || m->tcp.unsettled);
}

bool late_hold(struct job *j, struct member *m, const struct baro_exit *e, uint64_t now_ns)
{
    if (!j->settling.sockets || j->settling.closing || m->tcp.whole || !is_open(m))
        return false;
    struct job_late *one = malloc(sizeof(*one));
    if (!one)
        return false;
    *one = (struct job_late){.member = m, .exit = *e, .since_ns = now_ns, .next = j->settling.late};
    j->settling.late = one;
    return true;
}

static void report_late_exit(struct job *j, struct job_late *one)
{
    const struct member *m = one->member;
    struct baro_exit *e = &one->exit;
    e->value[EXIT_tcp_sent] = value(m, PROCESS_tcp_sent);
    e->value[EXIT_tcp_received] = value(m, PROCESS_tcp_received);
    e->value[EXIT_tcp_is_lower_bound] = tcp_is_bound(m);
    j->sink.exit(j->sink.context, e);
}

void job_late_report(struct job *j, uint64_t now_ns)
{
    for (struct job_late **at = &j->settling.late; *at;) {
        struct job_late *one = *at;
        if (!one->member->tcp.whole && now_ns < one->since_ns + LATE_MOST && !j->settling.closing) {
            at = &one->next;
            continue;
        }
        report_late_exit(j, one);
        *at = one->next;
        tree_release(&j->tree, one->member);
        free(one);
    }
}

void late_done(struct job *j)
{
    while (j->settling.late) {
        struct job_late *one = j->settling.late;
        j->settling.late = one->next;
        tree_release(&j->tree, one->member);
        free(one);
    }
}
