/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/needed.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/min_max.h"
#include "base/sorted.h"
#include "libbaro/interval/derive.h"
#include "libbaro/sample/sample.h"

/* What Linux 6.18 charges to a control group besides page tables, which are metrics: 48 kB for `sleep`, 23 kB for a
 * thread (its stack above all; mean of 2,000), 10 kB for a zombie. */
#define KERNEL_PROCESS (48u << 10)
#define KERNEL_THREAD (23u << 10)
#define KERNEL_ZOMBIE (10u << 10)
#define HUGE_PAGE (2u << 20)

static uint64_t get(const struct baro_process *p, enum process_metric m)
{
    return p->absent[m] == BARO_PRESENT ? p->value[m] : 0;
}

uint64_t needed_sum(const struct needed_parts *p)
{
    return p->anon + p->shared + p->kernel;
}

/* ---- one process ---- */

static struct needed_row *find_row(const struct needed *n, uint32_t id)
{
    return n->n ? bsearch(&id, n->row, n->n, sizeof(*n->row), compare_u32) : NULL;
}

/* The same from `at` on: processes stand in the order of their ids, unless the tape is damaged. */
static const struct needed_row *next_row(const struct needed *n, uint32_t id, size_t *at)
{
    while (*at < n->n && n->row[*at].id < id)
        ++*at;
    return *at < n->n && n->row[*at].id == id ? &n->row[*at] : find_row(n, id);
}

/* Page faults make memory that is a process's own, one page each without huge pages. What it has beyond that may be
 * shared with its parent. */
static uint64_t faulted(const struct needed *n, uint64_t faults, uint64_t bytes)
{
    return faults < bytes / n->page_bytes ? faults * n->page_bytes : bytes;
}

/* A page fault of shared memory maps up to 16 pages that others have made (fault_around_bytes of Linux). Returns how
 * many faults it took at least. Example: a worker reads 250 MB that its parent wrote: 3,800 faults. */
static uint64_t shared_faults(const struct needed *n, const struct baro_process *p)
{
    return get(p, PROCESS_rss_shmem) / n->page_bytes / 16;
}

static uint64_t anon_faults(const struct needed *n, const struct baro_process *p)
{
    return excess(get(p, PROCESS_faults_minor) + get(p, PROCESS_faults_major), shared_faults(n, p));
}

/*
 * Returns at least how much of its anonymous memory a process has not got from its parent. That is what it had page
 * faults for; if it has shared memory, what is more than its parent ever had: which faults were of shared memory is not
 * known, and that may be read less often than faults. Example: a worker of 12 MB wrote 250 MB of shared memory, with
 * 62,000 faults, and its parent has 7 MB: 5 MB.
 */
static uint64_t least_own(const struct needed *n, const struct baro_process *p, uint64_t anon)
{
    uint64_t pages = get(p, PROCESS_rss_shmem) / n->page_bytes,
             faults = get(p, PROCESS_faults_minor) + get(p, PROCESS_faults_major);
    for (size_t i = 0; pages && i < n->n; i++) {
        if (baro_key_equal(n->row[i].key, p->parent))
            return excess(anon, n->row[i].anon_most);
    }
    return faulted(n, excess(faults, pages), anon);
}

/* The sums over the processes of one sample. */
struct sums {
    struct needed_parts parts;
    uint64_t own;    /* where pss is stale: what belongs to one process alone */
    uint64_t unsure; /* what may be shared with others, and can't be read */
    uint64_t copied; /* what processes shared may be their own by now */
    uint64_t mapped, hugetlb;
    uint64_t anon_least, mapped_least; /* the most of one process, whoever shares it */
    uint64_t counted_twice;            /* so much of it may be, where pss is stale */
    bool has_unread;                   /* what a process wrote is not read: it may be anything */
};

/*
 * Returns the anonymous memory that counts for the process. pss_anon is as old as smaps_at_ns, rss_anon is newer: the
 * process alone has grown by the difference. Example: pss_anon was 50 MB with 200 MB of rss_anon, as three others share
 * them; rss_anon is 230 MB now: 80 MB.
 */
static uint64_t anon_of(const struct needed *n, const struct baro_process *p, struct needed_row *row, struct sums *sums)
{
    bool is_split = p->absent[PROCESS_rss_anon] == BARO_PRESENT, has_pss = p->absent[PROCESS_pss] == BARO_PRESENT;
    uint64_t anon = is_split ? p->value[PROCESS_rss_anon] : get(p, PROCESS_rss);
    uint64_t faults = anon_faults(n, p);
    if (p->absent[PROCESS_pss_anon] == BARO_PRESENT) {
        if (row->smaps_at_ns != p->value[PROCESS_smaps_at]) {
            row->smaps_at_ns = p->value[PROCESS_smaps_at];
            row->anon_then = anon;
            row->faults_then = faults;
        }
        uint64_t pss = p->value[PROCESS_pss_anon];
        return min_u64(anon >= row->anon_then ? pss + (anon - row->anon_then) : excess(pss, row->anon_then - anon),
                       anon);
    }
    if (has_pss) /* before Linux 5.4 */
        return min_u64(anon, p->value[PROCESS_pss]);
    /* A child that was not read yet has its parent's pages. */
    uint64_t most = p->absent[PROCESS_pss] == BARO_ABSENT_NOT_YET ? faulted(n, faults, anon) : anon;
    sums->unsure += excess(most, least_own(n, p, anon));
    return most;
}

static uint64_t mapped_of(const struct baro_process *p)
{
    if (p->absent[PROCESS_pss_shmem] == BARO_PRESENT)
        return p->value[PROCESS_pss_shmem];
    uint64_t shmem = get(p, PROCESS_rss_shmem);
    return p->absent[PROCESS_pss] == BARO_PRESENT ? min_u64(shmem, p->value[PROCESS_pss]) : 0;
}

static void fill_row(const struct needed *n, const struct baro_process *p, struct needed_row *row)
{
    uint64_t own = min_u64(get(p, PROCESS_uss), get(p, PROCESS_rss_anon));
    row->key = p->key;
    row->is_zombie = get(p, PROCESS_state) == 'Z' && get(p, PROCESS_threads) <= 1;
    row->anon = 0;
    row->rss = get(p, PROCESS_rss);
    row->faults = anon_faults(n, p);
    row->faults_shared = shared_faults(n, p);
    row->anon_most = max_u64(row->anon_most, get(p, PROCESS_rss_anon));
    row->files_most = max_u64(row->files_most, get(p, PROCESS_rss_file) + get(p, PROCESS_rss_shmem));
    row->has_huge_pages |= own > faulted(n, row->faults + row->faults / 8, UINT64_MAX / 2) + HUGE_PAGE;
}

static void add_process(const struct needed *n, const struct baro_process *p, struct needed_row *row, struct sums *sums)
{
    fill_row(n, p, row);
    if (row->is_zombie) {
        sums->parts.kernel += KERNEL_ZOMBIE;
        return;
    }
    uint64_t threads = excess(get(p, PROCESS_threads), 1), anon = get(p, PROCESS_rss_anon);
    sums->parts.kernel += KERNEL_PROCESS + threads * KERNEL_THREAD + get(p, PROCESS_page_tables);
    if (p->absent[PROCESS_rss] == BARO_ABSENT_SHARED)
        return; /* another process has this memory */
    row->anon = anon_of(n, p, row, sums);
    uint64_t grown = row->smaps_at_ns ? excess(anon, row->anon_then) : 0;
    /* A write to a shared page copies it: a page fault, and no growth. */
    if (row->smaps_at_ns)
        sums->copied += min_u64(excess(anon, row->anon),
                                excess(faulted(n, row->faults - min_u64(row->faults, row->faults_then), anon), grown));
    int io = p->absent[PROCESS_io_wchar];
    sums->has_unread |= io == BARO_ABSENT_NOT_ASKED || io == BARO_ABSENT_DENIED || io == BARO_ABSENT_UNSUPPORTED;
    bool is_read = p->absent[PROCESS_uss] == BARO_PRESENT;
    uint64_t own = is_read ? min_u64(row->anon, p->value[PROCESS_uss] + grown) : row->anon;
    sums->parts.anon += row->anon;
    sums->anon_least = max_u64(sums->anon_least, anon);
    sums->mapped_least = max_u64(sums->mapped_least, get(p, PROCESS_rss_shmem));
    sums->own += own;
    sums->mapped += mapped_of(p);
    sums->hugetlb += get(p, PROCESS_hugetlb);
}

/* ---- between two samples ---- */

/* Returns the most of the anonymous memory that counts for a process which had `before`, and so many page faults by
 * now. mark: its high-water mark without files; UINT64_MAX: not known. Example: one of five that share 80 MB has 22 MB;
 * at its end it has 2,500 page faults more, which copy what was shared: 32 MB. What huge pages add shows in the mark.
 */
static uint64_t grown_by(const struct needed *n, const struct needed_row *before, uint64_t faults, uint64_t mark)
{
    uint64_t had = before ? before->anon : 0, since = excess(faults, before ? before->faults : 0), huge = 0;
    if (before && before->has_huge_pages && mark != UINT64_MAX)
        huge = excess(mark, excess(before->rss, before->files_most));
    return max_u64(had, min_u64(had + huge + faulted(n, since, UINT64_MAX / 4), mark));
}

/* Was a high-water mark that page faults do not explain copied from the parent? */
static bool is_copy(const struct needed *n, struct baro_key parent, uint64_t mark)
{
    for (size_t i = 0; i < n->n; i++) {
        if (baro_key_equal(n->row[i].key, parent))
            return mark <= n->row[i].rss + n->row[i].rss / 8;
    }
    return true; /* the parent is not known */
}

/* What one process had is a lower bound: the part of its mark that is not of files, if it had page faults for it. (A
 * fault of a file maps 16 pages at once.) Example: 500 MB of a spike of 50 ms, and 122,000 faults. With fewer faults
 * they may be huge pages. */
static void raise_mark(struct needed *n, const struct needed_row *row, struct baro_key parent, uint64_t mark,
                       uint64_t faults)
{
    uint64_t most = excess(mark, row ? row->files_most : 0), bytes = faulted(n, faults, most);
    bool is_own =
        row ? row->anon + row->files_most >= row->rss - row->rss / 8 : bytes == most || !is_copy(n, parent, mark);
    n->mark = max_u64(n->mark, bytes);
    n->mark_at_most = max_u64(n->mark_at_most, is_own ? most : bytes);
    n->known_mark = max_u64(n->known_mark, mark);
}

/* Remembers a process that no sample had: until its parent waits for it, samples have it as a zombie. */
static void note_end(struct needed *n, uint32_t id)
{
    if (array_reserve(&n->ended, n->n_ended + 1, &n->cap_ended, sizeof(*n->ended)) < 0)
        n->failed = true;
    else
        n->ended[n->n_ended++] = id;
}

static bool has_ended(const struct needed *n, uint32_t id)
{
    return n->n_ended && bsearch(&id, n->ended, n->n_ended, sizeof(id), compare_u32);
}

static void add_life(struct needed *n, bool is_known, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes)
{
    const struct together_life l = {
        .begin_ns = begin_ns, .end_ns = end_ns, .known = is_known ? bytes : 0, .unsure = is_known ? 0 : bytes};
    together_add_life(&n->between, &l);
}

void needed_add_exit(struct needed *n, const struct baro_exit *e)
{
    struct needed_row *row = find_row(n, e->id);
    bool has_faults = e->absent[EXIT_faults_minor] == BARO_PRESENT, has_mark = e->absent[EXIT_rss_peak] == BARO_PRESENT;
    uint64_t all = e->value[EXIT_faults_minor] + e->value[EXIT_faults_major], shared = row ? row->faults_shared : 0;
    uint64_t faults = has_faults ? excess(all, shared) : row ? row->faults : 0;
    uint64_t mark = has_mark ? excess(e->value[EXIT_rss_peak], row ? row->files_most : 0) : UINT64_MAX;
    uint64_t begin_ns = row ? 0 : n->between.sampled_ns;
    if (row && row->is_zombie)
        return;
    if (has_mark)
        raise_mark(n, row, e->parent, e->value[EXIT_rss_peak], faults);
    if (e->absent[EXIT_elapsed] == BARO_PRESENT && e->value[EXIT_elapsed] <= e->t_ns)
        begin_ns = e->t_ns - e->value[EXIT_elapsed];
    add_life(n, row, begin_ns, e->t_ns, grown_by(n, row, faults, mark));
    if (row)
        row->is_zombie = true;
    else
        note_end(n, e->id);
}

/* Adds a process of a sample to its interval. Returns the most that it had in it, if it was alive all the time. */
static uint64_t add_between(struct needed *n, const struct baro_process *p, const struct needed_row *now,
                            const struct needed_row *before, const struct derive_ticks *ticks, uint64_t t_ns)
{
    if (now->is_zombie && (before ? before->is_zombie : has_ended(n, p->id)))
        return 0;
    bool has_mark = p->absent[PROCESS_rss_peak] == BARO_PRESENT && !now->is_zombie;
    uint64_t mark = has_mark ? excess(p->value[PROCESS_rss_peak], now->files_most) : UINT64_MAX;
    /* Not what it has now: what those that ended had shared with it may count for it, and a child's share is its
     * parent's here. Both count in this interval themselves. */
    uint64_t most = grown_by(n, before, now->faults, mark);
    if (!before && now->has_huge_pages)
        most = max_u64(most, now->anon);
    uint64_t begin_ns = before ? 0 : derive_begin_ns(ticks, p->key.start, p->first_ns);
    if (!now->is_zombie && begin_ns <= n->between.sampled_ns)
        return most;
    add_life(n, before || !now->is_zombie, begin_ns, now->is_zombie ? t_ns : UINT64_MAX, most);
    return 0;
}

/* Returns how many processes were alive at one time at most, zombies apart; 0 if that is not known. Example: 300
 * children of 0.9 MB that end at once, of which 3 were alive together: 2.7 MB. */
static uint64_t alive_at_once(const struct baro_sample *s)
{
    static const enum job_metric doubts[] = {JOB_processes_peak_is_lower_bound, JOB_processes_unseen};
    for (size_t i = 0; i < sizeof(doubts) / sizeof(*doubts); i++) {
        if (s->job_absent[doubts[i]] != BARO_PRESENT || s->job[doubts[i]])
            return 0;
    }
    return s->job_absent[JOB_processes_peak] == BARO_PRESENT ? s->job[JOB_processes_peak] : 0;
}

/* ---- samples ---- */

void needed_init(struct needed *n, uint64_t page_bytes)
{
    *n = (struct needed){.page_bytes = page_bytes ? page_bytes : 4096};
}

void needed_done(struct needed *n)
{
    free(n->row);
    free(n->next);
    free(n->ended);
    together_done(&n->between);
    *n = (struct needed){0};
}

void needed_begin(struct needed *n)
{
    n->seen = false;
    n->peak = (struct needed_parts){0};
    n->most = n->mark = n->mark_at_most = n->known_mark = 0;
    n->doubt = NEEDED_CERTAIN;
    memset(n->between.most, 0, sizeof(n->between.most));
}

static uint64_t job_value(const struct baro_sample *s, enum job_metric m)
{
    return s->job_absent[m] == BARO_PRESENT ? s->job[m] : 0;
}

/* By how much the kernel's memory grew in the job's control group. Example: 200 pipes of 1 MB that are full. */
static uint64_t kernel_growth(struct needed *n, const struct baro_sample *s)
{
    const struct baro_entities *groups = &s->entities[BARO_KIND_CGROUP];
    for (size_t i = 0; i < groups->n; i++) {
        const struct baro_entity *g = groups->at[i];
        if (g->absent[CGROUP_memory_kernel] != BARO_PRESENT)
            continue;
        bool has_spare = g->absent[CGROUP_memory_slab_reclaimable] == BARO_PRESENT;
        uint64_t spare = has_spare ? g->value[CGROUP_memory_slab_reclaimable] : 0;
        uint64_t now = excess(g->value[CGROUP_memory_kernel], spare);
        if (n->kernel_group != g->id) {
            n->kernel_group = g->id;
            n->kernel_first = now;
        }
        return excess(now, n->kernel_first);
    }
    return 0;
}

/* Memory that others may have as well grew, and the job can have caused it. A page of shared memory comes by a write,
 * or by a page fault that made no anonymous memory; one of a pipe by a write. */
static void add_growth(struct needed *n, const struct baro_sample *s, const struct sums *sums,
                       uint64_t ret_more[NEEDED_DOUBTS])
{
    struct needed_growth *g = &n->growth;
    uint64_t wchar = job_value(s, JOB_io_wchar), faults = job_value(s, JOB_faults_minor) * n->page_bytes;
    uint64_t shmem = job_value(s, JOB_machine_shmem), anon = sums->parts.anon;
    /* The first reading may be of the control groups alone. */
    bool has_host = s->has_host && s->host_absent[HOST_hugepages_total] == BARO_PRESENT &&
                    s->host_absent[HOST_hugepages_free] == BARO_PRESENT;
    uint64_t hugetlb = has_host ? excess(s->host[HOST_hugepages_total], s->host[HOST_hugepages_free]) : 0;
    uint64_t made = excess(excess(faults, g->faults), excess(anon, g->anon)) + excess(wchar, g->wchar);
    made = sums->has_unread ? UINT64_MAX : made;
    /* Others may grow at other times. Example: 500 MB more in /dev/shm while the job had 1,000 page faults: 4 MB. */
    g->shmem_of_job = shmem >= g->shmem ? g->shmem_of_job + min_u64(shmem - g->shmem, made)
                                        : excess(g->shmem_of_job, g->shmem - shmem);
    g->hugetlb = has_host && !g->has_host ? hugetlb : g->hugetlb;
    g->has_host |= has_host;
    g->wchar = wchar;
    g->faults = faults;
    g->shmem = shmem;
    g->anon = anon;
    ret_more[NEEDED_SHMEM] = excess(g->shmem_of_job, sums->parts.shared);
    ret_more[NEEDED_KERNEL] =
        excess(min_u64(kernel_growth(n, s), sums->has_unread ? UINT64_MAX : wchar), sums->parts.kernel);
    ret_more[NEEDED_HUGETLB] = max_u64(sums->hugetlb, excess(hugetlb, g->hugetlb));
}

/* For this long a sum that is too large, since a child has begun and its parent was not read again, is no doubt. */
#define STALE_LONG 500000000u

static void take_sums(struct needed *n, const struct baro_sample *s, struct sums *sums)
{
    uint64_t more[NEEDED_DOUBTS] = {0};
    sums->mapped = derive_is_stale(s) ? sums->mapped_least : max_u64(sums->mapped, sums->mapped_least);
    n->mapped_most = max_u64(n->mapped_most, sums->mapped);
    /* What others wrote is left out as far as it is more than the job can have written. */
    bool knows_writes = s->job_absent[JOB_io_wchar] == BARO_PRESENT && !job_value(s, JOB_io_is_lower_bound);
    uint64_t files = job_value(s, JOB_tmpfs);
    if (knows_writes)
        files = min_u64(files, n->mapped_most + s->job[JOB_io_wchar]);
    sums->parts.shared = max_u64(sums->mapped, files);
    uint64_t whole = sums->parts.anon;
    bool stale = derive_is_stale(s); /* then processes may share more by now than was read */
    if (stale)
        sums->parts.anon = max_u64(sums->own, min_u64(whole, n->calm_anon));
    sums->parts.anon = max_u64(excess(sums->parts.anon, sums->unsure), sums->anon_least);
    sums->counted_twice = excess(whole, sums->parts.anon);
    n->calm_anon = stale ? n->calm_anon : sums->parts.anon;
    bool stale_long = n->stale_since_ns && s->t_ns - n->stale_since_ns >= STALE_LONG;
    more[NEEDED_SHARING] = stale_long ? sums->counted_twice : min_u64(sums->unsure, sums->counted_twice);
    more[NEEDED_SHARING] = max_u64(more[NEEDED_SHARING], sums->copied);
    more[NEEDED_HUGETLB] = sums->hugetlb;
    add_growth(n, s, sums, more);
    uint64_t sum = needed_sum(&sums->parts), most = sum;
    for (int i = 0; i < NEEDED_DOUBTS; i++)
        most += more[i];
    if (!n->seen || sum > needed_sum(&n->peak)) {
        n->peak = sums->parts;
    }
    n->seen = true;
    if (most <= n->most)
        return;
    n->most = most;
    n->doubt = NEEDED_CERTAIN;
    for (int i = 0; i < NEEDED_DOUBTS; i++) {
        if (more[i] > more[n->doubt])
            n->doubt = (enum needed_doubt)i;
    }
}

static void keep_rows(struct needed *n, size_t rows)
{
    struct needed_row *at = n->next;
    size_t cap = n->cap_next;
    n->next = n->row;
    n->cap_next = n->cap;
    n->row = at;
    n->cap = cap;
    n->n = rows;
    for (size_t i = 1; i < rows; i++) {
        if (at[i - 1].id > at[i].id) {
            qsort(at, rows, sizeof(*at), compare_u32);
            return;
        }
    }
}

/* Example of what is counted twice: a process of 200 MB forks four children; they were read, 40 MB each, and it was not
 * read again. */
static void end_interval(struct needed *n, const struct baro_sample *s, uint64_t always, const struct sums *sums)
{
    uint64_t others = sums->parts.shared + sums->parts.kernel;
    n->between.at_once = alive_at_once(s);
    together_end_interval(&n->between, excess(always + others, n->counted_twice), UINT64_MAX);
    n->between.sampled_ns = s->t_ns;
    n->failed |= n->between.failed;
    n->counted_twice = sums->counted_twice;
    n->stale_since_ns = !derive_is_stale(s) ? 0 : n->stale_since_ns ? n->stale_since_ns : s->t_ns;
    n->n_ended = 0;
}

void needed_add_sample(struct needed *n, const struct baro_sample *s, const struct derive_ticks *ticks,
                       bool counts_marks)
{
    struct sums sums = {0};
    uint64_t always = 0;
    size_t at = 0;
    if (!derive_has_job(s))
        return;
    if (array_reserve(&n->next, s->n, &n->cap_next, sizeof(*n->next)) < 0) {
        n->failed = true;
        return;
    }
    if (n->n_ended)
        qsort(n->ended, n->n_ended, sizeof(*n->ended), compare_u32);
    for (size_t i = 0; i < s->n; i++) {
        const struct baro_process *p = s->processes[i];
        const struct needed_row *before = next_row(n, p->id, &at);
        struct needed_row *now = &n->next[i];
        *now = before ? *before : (struct needed_row){.id = p->id};
        add_process(n, p, now, &sums);
        always += add_between(n, p, now, before, ticks, s->t_ns);
        if (counts_marks && p->absent[PROCESS_rss_peak] == BARO_PRESENT && !now->is_zombie)
            raise_mark(n, now, p->parent, p->value[PROCESS_rss_peak], now->faults);
    }
    take_sums(n, s, &sums);
    end_interval(n, s, always, &sums);
    keep_rows(n, s->n);
}
