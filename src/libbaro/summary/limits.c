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
static bool is_path_of(const struct fold_group *g, const char *path, size_t n)
{
    bool cut = n > sizeof(CUT) - 1 && begins(path, CUT);
    size_t left_out = cut ? sizeof(CUT) - 1 : 0, have = strlen(g->end);
    n -= left_out;
    return (cut ? g->length > n : g->length == n) && have >= n && memcmp(g->end + have - n, path + left_out, n) == 0;
}

/* The control group that sets a limit: "cgroup /PATH FILE". A path may have blanks, a file has none. */
static const struct fold_group *limiting_group(const struct baro_summary *s, const char *source)
{
    static const char word[] = "cgroup ";
    const struct fold_group *found = NULL;
    const char *path = source + sizeof(word) - 1, *file = strrchr(source, ' ');
    if (!begins(source, word) || file < path)
        return NULL;
    for (size_t i = 0; i < s->fold.groups.n; i++) {
        const struct fold_group *g = &s->fold.groups.at[i];
        if (is_path_of(g, path, (size_t)(file - path)))
            found = g;
    }
    return found;
}

/* ---- memory ---- */

const char *summary_memory_measure_name(enum memory_measure measure)
{
    static const char *const names[] = {[MEMORY_CGROUP] = "cgroup",
                                        [MEMORY_PROCESSES] = "processes",
                                        [MEMORY_PROCESS] = "process",
                                        [MEMORY_ADDRESS_SPACE] = "address_space"};
    return names[measure];
}

const char *summary_needed_doubt_name(enum needed_doubt doubt)
{
    static const char *const names[] = {[NEEDED_CERTAIN] = "",        [NEEDED_MARKS] = "marks",
                                        [NEEDED_SHARING] = "sharing", [NEEDED_SHMEM] = "shared_memory",
                                        [NEEDED_KERNEL] = "kernel",   [NEEDED_HUGETLB] = "hugetlb",
                                        [NEEDED_CACHE] = "page_cache"};
    return names[doubt];
}

/* RLIMIT_AS limits the address space, which samples have. What RLIMIT_DATA limits is in no sample. */
static void take_address_space(const struct baro_summary *s, const char *source, struct summary_memory *m)
{
    const struct fold_cell *most = &s->limit.held.address_space;
    m->measure = MEMORY_ADDRESS_SPACE;
    m->bytes = m->at_most = most->most;
    m->is_bound = true;
    m->absent = strcmp(source, LIMIT_ADDRESS_SPACE) != 0 ? BARO_ABSENT_UNSUPPORTED
                : most->seen && most->most               ? BARO_PRESENT
                : most->absent                           ? most->absent
                                                         : BARO_ABSENT_NOT_YET;
}

/* The doubt that adds the most is the one that is reported. */
static void raise_at_most(struct summary_memory *m, uint64_t at_most, enum needed_doubt doubt)
{
    if (at_most <= m->at_most)
        return;
    if (at_most - m->at_most > m->doubt_bytes) {
        m->doubt_bytes = at_most - m->at_most;
        m->doubt = doubt;
    }
    m->at_most = at_most;
}

static void take_processes(const struct baro_summary *s, struct summary_memory *m)
{
    const struct needed *n = &s->limit.needed;
    struct summary_rss rss;
    bool is_unsure;
    uint64_t between = together_most(&n->between, UINT64_MAX, &is_unsure);
    summary_rss_peak(s, &rss);
    m->measure = MEMORY_PROCESSES;
    m->shared = n->peak.shared;
    m->bytes = m->at_most = needed_sum(&n->peak);
    /* What processes had between samples, and what may be the job's in a sample, are doubts of different memory. */
    raise_at_most(m, between, NEEDED_MARKS);
    if (n->most > m->bytes)
        raise_at_most(m, m->at_most + (n->most - m->bytes), n->doubt);
    if (n->mark > m->bytes) {
        m->measure = MEMORY_PROCESS;
        m->bytes = n->mark;
        m->shared = 0;
    }
    raise_at_most(m, n->mark_at_most, NEEDED_MARKS);
    if (rss.mark > n->known_mark + n->known_mark / 20 && !s->limit.held.since_ns)
        raise_at_most(m, rss.mark, NEEDED_MARKS); /* of a process that is not known, files included */
    raise_at_most(m, m->bytes, NEEDED_CERTAIN);
    m->is_open = rss.exceeded && rss.at_most_absent;
    m->absent = m->bytes ? BARO_PRESENT : rss.absent ? rss.absent : BARO_ABSENT_NOT_YET;
}

/* A group that is the job has also what no process maps. What it held at most is the kernel's own peak, which includes
 * page cache. Example: its parts came to 340 MB in a reading, and its peak is 2.1 GB with 1.7 GB of page cache. */
static void take_group(const struct baro_summary *s, const struct fold_group *g, struct summary_memory *m)
{
    uint64_t sum = g->needed.most + (g->needed_has_kernel ? 0 : s->limit.needed.peak.kernel);
    if (!g->needed.seen)
        return;
    m->cache = g->needed_cache;
    if (m->absent == BARO_PRESENT && sum <= m->bytes)
        return;
    m->absent = BARO_PRESENT;
    m->measure = MEMORY_CGROUP;
    m->bytes = sum;
    m->shared = g->needed_shared;
    raise_at_most(m, sum, NEEDED_CERTAIN);
}

/* A group in which the job was never held more than its peak. If processes were moved into it, they may hold more: what
 * they had stays charged to the group that they came from. */
static void limit_to_peak(const struct baro_summary *s, struct summary_memory *m, const struct fold_group *g)
{
    uint64_t peak = g ? g->cell[CGROUP_memory_peak].most : 0;
    if (!g || !g->cell[CGROUP_memory_peak].seen || m->absent || (!summary_is_run(s) && peak < m->bytes))
        return;
    m->bytes = m->bytes < peak ? m->bytes : peak;
    if (m->is_open || m->at_most > peak) {
        m->doubt = m->is_open ? NEEDED_CACHE : m->doubt;
        m->at_most = peak > m->bytes ? peak : m->bytes;
    }
    m->is_open = false;
}

#define BOUND_PART 50u /* a value that may be too small by less than 2 % is no lower bound */

void summary_memory(const struct baro_summary *s, struct summary_memory *ret)
{
    const char *source;
    const struct fold_group *g = groups_job(s);
    *ret = (struct summary_memory){0};
    summary_memory_limit(s, &source);
    if (s->subject.is_machine) { /* what the machine has used is known, and nobody asks how much that needs */
        ret->absent = BARO_ABSENT_UNSUPPORTED;
        return;
    }
    if (begins(source, "RLIMIT_")) {
        take_address_space(s, source, ret);
        return;
    }
    take_processes(s, ret);
    if (g)
        take_group(s, g, ret);
    limit_to_peak(s, ret, g ? g : limiting_group(s, source));
    ret->is_bound = ret->is_open || ret->at_most - ret->bytes > ret->bytes / BOUND_PART;
    if (!ret->is_bound)
        ret->doubt = NEEDED_CERTAIN;
}

/* Does the memory of a control group include that of other recordings inside of the job, and do they matter? */
#define OTHERS_PART 50u
static bool includes_others(const struct baro_summary *s, const struct summary_memory *m)
{
    return m->measure == MEMORY_CGROUP && s->rows.self_absent[RECORDER_others_rss_peak] == BARO_PRESENT &&
           s->rows.self[RECORDER_others_rss_peak] > m->bytes / OTHERS_PART;
}

bool summary_memory_is_at_most(const struct baro_summary *s)
{
    struct summary_memory m;
    summary_memory(s, &m);
    return (s->incidents.memory_counts_twice && m.measure == MEMORY_PROCESSES) || includes_others(s, &m);
}

int summary_memory_peak_ratio(const struct baro_summary *s, double *ret)
{
    const char *source;
    struct summary_memory m;
    uint64_t limit = summary_memory_limit(s, &source);
    summary_memory(s, &m);
    int absent = m.absent ? m.absent : summary_memory_unknown(s);
    *ret = absent ? 0 : (double)m.bytes / (double)limit;
    return absent;
}

int summary_memory_group_ratio(const struct baro_summary *s, double *ret)
{
    const char *source;
    uint64_t limit = summary_memory_limit(s, &source);
    const struct fold_group *g = limiting_group(s, source);
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

static int gauge_or(const struct baro_summary *s, enum fold_term gauge, uint64_t otherwise, uint64_t *ret)
{
    *ret = s->fold.cell[gauge].seen ? s->fold.cell[gauge].most : otherwise;
    return *ret ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
}

int summary_machine_cpus(const struct baro_summary *s, uint64_t *ret)
{
    return gauge_or(s, FOLD_CPUS, s->subject.cpus, ret);
}

int summary_machine_memory(const struct baro_summary *s, uint64_t *ret)
{
    return gauge_or(s, FOLD_MEMORY_TOTAL, s->subject.memory_total, ret);
}

int summary_machine_grown(const struct baro_summary *s, enum fold_term counter, uint64_t *ret)
{
    const struct fold_cell *g = &s->fold.cell[counter];
    *ret = g->seen ? g->grown : 0;
    if (g->seen && g->to_ns <= g->from_ns)
        return BARO_ABSENT_UNKNOWN; /* seen once: nothing to compare with */
    return g->seen ? BARO_PRESENT : g->absent;
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
    int absent = fold_share(&s->fold, FOLD_HOST_BUSY, ret);
    at_most_all(s, ret);
    return absent;
}

int summary_machine_cores_peak(const struct baro_summary *s, double *ret)
{
    *ret = s->fold.host_cores.rate / 1e9;
    at_most_all(s, ret);
    if (!s->fold.host_cores.found) {
        const struct fold_cell *busy = &s->fold.cell[FOLD_HOST_BUSY];
        return busy->seen ? BARO_ABSENT_UNKNOWN : busy->absent;
    }
    return BARO_PRESENT;
}

int summary_machine_others(const struct baro_summary *s, double *ret)
{
    double busy, job, self;
    int absent = summary_machine_cores_mean(s, &busy);
    if (absent == BARO_PRESENT)
        absent = fold_share(&s->fold, FOLD_HOST_JOB, &job);
    *ret = 0;
    if (absent != BARO_PRESENT)
        return absent;
    if (fold_share(&s->fold, FOLD_HOST_SELF, &self) != BARO_PRESENT)
        self = 0;
    *ret = busy > job + self ? busy - job - self : 0;
    return BARO_PRESENT;
}

int summary_machine_share(const struct baro_summary *s, enum fold_term counter, double *ret)
{
    const struct fold_cell *part = &s->fold.cell[counter], *all = &s->fold.cell[FOLD_HOST_ALL];
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
    const struct fold_cell *busy = &s->fold.cell[FOLD_HOST_BUSY];
    return busy->to_ns - busy->from_ns;
}
