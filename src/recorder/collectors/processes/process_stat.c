/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/stat says of a process: CPU time, parent, name, page faults, resident memory. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/min_max.h"
#include "recorder/collectors/processes/process_parts.h"
#include "recorder/collectors/processes/pss_sharing.h"
#include "recorder/redact/redact.h"

void process_put_lag(struct member *m)
{
    if (m->row.absent[PROCESS_run_delay] == BARO_PRESENT)
        member_set_value(m, PROCESS_run_delay_lag, m->row.value[PROCESS_cpu] - m->reading.delay_cpu_ns);
}

/* stat has both parts in whole ticks, rounded down, so each part may be larger by up to a tick. Together with the sum
 * this gives a range for user time, and the middle of the range is taken: over many processes the errors cancel out.
 * Below half a tick all is user time, as in the kernel for a process that no tick has hit. Example: 19 ms with utime 1
 * and stime 0 (of 10 ms): user time is 10 to 19 ms, so 14.5. If the sum does not fit, because it was read earlier, it
 * is split as the ticks are. */
uint64_t process_user_of(uint64_t cpu_ns, uint64_t utime, uint64_t stime, uint64_t tick_ns)
{
    uint64_t user = utime * tick_ns, system = stime * tick_ns;
    uint64_t least = cpu_ns > system + tick_ns ? cpu_ns - system - tick_ns : 0;
    uint64_t most = cpu_ns > system ? cpu_ns - system : 0;
    least = least > user ? least : user;
    most = most < user + tick_ns ? most : user + tick_ns;
    if (least > most)
        return share_u64(cpu_ns, utime, utime + stime);
    uint64_t half = least + (most - least) / 2, early = cpu_ns < tick_ns / 2 ? cpu_ns : tick_ns / 2;
    return utime + stime || half > early ? half : early;
}

static void put_cpu(struct processes *p, struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    uint64_t cpu = clock_ns ? clock_ns : (st->utime + st->stime) * p->sampling->job->ns_per_tick;
    uint64_t before = m->row.value[PROCESS_cpu];
    if (cpu < before)
        cpu = before;
    uint64_t user = process_user_of(cpu, st->utime, st->stime, p->sampling->job->ns_per_tick);
    /* Like the kernel's cputime_adjust(): neither part falls, and their sum is the exact run time. */
    uint64_t user_before = m->row.value[PROCESS_cpu_user];
    uint64_t most = user_before + (cpu - before);
    user = user < user_before ? user_before : user > most ? most : user;
    member_set_value(m, PROCESS_cpu, cpu);
    member_set_value(m, PROCESS_cpu_user, user);
    member_set_value(m, PROCESS_cpu_system, cpu - user);
    process_put_lag(m);
    member_raise_counter(m, PROCESS_children_cpu_user, st->cutime * p->sampling->job->ns_per_tick);
    member_raise_counter(m, PROCESS_children_cpu_system, st->cstime * p->sampling->job->ns_per_tick);
}

static void put_parent(struct processes *p, struct member *m, int32_t ppid)
{
    if (m->row.parent.pid == ppid && (m->links.parent || !m->reading.forced))
        return;
    struct member *parent = tree_find(&p->sampling->job->tree, ppid);
    if (parent == m)
        parent = NULL;
    if (parent != m->links.parent)
        tree_set_parent(m, parent);
    if (!parent && m->row.parent.pid != ppid) {
        m->row.parent = (struct baro_key){ppid, 0};
        m->row.info_version++;
    }
}

void process_renamed(struct member *m)
{
    m->memory.info_wanted = true;
    m->memory.info_asked = false; /* a reply that is still to come is about the last program */
    m->memory.info_tries = 0;
}

void process_set_name(struct member *m, const char *comm)
{
    char name[64];
    redact_name_to(comm, name, sizeof(name));
    member_set_name(m, name);
}

static void put_comm(struct member *m, const char *comm)
{
    if (strncmp(m->reading.comm, comm, sizeof(m->reading.comm) - 1) == 0)
        return;
    if (*m->reading.comm) {
        member_note_program(m);
        m->events.program_is_read = true;
    }
    member_note_comm(m, comm);
    process_renamed(m);
    process_set_name(m, comm);
}

/* Sets rss, and the peak if that is lower: stat is read more often than status, which has VmHWM. Example: a VmHWM of
 * 63 MB was read, and stat has shown 258 MB since: the peak is 258 MB. */
void process_set_rss(struct member *m, uint64_t rss)
{
    if (m->reading.memory_owner.pid)
        return;
    member_set_value(m, PROCESS_rss, rss);
    if (rss > m->row.value[PROCESS_rss_peak])
        member_set_value(m, PROCESS_rss_peak, rss);
}

/* Takes rss from stat. Since Linux 6.2 it lacks the pages that a CPU has not added to the common counter yet (CPUs add
 * in batches of 32 pages or more), so it can be 0 for a small process. status sums over all CPUs since 6.16. So stat
 * shows that rss has changed, and status, if it is read, how large it is. */
static void put_rss(struct member *m, uint64_t rss)
{
    if (rss == m->reading.stat_rss && m->row.absent[PROCESS_rss] == BARO_PRESENT)
        return;
    m->reading.stat_rss = rss;
    process_set_rss(m, rss);
}

/* Sets the memory of a process that has ended to 0. */
static void forget_memory(struct member *m)
{
    static const enum process_metric ids[] = {PROCESS_pss,      PROCESS_uss,        PROCESS_swap,     PROCESS_rss_anon,
                                              PROCESS_rss_file, PROCESS_rss_shmem,  PROCESS_pss_anon, PROCESS_pss_shmem,
                                              PROCESS_hugetlb,  PROCESS_page_tables};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        if (m->row.absent[ids[i]] == BARO_PRESENT || m->row.absent[ids[i]] == BARO_ABSENT_GONE ||
            m->row.absent[ids[i]] == BARO_ABSENT_SHARED)
            member_set_value(m, ids[i], 0);
    }
    member_set_value(m, PROCESS_rss, 0);
}

/* Makes the values of memory absent: all threads are ending. Example: without this, the 31.6 MB of pss that were read
 * last would be in every later sample. */
static void lose_memory(struct member *m)
{
    static const enum process_metric ids[] = {PROCESS_rss,      PROCESS_virtual,  PROCESS_pss,      PROCESS_uss,
                                              PROCESS_smaps_at, PROCESS_pss_anon, PROCESS_pss_shmem};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        member_set_absent(m, ids[i], BARO_ABSENT_GONE);
}

/* The first thread may have exited while others run. It is then a zombie without memory, so the state and the memory of
 * the process are read from another thread. Returns what has them; NULL: all threads are ending. */
static const struct pid_stat *stand_in(struct processes *p, struct member *m, const struct pid_stat *st,
                                       struct pid_stat *thread)
{
    bool is_needed = st->state == 'Z' && st->num_threads > 1;
    if (is_needed)
        m->reading.stand_in =
            proc_living_thread(p->sampling->options.proc_fd, m->row.key.pid, m->reading.stand_in, thread);
    else
        m->reading.stand_in = 0;
    return !is_needed ? st : m->reading.stand_in ? thread : NULL;
}

/* Has its parent just reaped it? The kernel then prints no parent and no threads (do_task_stat() without a sighand).
 * Example: of 20 children of 1 ms on a busy machine two were read in this state, and had parent 0 on the tape. */
static bool is_released(const struct pid_stat *st)
{
    return st->num_threads == 0;
}

/* May the process still execute a program, so that its name is not final? A child has its parent's name until then,
 * mostly for less than a millisecond. Example: a shell forks at 100.0 ms. Its child is read at 100.2 ms as `sh`, is
 * `true` from 100.5 ms on, and has ended when it is read again at 110 ms: its name is not known. On a busy machine the
 * child waits for a CPU longer than that; one that sleeps keeps its name. If an event reported the fork, events report
 * its programs, too. */
#define PF_FORKNOEXEC 0x40u              /* it has not executed a program since it was forked */
#define EXECUTES_WITHIN (20 * NS_PER_MS) /* start times are rounded down to 10 ms */
#define EXECUTES_BEFORE (2 * NS_PER_MS)  /* a process that has used more CPU time is not about to execute a program */
static bool may_execute(const struct processes *p, const struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    uint64_t begin_ns = job_begin_ns(p->sampling->job, st->starttime);
    bool runs = st->state == 'R' || st->state == 'D', is_young = p->sampling->now_ns < begin_ns + EXECUTES_WITHIN;
    bool is_reported = m->events.followed && !m->events.unattached;
    return !is_reported && (st->flags & PF_FORKNOEXEC) && st->state != 'Z' && begin_ns && (runs || is_young) &&
           clock_ns < EXECUTES_BEFORE;
}

static const enum process_metric memory_metrics[] = {
    PROCESS_rss,      PROCESS_rss_peak,  PROCESS_pss,      PROCESS_uss,       PROCESS_swap,    PROCESS_rss_anon,
    PROCESS_rss_file, PROCESS_rss_shmem, PROCESS_pss_anon, PROCESS_pss_shmem, PROCESS_hugetlb, PROCESS_page_tables,
};

/* If a process uses the address space of another one, where the memory is counted, makes its own values of memory
 * absent. Such a process is read in each tick, because none of its values changes when the other one ends. */
static void put_shared_memory(struct processes *p, struct member *m, const struct pid_stat *st)
{
    bool was_shared = m->reading.memory_owner.pid > 0, is_shared = memory_is_shared(p, m, st);
    for (size_t i = 0; i < sizeof(memory_metrics) / sizeof(*memory_metrics) && is_shared != was_shared; i++)
        member_set_absent(m, memory_metrics[i], is_shared ? BARO_ABSENT_SHARED : BARO_ABSENT_NOT_YET);
    if (is_shared != was_shared)
        m->memory.smaps_barred = is_shared;
    if (is_shared)
        member_wake(m);
    else if (was_shared) { /* everything is read again */
        m->reading.stat_rss = m->reading.status_key = m->memory.smaps_key = UINT64_MAX;
        m->reading.status_rss = 0;
    }
}

static void put_memory(struct processes *p, struct member *m, const struct pid_stat *st)
{
    m->reading.has_no_memory = !st->vsize;
    /* A process gives up its memory before it is a zombie. The row still has its last values of memory, which show how
     * much it shared. */
    if (st->state == 'Z' || (!st->rss && m->row.value[PROCESS_rss]))
        sharing_note_left(p->memory, m, st->state == 'Z');
    if (!m->reading.stand_in)
        put_shared_memory(p, m, st);
    put_rss(m, st->rss * p->sampling->options.page_size);
    member_set_value(m, PROCESS_virtual, st->vsize);
    if (st->state == 'Z')
        forget_memory(m);
}

/* Does the process execute this program? Its own copy in another place is another file. */
static bool executes_baro(const struct sampling *g, int32_t pid, bool *ret)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof(path), "%d/exe", (int)pid);
    if (!g->options.own_exe.st_ino || fstatat(g->options.proc_fd, path, &st, 0) < 0)
        return false;
    *ret = st.st_dev == g->options.own_exe.st_dev && st.st_ino == g->options.own_exe.st_ino;
    return true;
}

/* What the user named is recorded whatever it is. */
static bool is_named_by_user(const struct job *j, const struct member *m)
{
    return j->attached && m->is_target;
}

/* The parent of a recorder is its wrapper if it executes this program as well. Other wrappers (`baro phase`) are
 * processes of the job. */
static void check_wrapper(const struct processes *p, struct member *m)
{
    struct job *j = p->sampling->job;
    bool is = false;
    if (m && !m->other.is && !is_named_by_user(j, m) && executes_baro(p->sampling, m->row.key.pid, &is) && is)
        job_set_other(j, m, true);
}

/*
 * Finds out whether the member belongs to another recording of barograph: it has given itself the name of a recorder or
 * helper, and executes this program; or it is the wrapper of one; or a recorder or helper has started it, as it does
 * MLflow's follower. The kernel says what a process executes, a name alone says nothing. A process that ended before it
 * was read stays one of the job, unless a recorder or helper has started it.
 */
static void check_recorder(const struct processes *p, struct member *m, const struct pid_stat *st)
{
    struct job *j = p->sampling->job;
    bool is = false, is_wrapper = m->other.is && strcmp(st->comm, "baro") == 0;
    if (j->whole)
        return; /* other recordings are processes of the machine */
    if (m->other.was_started || is_named_by_user(j, m))
        return;
    m->other.was_started = job_starts_others(m->links.parent);
    m->other.from_birth = st->flags & PF_FORKNOEXEC;
    if (m->other.was_started)
        is = true;
    else if (st->state == 'Z')
        return;
    else if ((comm_is_ours(st->comm) || is_wrapper) && !executes_baro(p->sampling, m->row.key.pid, &is))
        return;
    job_set_other(j, m, is);
    if (is && strcmp(st->comm, "baro-recorder") == 0)
        check_wrapper(p, m->links.parent);
}

void process_put_stat(struct processes *p, struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    member_moved(m);
    if (st->sigignore >> (SIGCHLD - 1) & 1)
        job_ignores_children(p->sampling->job, m);
    put_comm(m, st->comm);
    m->reading.name_is_parents = may_execute(p, m, st, clock_ns);
    if (!is_released(st))
        put_parent(p, m, st->ppid);
    check_recorder(p, m, st);
    put_cpu(p, m, st, clock_ns);
    member_raise_counter(m, PROCESS_faults_minor, st->minflt);
    member_raise_counter(m, PROCESS_faults_major, st->majflt);
    member_raise_counter(m, PROCESS_children_faults_minor, st->cminflt);
    member_raise_counter(m, PROCESS_children_faults_major, st->cmajflt);
    struct pid_stat thread;
    const struct pid_stat *alive = stand_in(p, m, st, &thread);
    member_set_value(m, PROCESS_state, (uint8_t)(alive ? alive : st)->state);
    m->reading.is_exiting = st->flags & PROC_PF_EXITING;
    member_set_value(m, PROCESS_nice, (uint64_t)st->nice);
    if (!is_released(st))
        member_set_value(m, PROCESS_threads, st->num_threads);
    if (alive)
        put_memory(p, m, alive);
    else
        lose_memory(m);
}
