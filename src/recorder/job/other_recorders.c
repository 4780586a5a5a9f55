/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that belong to other recordings of barograph. A recording that is begun inside the job has a wrapper, a
 * recorder and helpers, which are descendants of the job's processes. They stay members, because the kernel adds what
 * they used to their parents' counters as that of any other process, and the ledger has to know whose it is. What each
 * has used itself is subtracted from the totals before these are published, and their rows and exits are not written.
 *
 * Example: python has used 300 ms, and a recorder that it began has used 40 ms when python reaps it. The ledger has
 * 340 ms, 40 of which are the recorder's: the job has used 300 ms, and other recorders 40.
 *
 * Only what such a member uses itself is subtracted, so one that should be none moves nothing but its own part.
 */
#include "recorder/job/counters.h"
#include "recorder/job/task.h"

#include <stdlib.h>
#include <string.h>

static void used_by(const struct job *j, const struct member *m, uint64_t ret[BASE_MAX])
{
    static const enum base_counter of[] = {BASE_CPU_USER,     BASE_CPU_SYSTEM,         BASE_FAULTS_MINOR,
                                           BASE_FAULTS_MAJOR, BASE_SWITCHES_VOLUNTARY, BASE_SWITCHES_INVOLUNTARY};
    bool whole;
    memset(ret, 0, BASE_MAX * sizeof(*ret));
    ret[BASE_CPU] = since_base(m, BASE_CPU, own_cpu(m));
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
        ret[of[i]] = own_since_base(m, of[i]);
    for (enum ledger_counter c = LEDGER_IO_READ; c <= LEDGER_IO_WCHAR; c++)
        own_io(j, m, c, &ret[c], &whole);
}

/* Adds what the member has used since it is one of these. `used` is what it has used in all. */
static void add_since(const struct member *m, const uint64_t used[BASE_MAX], uint64_t ret[BASE_MAX])
{
    for (int c = 0; c < BASE_MAX; c++) {
        uint64_t base = m->other.base ? m->other.base[c] : 0;
        ret[c] += used[c] > base ? used[c] - base : 0;
    }
}

static void leave_list(struct job *j, struct member *m)
{
    struct member **at = &j->others.first;
    while (*at != m)
        at = &(*at)->other.next;
    *at = m->other.next;
    free(m->other.base);
    m->other.base = NULL;
    m->other.is = false;
}

static void cease_to_be_other(struct job *j, struct member *m)
{
    uint64_t used[BASE_MAX];
    used_by(j, m, used);
    add_since(m, used, j->others.past);
    j->others.started--;
    j->others.listed--;
    j->others.alive -= member_state(m) == MEMBER_ALIVE;
    leave_list(j, m);
    job_label(m, j, m->of_task.of_children);
}

/* Peaks that were reached since the member began include it. */
static void lower_peaks(struct job *j, const struct member *m)
{
    j->counts.peak -= j->counts.peak > m->other.peak_before;
    j->at_once.most -= j->at_once.most > m->other.most_before;
}

static void become_other(struct job *j, struct member *m)
{
    uint64_t used[BASE_MAX];
    used_by(j, m, used);
    if (!m->other.was_started && !m->other.from_birth && used[BASE_CPU] &&
        (m->other.base = malloc(sizeof(used))) != NULL)
        memcpy(m->other.base, used, sizeof(used));
    job_end_unseen(j, m, false);
    peak_end_awaited(j, m, false);
    lower_peaks(j, m);
    if (m->of_task.number)
        job_label(m, j, 0);
    m->other.is = true;
    m->other.next = j->others.first;
    j->others.first = m;
    j->others.started++;
    j->others.listed++;
    j->others.alive += member_state(m) == MEMBER_ALIVE;
}

void job_set_other(struct job *j, struct member *m, bool is)
{
    if (m->other.is == is || member_is_gone(m))
        return;
    if (is)
        become_other(j, m);
    else
        cease_to_be_other(j, m);
    j->others.changes++;
    member_moved(m);
}

bool job_starts_others(const struct member *m)
{
    return m && m->other.is && (m->other.was_started || comm_is_ours(m->reading.comm));
}

void others_exit(struct job *j, struct member *m, const struct baro_exit *e)
{
    uint64_t used[BASE_MAX];
    used_by(j, m, used);
    if (e->absent[EXIT_cpu] == BARO_PRESENT)
        used[BASE_CPU] = e->value[EXIT_cpu];
    add_since(m, used, j->others.past);
    j->others.ended++;
    leave_list(j, m);
}

void others_forget(struct job *j, struct member *m)
{
    j->others.started--;
    leave_list(j, m);
}

void others_refresh(struct job *j)
{
    uint64_t used[BASE_MAX], rss = 0;
    memcpy(j->others.used, j->others.past, sizeof(used));
    for (const struct member *m = j->others.first; m; m = m->other.next) {
        used_by(j, m, used);
        add_since(m, used, j->others.used);
        rss += member_is_gone(m) ? 0 : value(m, PROCESS_rss);
    }
    j->others.rss_peak = max_u64(j->others.rss_peak, rss);
}

static void take_off(uint64_t *value, uint64_t part)
{
    *value -= part < *value ? part : *value;
}

void others_subtract(const struct job *j, uint64_t total[LEDGER_MAX], uint64_t *named)
{
    const uint64_t *used = j->others.used;
    uint64_t sum = total[LEDGER_CPU_USER] + total[LEDGER_CPU_SYSTEM];
    take_off(&sum, used[BASE_CPU]);
    take_off(&total[LEDGER_CPU_USER], used[BASE_CPU_USER]);
    total[LEDGER_CPU_USER] = total[LEDGER_CPU_USER] < sum ? total[LEDGER_CPU_USER] : sum;
    total[LEDGER_CPU_SYSTEM] = sum - total[LEDGER_CPU_USER];
    take_off(named, used[BASE_CPU]);
    take_off(&total[LEDGER_FAULTS_MINOR], used[BASE_FAULTS_MINOR]);
    take_off(&total[LEDGER_FAULTS_MAJOR], used[BASE_FAULTS_MAJOR]);
    for (enum ledger_counter c = LEDGER_IO_READ; c <= LEDGER_IO_WCHAR; c++)
        take_off(&total[c], used[c]);
}
