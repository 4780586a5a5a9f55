/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/limits.h"

#include <string.h>

#include "libbaro/summary/groups.h"

#define CUT "..." /* stands for the beginning of a path that is too long for a source */

/* ---- limits ---- */

uint64_t summary_memory_limit(const struct baro_summary *s, const char **ret_source)
{
    uint64_t total;
    *ret_source = s->limit.now.memory_bytes ? s->limit.now.memory_source : LIMIT_MACHINE;
    if (s->limit.now.memory_bytes)
        return s->limit.now.memory_bytes;
    return summary_machine_memory(s, &total) == BARO_PRESENT ? total : 0;
}

double summary_cores_limit(const struct baro_summary *s, const char **ret_source)
{
    uint64_t cpus;
    *ret_source = s->limit.now.cores_ppm ? s->limit.now.cores_source : LIMIT_MACHINE;
    if (s->limit.now.cores_ppm)
        return (double)s->limit.now.cores_ppm / 1e6;
    return summary_machine_cpus(s, &cpus) == BARO_PRESENT ? (double)cpus : 0;
}

uint64_t summary_pids_limit(const struct baro_summary *s, const char **ret_source)
{
    *ret_source = s->limit.now.pids ? s->limit.now.pids_source : LIMIT_MACHINE;
    return s->limit.now.pids;
}

int summary_memory_unknown(const struct baro_summary *s)
{
    const char *source;
    return s->limit.now.memory_absent         ? s->limit.now.memory_absent
           : summary_memory_limit(s, &source) ? BARO_PRESENT
                                              : BARO_ABSENT_UNKNOWN;
}

int summary_cores_unknown(const struct baro_summary *s)
{
    const char *source;
    return s->limit.now.cores_absent             ? s->limit.now.cores_absent
           : summary_cores_limit(s, &source) > 0 ? BARO_PRESENT
                                                 : BARO_ABSENT_UNKNOWN;
}

int summary_pids_unknown(const struct baro_summary *s)
{
    return s->limit.now.pids_absent ? s->limit.now.pids_absent : s->limit.now.pids ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Is this the path of the group? A long path is stored as CUT and its end. */
static bool is_path_of(const struct machine_group *g, const char *path, size_t n)
{
    bool cut = n > sizeof(CUT) - 1 && begins(path, CUT);
    size_t left_out = cut ? sizeof(CUT) - 1 : 0, have = strlen(g->end);
    n -= left_out;
    return (cut ? g->length > n : g->length == n) && have >= n && memcmp(g->end + have - n, path + left_out, n) == 0;
}

/* The control group that sets a limit: "cgroup /PATH FILE". A path may have blanks, a file has none. */
static const struct machine_group *limiting_group(const struct baro_summary *s, const char *source)
{
    static const char word[] = "cgroup ";
    const struct machine_group *found = NULL;
    const char *path = source + sizeof(word) - 1, *file = strrchr(source, ' ');
    if (!begins(source, word) || file < path)
        return NULL;
    for (size_t i = 0; i < s->machine.n_groups; i++) {
        const struct machine_group *g = &s->machine.group[i];
        if (is_path_of(g, path, (size_t)(file - path)))
            found = g;
    }
    return found;
}

/* ---- memory ---- */

const char *summary_memory_measure_name(enum memory_measure measure)
{
    static const char *const names[] = {[MEMORY_CGROUP] = "cgroup",
                                        [MEMORY_PSS] = "pss",
                                        [MEMORY_RSS] = "rss",
                                        [MEMORY_PROCESS] = "process",
                                        [MEMORY_ADDRESS_SPACE] = "address_space"};
    return names[measure];
}

/* RLIMIT_AS limits the address space, which samples have. What RLIMIT_DATA limits is in no sample. */
static int most_of_process(const struct baro_summary *s, const char *source, uint64_t *ret,
                           enum memory_measure *ret_measure)
{
    const struct extreme *most = &s->limit.held.address_space;
    *ret_measure = MEMORY_ADDRESS_SPACE;
    if (strcmp(source, LIMIT_ADDRESS_SPACE) != 0)
        return BARO_ABSENT_UNSUPPORTED;
    *ret = most->value;
    return most->seen && most->value ? BARO_PRESENT : most->absent ? most->absent : BARO_ABSENT_NOT_YET;
}

static int most_of_tree(const struct baro_summary *s, uint64_t *ret, enum memory_measure *ret_measure)
{
    const struct summary_held *h = &s->limit.held;
    bool whole = h->pss.seen && h->pss.value && !h->pss_partly && h->rss_without_pss <= h->pss.value;
    const struct extreme *peak = whole ? &h->pss : &h->rss;
    /* If the recorder attached, a mark may be older than the recording. A difference up to a twentieth is ignored:
     * the kernel counts rss in batches on each CPU (6.2 to 6.15), and pss leaves out a little as well. */
    bool marked = s->subject.mode == BARO_MODE_RUN && h->process.seen && h->process.value,
         there = peak->seen && peak->value;
    if (marked && (!there || h->process.value > h->rss.value + h->rss.value / 20)) {
        *ret_measure = MEMORY_PROCESS;
        *ret = h->process.value;
        return BARO_PRESENT;
    }
    *ret_measure = whole ? MEMORY_PSS : MEMORY_RSS;
    *ret = peak->value;
    return there ? BARO_PRESENT : peak->absent ? peak->absent : BARO_ABSENT_NOT_YET;
}

int summary_memory_most(const struct baro_summary *s, uint64_t *ret, enum memory_measure *ret_measure)
{
    const char *source;
    uint64_t limit = summary_memory_limit(s, &source);
    const struct machine_group *g = groups_job(s);
    /* A group that was made for the job has held nothing else. The peak of an older group may be from before the
     * recording. */
    bool marked = g && s->subject.own_cgroup && g->memory_mark.seen;
    *ret = 0;
    if (g && (marked ? !begins(source, "RLIMIT_") : begins(source, "cgroup "))) {
        *ret_measure = MEMORY_CGROUP;
        *ret = groups_memory(s, g, g == limiting_group(s, source) ? limit : 0);
        return g->memory.seen || *ret ? BARO_PRESENT : g->memory.absent;
    }
    if (begins(source, "RLIMIT_"))
        return most_of_process(s, source, ret, ret_measure);
    int absent = most_of_tree(s, ret, ret_measure);
    /* The group never held more than its peak. A larger sum has pages that are charged to another group, which read
     * them first, or shared pages that are counted with each process. */
    g = limiting_group(s, source);
    if (g && g->memory_mark.seen && *ret > g->memory_mark.value)
        *ret = g->memory_mark.value;
    return absent;
}

int summary_memory_at_most(const struct baro_summary *s, uint64_t *ret)
{
    enum memory_measure measure;
    struct summary_rss rss;
    const struct machine_group *g = groups_job(s);
    int absent = summary_memory_most(s, ret, &measure);
    summary_rss_peak(s, &rss);
    if (absent || measure == MEMORY_CGROUP || measure == MEMORY_ADDRESS_SPACE || !rss.exceeded)
        return absent;
    if (rss.at_most_absent)
        return rss.at_most_absent;
    *ret += rss.at_most - rss.value;
    if (g && g->memory_mark.seen && g->memory_mark.value >= rss.value && g->memory_mark.value < *ret)
        *ret = g->memory_mark.value;
    return BARO_PRESENT;
}

int summary_memory_peak_ratio(const struct baro_summary *s, double *ret)
{
    const char *source;
    enum memory_measure measure;
    uint64_t most, limit = summary_memory_limit(s, &source);
    int absent = summary_memory_most(s, &most, &measure);
    *ret = 0;
    if (absent == BARO_PRESENT)
        absent = summary_memory_unknown(s);
    if (absent != BARO_PRESENT)
        return absent;
    *ret = (double)most / (double)limit;
    return BARO_PRESENT;
}

int summary_memory_group_ratio(const struct baro_summary *s, double *ret)
{
    const char *source;
    uint64_t limit = summary_memory_limit(s, &source);
    const struct machine_group *g = limiting_group(s, source);
    *ret = 0;
    if (!begins(source, "cgroup "))
        return BARO_ABSENT_UNSUPPORTED;
    if (!g || !limit)
        return BARO_ABSENT_UNKNOWN;
    if (!g->memory.seen)
        return g->memory.absent;
    *ret = (double)groups_memory(s, g, limit) / (double)limit;
    return BARO_PRESENT;
}

/* ---- cores ---- */

int summary_cores_peak_ratio(const struct baro_summary *s, double *ret)
{
    const char *source;
    double limit = summary_cores_limit(s, &source);
    int absent = summary_cores_peak_of(s, &s->limit.held.cores, ret);
    if (absent == BARO_PRESENT)
        absent = summary_cores_unknown(s);
    *ret = absent == BARO_PRESENT ? *ret / limit : 0;
    return absent;
}

/* ---- the machine ---- */

static int gauge_or(const struct baro_summary *s, enum machine_gauge gauge, uint64_t otherwise, uint64_t *ret)
{
    *ret = s->machine.gauge[gauge].seen ? s->machine.gauge[gauge].value : otherwise;
    return *ret ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

int summary_machine_cpus(const struct baro_summary *s, uint64_t *ret)
{
    return gauge_or(s, MACHINE_CPUS, s->subject.cpus, ret);
}

int summary_machine_memory(const struct baro_summary *s, uint64_t *ret)
{
    return gauge_or(s, MACHINE_MEMORY_TOTAL, s->subject.memory_total, ret);
}

int summary_machine_grown(const struct baro_summary *s, enum machine_counter counter, uint64_t *ret)
{
    const struct growth *g = &s->machine.counter[counter];
    *ret = g->seen ? g->grown : 0;
    return g->seen ? BARO_PRESENT : g->absent;
}

int summary_machine_gauge(const struct baro_summary *s, enum machine_gauge gauge, uint64_t *ret)
{
    const struct extreme *e = &s->machine.gauge[gauge];
    *ret = e->seen ? e->value : 0;
    return e->seen ? BARO_PRESENT : e->absent;
}

/* CPU times come in steps of 10 ms on each CPU, which can make the rate exceed the number of CPUs. */
static void at_most_all(const struct baro_summary *s, double *cores)
{
    uint64_t cpus;
    if (summary_machine_cpus(s, &cpus) == BARO_PRESENT && *cores > (double)cpus)
        *cores = (double)cpus;
}

int summary_machine_cores_mean(const struct baro_summary *s, double *ret)
{
    int absent = machine_share(&s->machine, MACHINE_BUSY, ret);
    at_most_all(s, ret);
    return absent;
}

int summary_machine_cores_peak(const struct baro_summary *s, double *ret)
{
    *ret = s->machine.cores.rate / 1e9;
    at_most_all(s, ret);
    if (!s->machine.cores.found) {
        const struct growth *busy = &s->machine.counter[MACHINE_BUSY];
        return busy->seen ? BARO_ABSENT_UNKNOWN : busy->absent;
    }
    return BARO_PRESENT;
}

int summary_machine_others(const struct baro_summary *s, double *ret)
{
    double busy, job, self;
    int absent = summary_machine_cores_mean(s, &busy);
    if (absent == BARO_PRESENT)
        absent = machine_share(&s->machine, MACHINE_JOB, &job);
    *ret = 0;
    if (absent != BARO_PRESENT)
        return absent;
    if (machine_share(&s->machine, MACHINE_SELF, &self) != BARO_PRESENT)
        self = 0;
    *ret = busy > job + self ? busy - job - self : 0;
    return BARO_PRESENT;
}

int summary_machine_share(const struct baro_summary *s, enum machine_counter counter, double *ret)
{
    const struct growth *part = &s->machine.counter[counter], *all = &s->machine.counter[MACHINE_ALL];
    *ret = 0;
    if (!part->seen || !all->seen)
        return part->seen ? all->absent : part->absent;
    if (!all->grown)
        return BARO_ABSENT_UNKNOWN;
    *ret = (double)part->grown / (double)all->grown;
    return BARO_PRESENT;
}

uint64_t summary_machine_watched_ns(const struct baro_summary *s)
{
    const struct growth *busy = &s->machine.counter[MACHINE_BUSY];
    return busy->to_ns - busy->from_ns;
}
