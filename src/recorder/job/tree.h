/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a job. A member is found by its pid, which is unique among processes that exist; its identity is (pid,
 * start time). Members are in the order in which they were found, so parents usually come before their children.
 *
 * Removed members go to a free list and are used again: a tree that has had its largest size allocates nothing.
 *
 * The data that each tick checks for every member (struct gate) are in an array of their own, and a bitmap has a bit
 * for each member that changed. For a sleeping member nothing else is read: a cache miss costs as much as the check.
 */
#ifndef RECORDER_JOB_TREE_H
#define RECORDER_JOB_TREE_H

#include <string.h>

#include "libbaro/sample/sample.h"

/* The counters that the kernel adds to those of the parent when the parent reaps a child. */
enum ledger_counter {
    LEDGER_CPU_USER,
    LEDGER_CPU_SYSTEM,
    LEDGER_IO_READ,
    LEDGER_IO_WRITE,
    LEDGER_IO_RCHAR,
    LEDGER_IO_WCHAR,
    LEDGER_IO_CANCELLED_WRITE,
    LEDGER_FAULTS_MINOR,
    LEDGER_FAULTS_MAJOR,
    LEDGER_MAX
};

/* Further counters that have a base: of the process without its children, or of its children. */
enum base_counter {
    BASE_CPU = LEDGER_MAX,
    BASE_CPU_USER,
    BASE_CPU_SYSTEM,
    BASE_FAULTS_MINOR,
    BASE_FAULTS_MAJOR,
    BASE_RUN_DELAY,
    BASE_SWITCHES_VOLUNTARY,
    BASE_SWITCHES_INVOLUNTARY, /* up to here of the process itself: base_metrics */
    BASE_CHILDREN_CPU,
    BASE_MAX
};

/* What the event sources and the wrapper reported of a process when it ended. A field is valid if its has_* is set. */
struct member_usage {
    struct member_usage *next; /* in the list of free ones */
    bool has_cpu, has_split, has_memory, has_io, has_delay;
    enum baro_exit_source source;
    uint64_t cpu_ns, user_ns, system_ns, rss_peak, run_delay_ns;
    uint64_t cpu_unsure_ns;   /* the part of cpu_ns that a hypervisor or an interrupt may have had */
    uint64_t share_unsure_ns; /* the part that other children of its parent may have used: remainder_share_out() */
    uint64_t own[LEDGER_MAX]; /* its own I/O and page faults; 0: not reported */
};

/* A member's part of the job's running sums. First the counters of enum ledger_counter, 0 while it is REAP_PENDING: the
 * wrapper has these. */
enum member_part_of {
    PART_CPU = LEDGER_MAX, /* own CPU time since attach: attributed to this process */
    PART_VAGUE,            /* the part of it that perf alone has: perf_cpu() */
    PART_RUN_DELAY,
    PART_DELAY_CPU, /* own CPU time up to the moment when the run delay was read */
    PART_SWITCHES_VOLUNTARY,
    PART_SWITCHES_INVOLUNTARY,
    PART_RSS,
    PART_PARENTS, /* 1: it has or had children */
    PART_MAX
};

/* job_settle(): the gone members below one successor. */
struct settlement {
    struct member *successor;
    struct settlement *next;
    size_t n, without_cpu;         /* how many; how many of them have no reported CPU time */
    bool not_whole;                /* the CPU time of one of them may not be known to its end */
    uint64_t expected[LEDGER_MAX]; /* by how much the successor's counters must have grown */
    uint64_t past[LEDGER_MAX];     /* what they had used before the recording began */
    uint64_t faults;               /* the same as expected, for minor page faults: at least one for each of them */
    uint64_t unsure_ns;            /* the part of their CPU time that may be too much: own_unsure() */
    uint64_t teardown_ns;          /* what their ends are expected to have taken after they were read or reported */
    uint64_t known, weight, share; /* remainder_plan() */
};

/* Decides whether a tick reads a member: it does if the CPU clock has moved, or if the member is due. */
struct gate {
    uint64_t clock_ns; /* CPU clock of the member when its values were last read */
    uint64_t due_ns;   /* 0: at once */
    int32_t pid;       /* 0: an unused element */
    bool scanned;      /* its children were listed when the CPU clock was clock_ns */
};

/* What is read of each thread. */
enum thread_sum { THREAD_SUM_DELAY, THREAD_SUM_VOLUNTARY, THREAD_SUM_INVOLUNTARY, THREAD_SUM_MAX };

struct tree;

/*
 * The states of a member between its start and the report of its exit. recorder/job/member_state.c has the allowed
 * transitions; only the functions of job.h change a state.
 *
 *     job_add() ─▶ ALIVE ◀─▶ ENDED ─▶ REAP_PENDING ─▶ REAPED ─▶ GONE_REAPED ─▶ reported, FREE
 *                    └────────┴───────────┴─▶ GONE ─────────────▲─▶ reported, FREE
 *
 * Example: `make` starts `cc1`, which is ALIVE. An event reports its exit: it is ENDED, a zombie. make reaps it: the
 * pid is no longer there, so it is GONE, and the counters of make must have grown by what cc1 had used.
 *
 * The wrapper is the parent of the command and of orphans. When the pid of such a process is no longer there, the
 * wrapper's report will follow: REAP_PENDING. With the report it becomes REAPED, and its row has the last values. If
 * the report comes when the member is GONE already, it becomes GONE_REAPED.
 */
enum member_state {
    MEMBER_FREE, /* not a member: in the list of free ones */
    MEMBER_ALIVE,
    MEMBER_ENDED,        /* its end was reported or seen, and it is not reaped yet: it is or will be a zombie */
    MEMBER_REAP_PENDING, /* reaped; the wrapper, which has its counters, has not reported it yet */
    MEMBER_REAPED,       /* reported by the wrapper: the row has the last values; it is not read again */
    MEMBER_GONE,         /* no longer in the tree; waits for job_settle() */
    MEMBER_GONE_REAPED,  /* the same, and the row has the last values */
    MEMBER_STATES
};

/* I/O and faults of the children that a process reaped: /proc/PID/io less the io of its only thread. See own_io.c.
 */
enum {
    REAPED_IO_READ,
    REAPED_IO_WRITE,
    REAPED_IO_RCHAR,
    REAPED_IO_WCHAR,
    REAPED_IO_CANCELLED_WRITE,
    REAPED_FAULTS,
    REAPED_IO_MAX
};

struct reaped_io {
    uint64_t now[REAPED_IO_MAX];  /* as read last; valid if `known` */
    uint64_t done[REAPED_IO_MAX]; /* the part of it that was attributed to children; 0 when the process began */
    uint32_t forks;               /* how many children became members so far */
    /* Used during one job_settle(), for the children that ended since: */
    uint32_t ended, not_whole;     /* their number; how many of them have no complete io */
    uint64_t faults;               /* the lowest number of minor faults that the parent gained from them */
    uint64_t whole[REAPED_IO_MAX]; /* the sum of the io that is known completely */
    uint8_t tries;                 /* reads of now[] in this job_settle() */
    bool wanted : 1;               /* a child has ended: now[] must be read */
    bool known : 1;
    bool lost : 1; /* done[] is not known: children ended while now[] could not be read */
};

/* Set by tree.c; index_next by member_index.c. */
struct member_links {
    struct tree *tree;
    struct member *parent; /* a living member; NULL: the wrapper, or a process outside the job */
    struct member *first_child, *sibling_next, *sibling_prev;
    struct member *hash_next;
    struct member *index_next; /* next one in a slot of the index */
    struct member *list_next;  /* next one in the list of gone members, or of free ones */
    uint32_t index;            /* into tree.at */
    uint32_t n_children;       /* living ones */
};

/* Set by job.c; begin_ns and the status by whoever reports them. Times are since the tape began. */
struct member_life {
    uint64_t begin_ns;              /* when the process began; 0: before, or not known */
    uint64_t end_ns;                /* when it ended: from an event, or first seen as a zombie; 0: neither */
    uint64_t gone_ns;               /* when it was found gone */
    uint64_t reap_pending_ns;       /* when its pid was first found gone, while it is REAP_PENDING */
    struct member_usage *end_usage; /* what was reported when it ended; NULL: nothing. See member_usage() */
    int status;
    bool status_known : 1;
    bool end_reported : 1; /* its end was reported by an event or by the wrapper */
    bool end_unseen : 1;   /* process_peak.c: it may have ended without an event */
    bool end_awaited : 1;  /* process_peak.c: it has ended, and the event of its end has not been read yet */
    bool cpu_final : 1;    /* its CPU clock was read after it had ended */
    bool io_final : 1;     /* the row has its final I/O counters */
};

/* Which process has the counters of a member that is gone. */
enum member_heir {
    HEIR_SUCCESSOR, /* its successor, which must have gained them */
    HEIR_EARLIER,   /* its parent, before that was gone itself; or the wrapper, which reports it or has reported it */
    HEIR_UNKNOWN,   /* its parent ended without having reaped any: the wrapper, if that reports it, or nobody */
};

/* What it has used, and which process has its counters. Set by ledger.c, totals.c and job.c. */
struct member_account {
    uint64_t part[PART_MAX];
    /* Of a gone member: its parent when it was found gone, which may be gone as well. Of a living member: its former
     * parent, if that parent was removed in this epoch of the tree. (A child that is found gone after its parent may
     * have ended before the parent.) */
    struct member *successor;
    uint64_t successor_epoch;
    enum member_heir heir;
    /* its counters of reaped children when the ledger was last settled */
    uint64_t reaped[LEDGER_MAX];
    /* the minor faults of its reaped children when its I/O was read last: see io_is_behind() */
    uint64_t io_as_of_faults;
    /* BASE_MAX values at attach, which are not part of this recording; NULL: all 0 */
    uint64_t *base;
    struct settlement *settlement; /* of a successor, during job_settle() */
    /* CPU time gained from children beyond what they are known to have used, in ns. Below 0: they are known to have
     * used more than the parent has shown in ticks so far */
    int64_t pool;
    bool children_wait : 1; /* gone members whose successor it is wait to be settled: hold_back() */
    bool is_unread : 1;     /* it could not be read after its children went: its counters of reaped children are old */
    bool had_child : 1;     /* it had a child at some time */
    /* it was seen to ignore SIGCHLD: the kernel adds the counters of its children to no process */
    bool ignores_children : 1;
    bool io_accounted : 1; /* gone: own_io.c has handled it */
    /* gone: its parent was a member of the same task, whose I/O includes its own when the parent reaps it */
    bool io_in_parent : 1;
};

/* Set by task.c; `confirmed` by recorder/loop. */
struct member_task {
    uint8_t number;      /* the task that it belongs to, counted from 1; 0: none */
    uint8_t of_children; /* the task that its children get; 0: none */
    bool left : 1;       /* gone: it did not end, but left the job */
    bool confirmed : 1;  /* matched again since the process that selects was restarted */
};

/* Set by other_recorders.c: it belongs to another recording of barograph. */
struct member_other {
    struct member *next;               /* the next one in the list of those that do */
    uint64_t *base;                    /* BASE_MAX values: what it had used when this was noticed; NULL: nothing */
    uint64_t peak_before, most_before; /* counts.peak and at_once.most before it began */
    bool is : 1;
    bool was_started : 1; /* a recorder or helper started it: it stays one whatever it executes */
    bool from_birth : 1;  /* it has executed nothing since it was forked: all that it used is of the same program */
};

/* Set by recorder/loop from events. */
struct member_events {
    struct member *touched_next; /* next one in the list of members that events concerned */
    uint64_t executed_ns;        /* when it executed a program that was not reported yet; 0: none */
    /* member_note_program(): the name that it had before, and its CPU clock as read last under that name, and
     * when; the highest mark of memory that it has had under former names */
    char program[16];
    uint64_t program_cpu_ns, program_read_ns, program_rss;
    bool program_is_read : 1; /* the new name was read, so these are right even if the event comes later */
    bool touched : 1;         /* it is in that list */
    bool named : 1;           /* its name is from an event */
    bool name_is_late : 1;    /* when it was forked, its parent had executed a program whose name was not read yet */
    bool followed : 1;        /* perf was attached to it, or reported its fork; or it is unattached */
    bool unattached : 1;      /* perf could not be attached to it: no event reports the program that it executes */
    /* all its forks are reported: perf was attached to it, or an event that it caused itself was seen */
    bool covered : 1;
    bool unheard : 1; /* perf was attached to it, and no event that it caused has been read since */
};

/* Set by process.c and process_stat.c of recorder/collectors/processes: what was read of it, and when. */
struct member_reading {
    uint64_t clock_ns;                   /* its CPU clock when its values were last read */
    uint64_t due_read_ns;                /* when everything that was due was read: process_due_ns() */
    uint64_t thread_sum[THREAD_SUM_MAX]; /* sums over its living threads when they were last read */
    uint64_t delay_ns, delay_cpu_ns;     /* when its run delay was last read, and its CPU time then */
    uint64_t io_ns;                      /* when its I/O was last read; 0: never */
    uint64_t io_since_ns;                /* bytes that it, or children that it reaped, transferred since then may not
                                            be in the row; 0: all are */
    uint64_t stat_rss;                   /* as stat showed it, which may be less than the row's rss */
    uint64_t status_key;                 /* faults and stat_rss when status was last read */
    uint64_t status_rss;                 /* stat_rss when status was last read */
    uint32_t fds_at;                     /* index + 1 of its slot in the descriptor cache; 0: none */
    uint32_t read_tick;                  /* the last tick in which it was read */
    int32_t stand_in;                    /* its first thread has exited: the thread whose files are read; else 0 */
    struct baro_key memory_owner;        /* the process whose address space it uses; pid 0: its own, or not known yet */
    uint16_t reads;                      /* ticks in a row in which it was read, up to read_tick */
    bool has_threads : 1;                /* it had several threads when it was read last */
    bool memory_checked : 1;             /* it was checked whether it has the address space of another one */
    bool forced : 1;                     /* the next tick reads it although the gate is closed: member_wake() */
    bool pending : 1;                    /* a read was left out for the budget and is due, even if the process sleeps */
    bool stat_was_read : 1;              /* at least once: key.start is known */
    bool is_brief : 1;                   /* of a machine: so young that it is neither read nor in the sample */
    bool sampled : 1;                    /* it was read for a sample, and may be gone when that is written */
    bool in_sample : 1;                  /* a sample has a row with its values */
    bool is_exiting : 1;                 /* it, or its first thread, is ending or has ended */
    bool has_no_memory : 1;              /* it is ending and has given up its memory, or is a kernel thread */
    bool name_is_parents : 1;            /* when it was read last it may have been about to execute a program */
    char comm[16];
};

/* Set by process.c: its hard RLIMIT_CPU. */
struct member_limit {
    uint64_t cpu_limit_ns; /* 0: none */
    uint64_t limit_at_ns;  /* its CPU time when that was read last */
    float ticks_ratio;     /* CPU time by ticks / by its clock, if it has that limit; 0: not known */
};

/* Set by births.c: when it began at the latest, when its clock was last read, and when that had last moved; 0: never.
 */
struct member_polled {
    uint64_t found_ns, polled_ns, ran_ns;
};

/* Set by scan.c. */
struct member_scan {
    uint64_t scanned_clock_ns; /* its CPU clock when its children were last listed */
    bool children_listed;      /* all children were listed that it had when the last birth was seen */
};

/* Set by pss.c and pss_sharing.c, and what the helper reads beside. */
struct member_memory {
    uint64_t smaps_ns;      /* when smaps was last read; 0: never */
    uint64_t smaps_key;     /* faults and stat_rss when smaps was last read */
    uint32_t smaps_asked;   /* tick in which the helper was last asked for smaps */
    uint32_t smaps_cost_us; /* moving average, rounded up */
    /* KiB that had moved among the processes that share memory with it when smaps was last read */
    uint32_t shared_kib;
    uint32_t files_kib;    /* KiB of files that had moved among all members by then */
    uint32_t left_kib;     /* KiB of files that it shared when it gave up its memory, until it is a zombie */
    uint32_t files_asked;  /* KiB of files and shared memory that it had when the helper was asked */
    uint32_t smaps_files;  /* the value of files_asked for the smaps that was read last */
    uint32_t smaps_shared; /* KiB of files and shared memory that others shared, each page divided by the number of
                              processes */
    uint32_t files_seen;   /* KiB of files and shared memory that it had at least when it was read last */
    uint8_t info_tries;
    bool info_wanted : 1, info_asked : 1, smaps_barred : 1;
};

/* Set by group_job.c, for the job's control group; due_ns by machine/groups.c: when its group is read again. */
struct member_group {
    uint64_t due_ns;
    bool moved_in : 1;   /* found in it; it may have been moved there */
    bool listed : 1;     /* found in it at least once */
    uint8_t missing : 2; /* how often the group was listed since without the member; at most 2 */
};

/* Set by socket_row.c. */
struct member_tcp {
    bool whole : 1;     /* it has ended, and the row has all that its sockets sent and received */
    bool is_short : 1;  /* connections that it may have accepted count for no process */
    bool unsettled : 1; /* connections that it may have accepted do not count for it yet */
};

/* A process of the job. The files that are named at each part set it; others only read it. */
struct member {
    struct baro_process row;
    uint8_t state;  /* enum member_state; member_state() */
    bool is_target; /* named by the user */
    bool is_kernel; /* stands for all threads of the kernel (collectors/machine), and is not read */
    struct member_group group;
    struct member_tcp tcp;
    struct member_links links;
    struct member_life life;
    struct member_account account;
    struct reaped_io reaped_io;
    struct member_task of_task;
    struct member_other other;
    struct member_events events;
    struct member_reading reading;
    struct member_limit limit;
    struct member_polled polled;
    struct member_scan scan;
    struct member_memory memory;
};

struct tree {
    struct member **at;         /* in order; NULL where one was removed, until tree_compact() */
    struct baro_process **rows; /* the same, for a sample */
    struct gate *gates;         /* the same */
    uint64_t *moved;            /* the same, a bit each: the member may have changed since the last sample */
    uint64_t removals;          /* members removed so far */
    size_t n, cap, holes;
    struct member **hash;
    size_t hash_size;
    struct member *free;
    struct member_block *blocks;
    struct settlement *free_settlements;
    struct member_usage *free_usages, spare_usage;
    uint32_t last_id;
    uint64_t epoch; /* members that are removed are kept until the epoch ends */
    struct member_index
        *member_index; /* the index of its members; NULL: none. Borrowed; set before the first one is added */
    void *owner;       /* what the index finds for its members */
};

static inline enum member_state member_state(const struct member *m)
{
    return (enum member_state)m->state;
}

static inline bool member_is_gone(const struct member *m)
{
    return m->state >= MEMBER_GONE;
}

/* Is it in the tree, but not a living process any more? */
static inline bool member_has_ended(const struct member *m)
{
    return m->state >= MEMBER_ENDED && m->state < MEMBER_GONE;
}

/* Does the row say that the process has ended? The state is Z, too, if only the first of several threads has ended. */
static inline bool member_is_zombie(const struct member *m)
{
    bool others = m->row.absent[PROCESS_threads] == BARO_PRESENT && m->row.value[PROCESS_threads] > 1;
    return m->row.absent[PROCESS_state] == BARO_PRESENT && m->row.value[PROCESS_state] == 'Z' && !others;
}

/* Does the row have the last values? If so, the member is not read again. */
static inline bool member_is_final(const struct member *m)
{
    return m->state == MEMBER_REAPED || m->state == MEMBER_GONE_REAPED;
}

static inline bool member_is_reap_pending(const struct member *m)
{
    return m->state == MEMBER_REAP_PENDING;
}

bool member_may_become(enum member_state from, enum member_state to);

int tree_init(struct tree *t);
void tree_done(struct tree *t);
struct member *tree_find(const struct tree *t, int32_t pid);
/* Adds a member; the pid may not be one yet. Returns NULL if out of memory. */
struct member *tree_add(struct tree *t, int32_t pid, struct member *parent);
void tree_set_parent(struct member *m, struct member *parent);
/* Removes a member; it stays valid until tree_release(). Its children lose their parent and will be read again. */
void tree_remove(struct tree *t, struct member *m);
void tree_release(struct tree *t, struct member *m);
/* Closes the gaps in the arrays. Returns the number of members. */
size_t tree_compact(struct tree *t);
/* Returns the index of the first member at or after i that may have changed; n if there is none. */
size_t tree_next_moved(const struct tree *t, size_t i);
void tree_clear_moved(struct tree *t);
size_t tree_count(const struct tree *t);

/* Returns what was reported when it ended; never NULL. */
const struct member_usage *member_usage(const struct member *m);
/* Returns the record to fill. If memory runs out it is a spare one that is never read. */
struct member_usage *member_make_usage(struct member *m);

/* Notes that its row, or something else that the job's sums depend on, has changed. */
static inline void member_moved(const struct member *m)
{
    if (!member_is_gone(m))
        m->links.tree->moved[m->links.index / 64] |= UINT64_C(1) << m->links.index % 64;
}

/* Makes the next tick read it, even if it sleeps. */
static inline void member_wake(struct member *m)
{
    m->reading.forced = true;
    if (!member_is_gone(m))
        m->links.tree->gates[m->links.index].due_ns = 0;
}

/* Recorders and helpers of barograph give themselves such names. */
static inline bool comm_is_ours(const char *comm)
{
    return strncmp(comm, "baro-", 5) == 0;
}

/* comm has at most 15 bytes; longer names, which the kernel shows for some of its threads, are truncated. */
static inline void member_note_comm(struct member *m, const char *comm)
{
    size_t n = 0;
    for (; n + 1 < sizeof(m->reading.comm) && comm[n]; n++)
        m->reading.comm[n] = comm[n];
    memset(m->reading.comm + n, 0, sizeof(m->reading.comm) - n);
}

/* Replaces a text of the row, and raises info_version if it differs. Returns false if out of memory (the old one
 * stays). */
bool member_set_name(struct member *m, const char *name);
bool member_set_cmdline(struct member *m, const char *cmdline);
/* Its name, clock and memory are those of the program that it executes no more, or will get another name. */
void member_note_program(struct member *m);

#endif
