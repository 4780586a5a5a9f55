/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The living members of a job. A member is found by its pid, which is unique among living processes; its identity is
 * (pid, start time). Members stand in the order in which they were found, so parents usually come before their
 * children.
 *
 * Removed members go to a free list and are used again: a tree that has had its largest size allocates nothing.
 *
 * What each tick checks for every member (struct gate) is stored in an array of its own, and a bitmap has a bit for
 * each member that changed. For a sleeping member nothing else is read: a cache miss costs as much as the check.
 */
#ifndef RECORDER_JOB_TREE_H
#define RECORDER_JOB_TREE_H

#include <string.h>

#include "libbaro/sample/sample.h"

/* The counters that the kernel adds to the parent when it reaps a child, so that they add up over the tree. */
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

/* More counters with a base: those of the process alone, and those of its children alone. */
enum base_counter {
    BASE_CPU = LEDGER_MAX,
    BASE_CPU_USER,
    BASE_CPU_SYSTEM,
    BASE_CHILDREN_CPU,
    BASE_FAULTS_MINOR,
    BASE_FAULTS_MAJOR,
    BASE_RUN_DELAY,
    BASE_SWITCHES_VOLUNTARY,
    BASE_SWITCHES_INVOLUNTARY,
    BASE_TCP_SENT, /* of a task; sockets have their own base when the recording attaches */
    BASE_TCP_RECEIVED,
    BASE_MAX
};

/* What the event sources and the wrapper reported of a process when it ended. A field is valid if its has_* is set. */
struct member_usage {
    struct member_usage *next; /* in the list of free ones */
    bool has_cpu, has_split, has_memory, has_io, has_delay;
    enum baro_exit_source source;
    uint64_t cpu_ns, user_ns, system_ns, rss_peak, run_delay_ns;
    uint64_t cpu_unsure_ns; /* the part of cpu_ns that a hypervisor or an interrupt may have had */
    uint64_t io_read, io_write, io_rchar, io_wchar, faults_minor, faults_major;
};

/* A member's part of the job's running sums. */
struct member_part {
    uint64_t ledger[LEDGER_MAX]; /* 0 while it is REAP_PENDING: its parent has the counters */
    uint64_t counted;            /* own CPU time since attach: attributed to this process */
    uint64_t split[2];           /* the parts of it that are known: user mode, kernel */
    uint64_t unsure;             /* the part of it that may be too much: own_unsure() */
    /* own CPU time and that of its reaped children, while it is REAP_PENDING; else 0 */
    uint64_t reap_pending;
    uint64_t run_delay, switches[2], rss;
    uint64_t delay_cpu; /* own CPU time up to the moment when run_delay was read */
    uint64_t parents;   /* 1: it has or had children */
};

/* How far CPU time that is expected may be wrong: the part that may be too much, and what perf reported of these
 * processes since they were last read. */
struct doubt {
    uint64_t unsure, reported;
};

/* job_settle(): the children of one successor that are gone. lost: how many; without_cpu: of these, those whose CPU
 * time no source reported. */
struct settlement {
    struct member *successor;
    struct settlement *next;
    size_t lost, without_cpu;
    bool not_whole;                /* of one of them the CPU time may not be known to its end */
    uint64_t expected[LEDGER_MAX]; /* what the successor must have gained from them */
    uint64_t past[LEDGER_MAX];     /* what they had used before the recording began */
    uint64_t faults;               /* minor page faults that it must have gained: at least one for each child */
    uint64_t known, weight, share;
    struct doubt doubt;
};

/* Decides whether a tick reads a member: its CPU clock has moved, or it is due. */
struct gate {
    uint64_t clock_ns; /* when its values were last read */
    uint64_t due_ns;   /* 0: at once */
    int32_t pid;       /* 0: an unused element */
    bool scanned;      /* its children were listed at this clock_ns */
};

/* What is read of each thread. */
enum thread_sum { THREAD_SUM_DELAY, THREAD_SUM_VOLUNTARY, THREAD_SUM_INVOLUNTARY, THREAD_SUM_MAX };

struct tree;

/*
 * The states of a member between its start and the report of its exit. recorder/job/state.c has the allowed
 * transitions; only the functions of job.h change a state.
 *
 *     job_add() ─▶ ALIVE ◀─▶ ENDED ─▶ REAP_PENDING ─▶ REAPED ─▶ GONE_REAPED ─▶ reported, FREE
 *                    └────────┴───────────┴─▶ GONE ─────────────▲─▶ reported, FREE
 *
 * Example: `make` starts `cc1`, which is ALIVE. An event reports its exit: it is ENDED, a zombie. make reaps it: the
 * pid is no longer there, so it is GONE, and what make took over must cover what cc1 had used.
 *
 * The wrapper is the parent of the command and of orphans. When the pid of such a process is no longer there, the
 * wrapper's report is on its way: REAP_PENDING. With the report it is REAPED, and its row has the last values. If the
 * report comes after the member was given up (GONE), it becomes GONE_REAPED.
 */
enum member_state {
    MEMBER_FREE, /* not a member: in the list of free ones */
    MEMBER_ALIVE,
    MEMBER_ENDED,        /* its end was reported or seen; not reaped yet: it is or will be a zombie */
    MEMBER_REAP_PENDING, /* reaped, and the wrapper's report is on its way: its parent has its counters */
    MEMBER_REAPED,       /* reported by the wrapper: the row has the last values; it is not read again */
    MEMBER_GONE,         /* no longer in the tree; waits for job_settle() */
    MEMBER_GONE_REAPED,  /* the same, and the row has the last values */
    MEMBER_STATES
};

/* What a process took over from the children that it reaped: /proc/PID/io less the io of its only thread. See
 * reaped_io.c. */
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
    uint32_t forks;               /* children that became members, ever */
    /* Scratch values of one job_settle(), about the children that ended since: their number; those whose io is not
     * known completely; the minor faults that the parent must have taken over from them, at least; the sum of the io
     * that is known completely. */
    uint32_t ended, not_whole;
    uint64_t faults;
    uint64_t whole[REAPED_IO_MAX];
    uint8_t tries;   /* reads of now[] in this job_settle() */
    bool wanted : 1; /* a child has ended: now[] must be read */
    bool known : 1;
    bool lost : 1; /* done[] is not known: children ended while now[] could not be read */
};

/* tree.c, but for directory_next. */
struct member_links {
    struct tree *tree;
    struct member *parent; /* a living member; NULL: the wrapper, or a process outside the job */
    struct member *first_child, *sibling_next, *sibling_prev;
    struct member *hash_next;
    struct member *directory_next; /* of recorder/job/member_index.h */
    struct member *list_next;      /* of the list of gone members, or of free ones */
    uint32_t index;                /* into tree.at */
    uint32_t n_children;           /* living ones */
};

/* job.c; begin_ns and the status are from who reports them. Times are since the tape began. */
struct member_life {
    uint64_t begin_ns;              /* when the process began; 0: before, or not known */
    uint64_t end_ns;                /* when it ended: from an event, or first seen as a zombie; 0: neither */
    uint64_t gone_ns;               /* when it was found gone */
    uint64_t reap_pending_ns;       /* when its pid was first found gone, while it is REAP_PENDING */
    struct member_usage *end_usage; /* what was reported of its end; NULL: nothing. See member_usage() */
    int status;
    bool status_known : 1;
    bool end_reported : 1; /* its end was reported by an event or by the wrapper */
    bool end_unseen : 1;   /* job.c: it may have ended, and no event reports that */
    bool end_awaited : 1;  /* job.c: it has ended, and the event of that is still to come */
    bool cpu_final : 1;    /* its CPU clock was read when it had ended */
    bool io_final : 1;     /* the row has its final I/O counters */
    /* gone without a report of the wrapper, which would have adopted it: so its parent reaped it */
    bool reaped_by_parent : 1;
};

/* What it has used and who took that over: ledger.c, totals.c, job.c, resume.c. */
struct member_account {
    struct member_part part;
    /* A gone member: its parent when it went, which may be gone as well. A living member: its parent until that one
     * went, valid only if that was in this epoch of the tree. (A child that is found gone after its parent may have
     * ended before it.) */
    struct member *successor;
    uint64_t successor_epoch;
    /* its counters of reaped children when the ledger was last settled */
    uint64_t reaped[LEDGER_MAX];
    /* the minor faults of its reaped children when its I/O was read last: see io_is_behind() */
    uint64_t io_as_of_faults;
    /* BASE_MAX values at attach, which are not part of this recording; NULL: all 0 */
    uint64_t *base;
    struct settlement *settlement; /* during job_settle(), of a successor */
    /* CPU time gained from children beyond what is known of them, in ns; below 0: more is known than the parent shows
     * in ticks so far */
    int64_t pool;
    /* not all of its children were read: its counters may contain more than is known of them */
    bool unsure : 1;
    /* a child of it is gone, and the event of that child's end was not read yet */
    bool events_pending : 1;
    /* it could not be read after its children went: what it took over is not known yet */
    bool takeover_unread : 1;
    bool parent_reaped_none : 1; /* gone, and its parent ended without having reaped any process */
    bool had_child : 1;          /* it had a child at some time */
    bool base_is_total : 1;      /* its base is what it had used under another recorder, since it began */
    /* it was seen to ignore SIGCHLD: the kernel adds what its children used to no process */
    bool ignores_children : 1;
    bool io_accounted : 1; /* gone: reaped_io.c has handled it */
    /* gone: its parent was a member of the same task, which takes over its I/O when it reaps it */
    bool io_in_parent : 1;
};

/* task.c, but for `confirmed`. */
struct member_task {
    uint64_t *base;      /* BASE_MAX values at the time when it joined its task; NULL: those of the account */
    uint8_t number;      /* the task that it belongs to, counted from 1; 0: none */
    uint8_t of_children; /* the task of what it starts from now on; 0: none */
    bool over : 1;       /* it no longer counts as a living process of its task */
    bool left : 1;       /* gone: it did not end, but is no member any more */
    bool confirmed : 1;  /* recorder/loop: matched since the process that selects was started again */
};

/* recorder/loop: what events have said of it. */
struct member_events {
    struct member *touched_next; /* of the list of members that events were about */
    uint64_t executed_ns;        /* when it executed a program that was not reported yet; 0: none */
    bool touched : 1;            /* since the last drain */
    bool named : 1;              /* its name is from an event */
    bool name_is_late : 1;       /* its parent had executed a program whose name was not read when it forked this one */
    bool followed : 1;           /* perf was attached to it, or reported its fork */
    /* all its forks are reported: perf was attached to it, or an event that it caused itself was seen */
    bool covered : 1;
};

/* recorder/collectors/processes: what was read of it, and when. Zero when the member is made. */
struct member_reading {
    uint64_t clock_ns;                   /* its CPU clock when its values were last read */
    uint64_t due_read_ns;                /* when all was read that was due: process_due_ns() */
    uint64_t thread_sum[THREAD_SUM_MAX]; /* of its living threads, when they were last read */
    uint64_t delay_ns, delay_cpu_ns;     /* when its run delay was last read, and its CPU time then */
    uint64_t smaps_ns;                   /* when smaps was last read; 0: never */
    uint64_t smaps_key;                  /* faults and stat_rss when smaps was last read */
    uint64_t scanned_clock_ns;           /* its CPU clock when its children were last listed */
    uint64_t stat_rss;                   /* as stat showed it, which may be less than the row's rss */
    uint64_t status_key;                 /* faults and stat_rss when status was last read */
    uint64_t status_rss;                 /* stat_rss alone then */
    uint32_t smaps_asked;                /* tick in which the helper was last asked for smaps */
    uint32_t smaps_cost_us;              /* moving average, rounded up */
    uint32_t fds_at;                     /* index + 1 of its slot in the descriptor cache; 0: none */
    uint32_t read_tick;                  /* the last tick in which it was read */
    /* pss.c: KiB that had moved among the processes that share memory with it when smaps was last read */
    uint32_t shared_kib;
    uint32_t files_kib;           /* the same of files, among all members */
    uint32_t left_kib;            /* of files that it shared when it gave up its memory, until it is a zombie */
    uint32_t smaps_files;         /* KiB that it had of files and shared memory by then */
    struct baro_key memory_owner; /* whose address space it uses; pid 0: its own, or that is not known yet */
    uint16_t reads;               /* ticks in a row in which it was read, up to read_tick */
    uint8_t info_tries;
    bool info_wanted : 1, info_asked : 1, smaps_barred : 1;
    bool has_threads : 1;     /* it was read when it had several threads */
    bool memory_checked : 1;  /* it was asked whether its parent has the same address space */
    bool forced : 1;          /* to be read although the gate is closed: member_wake() */
    bool pending : 1;         /* a read was left out for the budget; it is done when it is due, even if it sleeps */
    bool children_listed : 1; /* all children were listed that it had when the last birth was seen */
    bool stat_was_read : 1;   /* at least once: key.start is known */
    bool sampled : 1;         /* it was read for a sample; it may be gone when that is written */
    bool in_sample : 1;       /* a sample has a row with values of it */
    bool has_no_memory : 1;   /* it is ending and has given up its memory, or is a kernel thread */
    bool name_is_parents : 1; /* when it was read last it was so young that it may have executed a program since */
    char comm[16];
};

/* group_job.c: of the job's control group. */
struct member_group {
    bool moved_in : 1;   /* found in it; it may have been moved there */
    bool listed : 1;     /* found in it at least once */
    uint8_t missing : 2; /* how often it was listed since without the member; 2 at most */
};

/* socket_row.c */
struct member_tcp {
    bool whole : 1;     /* it has ended, and the row has what its sockets did to the end of each */
    bool is_short : 1;  /* connections that it may have accepted count for no process */
    bool unsettled : 1; /* connections that it may have accepted do not count for it yet */
};

/* A process of the job. Each part is changed by the files that its comment names; others read it. */
struct member {
    struct baro_process row;
    uint8_t state;  /* enum member_state; member_state() */
    bool is_target; /* named by the user */
    struct member_group group;
    struct member_tcp tcp;
    struct member_links links;
    struct member_life life;
    struct member_account account;
    struct reaped_io reaped_io;
    struct member_task of_task;
    struct member_events events;
    struct member_reading reading;
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
    uint64_t epoch;              /* members that are removed are kept until the epoch ends */
    struct directory *directory; /* in which its members are, too; NULL: none. Borrowed; set before the first one */
    void *owner;                 /* for who uses the directory */
};

static inline enum member_state member_state(const struct member *m)
{
    return (enum member_state)m->state;
}

static inline bool member_is_gone(const struct member *m)
{
    return m->state >= MEMBER_GONE;
}

/* Still in the tree, but no longer a living process. */
static inline bool member_has_ended(const struct member *m)
{
    return m->state >= MEMBER_ENDED && m->state < MEMBER_GONE;
}

/* Its row is that of a process that has ended. The state is Z too where the first thread has ended and others run. */
static inline bool member_is_zombie(const struct member *m)
{
    bool others = m->row.absent[PROCESS_threads] == BARO_PRESENT && m->row.value[PROCESS_threads] > 1;
    return m->row.absent[PROCESS_state] == BARO_PRESENT && m->row.value[PROCESS_state] == 'Z' && !others;
}

/* The row has the last values: the member is not read again. */
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
/* The index of the first member at or after i that may have changed; n if there is none. */
size_t tree_next_moved(const struct tree *t, size_t i);
void tree_clear_moved(struct tree *t);
size_t tree_count(const struct tree *t);

/* What was reported of its end so far; never NULL. */
const struct member_usage *member_usage(const struct member *m);
/* The record to fill. Out of memory it is a spare one that is never read. */
struct member_usage *member_make_usage(struct member *m);

/* Its row, or something else that the job's sums are made of, has changed. */
static inline void member_moved(const struct member *m)
{
    if (!member_is_gone(m))
        m->links.tree->moved[m->links.index / 64] |= UINT64_C(1) << m->links.index % 64;
}

/* The next tick reads it, whether it runs or not. */
static inline void member_wake(struct member *m)
{
    m->reading.forced = true;
    if (!member_is_gone(m))
        m->links.tree->gates[m->links.index].due_ns = 0;
}

/* comm has at most 15 bytes; of the longer names that the kernel shows for some of its threads the rest is left out. */
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

#endif
