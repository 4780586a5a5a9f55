/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The living members of a job. A member is found by its pid, which is unique among the living; its identity is (pid,
 * start time). Members come in the order in which they were found, so parents stand before their children.
 *
 * Removed members go to a free list and are used again: a tree that has seen its largest size allocates nothing.
 *
 * What each tick asks of every member (the gate) stands side by side apart from the members, and a bitmap tells which
 * of them changed: of those that sleep nothing else is touched, as a miss of the cache costs as much as the question
 * itself.
 */
#ifndef JOB_TREE_H
#define JOB_TREE_H

#include <string.h>

#include "sample/sample.h"

/* What the kernel passes from a child to the parent that waits for it, and what therefore adds up over a tree. */
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

/* Besides the ledger's counters: what is its own alone, or its children's. */
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
    BASE_MAX
};

/* What a source told of a process as it ended; each part only where has_* says so. */
struct member_usage {
    struct member_usage *next; /* of the free */
    bool has_cpu, has_split, has_memory, has_io, has_delay;
    enum baro_exit_source source;
    uint64_t cpu_ns, user_ns, system_ns, rss_peak, run_delay_ns;
    uint64_t io_read, io_write, io_rchar, io_wchar, faults_minor, faults_major;
};

/* What the job's running sums hold of a member. */
struct member_part {
    uint64_t ledger[LEDGER_MAX]; /* nothing while it is REAP_PENDING */
    uint64_t counted;            /* own CPU since attach: attributed to it by name */
    uint64_t reap_pending;       /* the same and what it had taken over, while it is REAP_PENDING */
    uint64_t run_delay, switches[2], rss;
    uint64_t parents;            /* 1: it has, or had, children */
};

/* What the children of an successor were, that are gone: how many, what is known of their CPU, their weights, how many
 * of them nobody told the CPU of. */
struct settlement {
    struct member *successor;
    struct settlement *next;
    size_t lost, blind;
    uint64_t expected[LEDGER_MAX]; /* what it must have gained from those */
    uint64_t faults;               /* page faults without I/O that it must have gained: at least one of each */
    uint64_t known, weight, share;
};

/* When a member is worth looking at: its CPU clock has moved, or it is due. */
struct gate {
    uint64_t clock_ns; /* when its values were last read */
    uint64_t due_ns;   /* 0: at once */
    int32_t pid;       /* 0: a hole */
    bool scanned;      /* its children were listed at that clock */
};

struct tree;

/*
 * Where a member is between its start and the report of its exit. job/state.c has the allowed transitions; only the
 * functions of job.h change a state.
 *
 *     job_add() ─▶ ALIVE ◀─▶ ENDED ─▶ REAP_PENDING ─▶ REAPED ─▶ GONE_REAPED ─▶ reported, FREE
 *                    └────────┴───────────┴─▶ GONE ─────────────▲─▶ reported, FREE
 *
 * Example: `make` starts `cc1`, which is ALIVE. An event tells of its exit: ENDED, while it is a zombie. make reaps it:
 * the pid is no longer there, so it is GONE, and what make took over has to cover what cc1 had used. Of the command
 * itself and of orphans the wrapper is the parent: their pid is no longer there and the wrapper's report is on its way:
 * REAP_PENDING; with the report REAPED, its last values are in the row. A report that comes when it was given up
 * already makes it GONE_REAPED.
 */
enum member_state {
    MEMBER_FREE,         /* no member: in the list of free ones */
    MEMBER_ALIVE,
    MEMBER_ENDED,        /* its end was reported or seen, and it is not reaped: a zombie, or about to be one */
    MEMBER_REAP_PENDING, /* reaped, and the wrapper is going to report it: others hold its counters already */
    MEMBER_REAPED,       /* reported by the wrapper: its last values are in the row, and it is not read again */
    MEMBER_GONE,         /* no longer in the tree; waits for the ledger to settle */
    MEMBER_GONE_REAPED,  /* the same, and its last values are in the row */
    MEMBER_STATES
};

/* What a process took over from the children that it had reaped: /proc/PID/io less its only thread's own. reaped_io.c
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
    uint64_t now[REAPED_IO_MAX];  /* valid if known */
    uint64_t done[REAPED_IO_MAX]; /* of it, what children were accounted for; 0 at its birth */
    uint32_t forks;               /* children told of, ever */
    uint32_t ended,
        not_whole; /* scratch: of its children that ended since; of them, those whose io is not known whole */
    uint64_t faults;              /* scratch: that it must have taken over from those, at least */
    uint64_t whole[REAPED_IO_MAX]; /* scratch: of those whose io is known whole */
    uint8_t tries;                /* in this settling */
    bool wanted : 1;              /* a child ended since: now[] is to be read */
    bool known : 1;
    bool lost : 1;                /* done[] is not known: children ended while now[] could not be read */
};

struct member {
    struct baro_process row;
    struct tree *tree;
    struct member *parent;      /* living member, or NULL: the wrapper, or one outside the job */
    struct member *first_child, *sibling_next, *sibling_prev;
    struct member *hash_next;
    uint32_t index;             /* where it stands in tree.at */
    uint32_t n_children;        /* living */
    struct member *list_next;   /* of the list of the gone, or of the free */
    struct member *touched_next; /* record/: of the list of those that events spoke of */
    struct member_part part;
    struct member *successor; /* gone: who was its parent then; may be gone as well. Living: who was until it went, */
    uint64_t successor_epoch; /* if that was in this epoch of the tree: who is found gone after its parent may have gone
                                 before it */
    uint64_t reaped[LEDGER_MAX]; /* what it had absorbed from children when the ledger was last settled */
    uint64_t *base;             /* BASE_MAX values at attach, which are not this recording's; NULL: none */
    uint64_t begin_ns;          /* when the process began, since the tape began; 0 if before it or not known */
    uint64_t end_ns;            /* when it ended: told by an event, or first seen as a zombie; 0: neither */
    uint64_t gone_ns;           /* when its absence was noticed for good */
    uint64_t executed_ns;       /* record/: when it executed something that nobody was told of yet; 0: it did not */
    uint64_t reap_pending_ns;   /* when it was first seen that it is no longer there, while it is REAP_PENDING */
    struct reaped_io reaped_io;
    struct settlement *settlement;      /* while the ledger settles: of an successor, what it lost */
    int64_t
        pool; /* gained from children, beyond what is known of them; below 0: what is shown in ticks is still to come */
    uint8_t state;              /* enum member_state; member_state() */
    bool unsure : 1;       /* it may show of children what is not known of them yet: not all of them were looked at */
    bool untold : 1;            /* a child of it is gone, and the event of that one's end was not read yet */
    bool unread : 1;   /* it could not be read when its children had gone: what it took over is not known yet */
    bool absorbed : 1; /* gone without the word of the wrapper, that would have adopted it: its parent had waited for it
                        */
    bool had_child : 1;         /* it was seen to have a child, ever */
    bool owes : 1; /* collect/: a read of it was left out for the budget, and is made up for at switches_due though it
                      may sleep by then */
    bool children_listed : 1;   /* collect/: all that it had when somebody was born last */
    bool looked_at : 1;         /* its stat was read once: key.start is known */
    bool sampled : 1;           /* it stands in at least one sample */
    bool target : 1;            /* named by the user */
    bool touched : 1;           /* record/: since the last drain */
    bool named : 1;             /* record/: an event told its name */
    bool followed : 1;          /* record/: perf was attached to it, or told of its fork */
    bool heard : 1; /* perf was attached to it, or told of something that it did itself: so of all its forks too */
    bool end_told : 1;          /* by an event or by the wrapper */
    bool force : 1;             /* to be read whatever the gate says: member_wake() */
    bool status_known : 1;
    bool io_final : 1;          /* what its row says of reading and writing is all that it did */
    bool io_accounted : 1;      /* gone: reaped_io.c has seen to it */
    int status;
    struct member_usage *told;  /* of its end; NULL: nothing. member_usage(), member_tell() */

    /* collect/'s own notes; zero when the member is made */
    struct {
        uint64_t clock_ns;      /* its CPU clock when its values were last read */
        uint64_t switches_due;  /* when its threads are read next */
        uint64_t smaps_ns;      /* when smaps was last read; 0: never */
        uint64_t smaps_key;     /* faults and stat_rss when smaps was last read */
        uint64_t scanned_clock_ns; /* its CPU clock when its children were last listed */
        uint64_t stat_rss;      /* as stat had it, which may be less than the row's */
        uint64_t status_key;    /* faults and stat_rss when status was last read */
        uint32_t smaps_asked;   /* tick in which the helper was last asked for it */
        uint32_t smaps_cost_us; /* moving average, rounded up */
        uint32_t fds_at;        /* index + 1 of its slot in the descriptor cache; 0: none */
        uint32_t read_tick;     /* the last tick in which it was read, */
        uint32_t shared_kib;    /* memory.c: what had moved among those that share with it when smaps was last read */
        uint16_t reads;         /* and how many in a row */
        uint8_t info_tries;
        bool info_wanted : 1, info_asked : 1, smaps_barred : 1;
        char comm[16];
    } note;
};

struct tree {
    struct member **at;     /* in order; holes are NULL until tree_compact() */
    struct baro_process **rows; /* the same, for a sample */
    struct gate *gates;     /* the same */
    uint64_t *moved;        /* the same, a bit each: it may have changed since the last sample */
    uint64_t removals;      /* members taken out so far */
    size_t n, cap, holes;
    struct member **hash;
    size_t hash_size;
    struct member *free;
    struct member_block *blocks;
    struct settlement *free_settlements;
    struct member_usage *free_usages, spare_usage;
    uint32_t last_id;
    uint64_t epoch;         /* the members removed in it are kept until it ends */
};

static inline enum member_state member_state(const struct member *m)
{
    return (enum member_state)m->state;
}

static inline bool member_is_gone(const struct member *m)
{
    return m->state >= MEMBER_GONE;
}

/* In the tree, and no longer a process that lives. */
static inline bool member_has_ended(const struct member *m)
{
    return m->state >= MEMBER_ENDED && m->state < MEMBER_GONE;
}

/* Its row has the last values: it is not read again. */
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
/* Adds a member that is not there yet. Returns NULL without memory. */
struct member *tree_add(struct tree *t, int32_t pid, struct member *parent);
void tree_set_parent(struct member *m, struct member *parent);
/* Takes a member out; it stays valid until tree_release(). Its children lose their parent and are to be read again. */
void tree_remove(struct tree *t, struct member *m);
void tree_release(struct tree *t, struct member *m);
/* Closes the holes and fills rows. Returns the number of members. */
size_t tree_compact(struct tree *t);
/* The first at or after i that may have changed; n if there is none. */
size_t tree_next_moved(const struct tree *t, size_t i);
void tree_clear_moved(struct tree *t);
size_t tree_count(const struct tree *t);

/* What was told of its end so far; never NULL. */
const struct member_usage *member_usage(const struct member *m);
/* Where it is to be put. Without memory it is put where nobody looks. */
struct member_usage *member_tell(struct member *m);

/* Its row has changed, or whatever else the job's sums are made of. */
static inline void member_moved(const struct member *m)
{
    if (!member_is_gone(m))
        m->tree->moved[m->index / 64] |= UINT64_C(1) << m->index % 64;
}

/* It is looked at with the next tick, whether it runs or not. */
static inline void member_wake(struct member *m)
{
    m->force = true;
    if (!member_is_gone(m))
        m->tree->gates[m->index].due_ns = 0;
}

/* A task's name has 15 bytes; what the kernel shows of some of its own threads beyond that is left out. */
static inline void member_note_comm(struct member *m, const char *comm)
{
    size_t n = 0;
    for (; n + 1 < sizeof(m->note.comm) && comm[n]; n++)
        m->note.comm[n] = comm[n];
    memset(m->note.comm + n, 0, sizeof(m->note.comm) - n);
}

/* Replaces a text of the row; bumps info_version if it is another one. Returns false without memory (the old one
 * stays). */
bool member_set_name(struct member *m, const char *name);
bool member_set_cmdline(struct member *m, const char *cmdline);

#endif
