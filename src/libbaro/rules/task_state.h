/* SPDX-License-Identifier: Apache-2.0 */
/* What task_fold.c and task_values.c share. */
#ifndef LIBBARO_RULES_TASK_STATE_H
#define LIBBARO_RULES_TASK_STATE_H

#include "base/buf.h"
#include "base/map.h"
#include "libbaro/interval/derive.h"
#include "libbaro/rules/task_fold.h"

/* The counters of a process that its task adds up. */
enum used_counter { USED_CPU, USED_USER, USED_DELAY, USED_READ, USED_WRITE, USED_RCHAR, USED_WCHAR, USED_COUNTERS };
#define USED_IO (USED_COUNTERS - USED_READ)
extern const struct used_metric {
    enum process_metric process;
    enum exit_metric exit;
    enum task_metric task;
} used_metrics[USED_COUNTERS];

struct task_process {
    uint32_t id;
    struct baro_key key, parent;
    uint16_t task;        /* that it belongs to, counted from 1; 0: none, or not known */
    uint16_t otherwise;   /* the task that it has from its parent; 0: none */
    uint8_t fits;         /* the task that its command fits for certain; 0: none */
    bool may[TASKS_MOST]; /* the tasks that it may fit, if fits is 0 */
    bool is_new;          /* it is in no sample before this one */
    bool is_open;         /* its task is one of `may`, or `otherwise` */
    bool is_resolved;     /* its parent's task is known by now */
    bool is_within;       /* it ran before the stretch that the tape is: exits count from before that */
    bool has_reaped;      /* rows of record --all say what ended processes below it did */
    bool is_running, has_ended, has_cmdline, has_tcp;
    char name[COMM_MOST + 1];
    uint32_t info_version;
    unsigned missing; /* samples since its last row, while its exit has not come */
    uint64_t begin_ns;
    uint64_t base[USED_COUNTERS];    /* in the first row that had it, if it ran before the recording */
    bool lacks_base[USED_COUNTERS];  /* it ran before the recording, and no row had the counter so far */
    uint64_t used[USED_COUNTERS];    /* since then; I/O with that of children that it has waited for */
    uint64_t counted[USED_COUNTERS]; /* the part of it that is none of its task's */
    uint64_t reaped[USED_IO];        /* I/O of its children that have ended */
    uint64_t reaped_exits[USED_IO];  /* the part of it that exits on the tape have */
    uint64_t reaped_base[USED_IO];   /* that of record --all in the first row, if it ran before the recording */
    uint64_t tcp[2];
};

struct task_sums {
    struct baro_entity entity;
    char name[TASK_NAME_MOST];
    uint64_t value[TASK_MAX];
    uint8_t absent[TASK_MAX];
    /* the recorder's own values, and those of recorders before it, which had another id for the task */
    uint64_t own[TASK_MAX], carried[TASK_MAX];
    bool is_joined;
    uint64_t ended[USED_COUNTERS];     /* of processes that have ended or left */
    uint64_t published[USED_COUNTERS]; /* no sum falls */
    uint64_t system_published;
    uint64_t started, gone, unread, io_unread, samples, tcp[2], tcp_unread, rss_peak, uss_peak;
    uint64_t running, peak, active_ns, begin_ns, end_ns, swept_ns, late_ns;
    uint64_t active_before; /* active_ns in the last sample */
    uint64_t brief_ns;      /* how long brief lives since then lasted together */
    uint64_t cpu_brief;     /* of processes that ended with less than BRIEF_CPU_NS */
    int64_t late;           /* of exits that came late: began less ended */
    uint64_t commands_unread, commands_unread_cpu, commands_unsized;
    bool tcp_known;
    uint8_t tcp_absent;
};

/* An exit as it came, until the next sample. */
struct task_exit {
    struct task_process *of;
    uint64_t t_ns, value[EXIT_MAX];
    uint8_t absent[EXIT_MAX];
    enum baro_exit_source source;
    bool io_in_parent; /* its parent, of the same task, has its I/O, too */
};

/* A process of a task began or ended. */
struct task_edge {
    uint64_t t_ns;
    uint16_t task;
    int8_t change;
};

struct task_fold {
    const struct rules *rules;
    struct derive_ticks ticks;
    bool attached, selects;
    bool begins_within;                                     /* the tape is a stretch of a recording */
    bool is_short;                                          /* the beginning of the recording was removed */
    bool is_unsure;                                         /* not every process is on the tape */
    bool failed;                                            /* out of memory */
    uint64_t samples, t_ns, now_ns, swept_ns, cpu_until_ns; /* now_ns: of the sample that is taken */
    uint64_t begin_ns;                                      /* of the stretch that the tape is; else 0 */
    struct task_process **at;                               /* the living, and those whose exits have come, or will */
    struct map by_id, by_pid;                               /* places in `at` */
    struct task_exit *exit;
    struct task_edge *edge;
    struct task_sums **task;
    struct baro_entity **shown;
    size_t n, cap, n_exits, cap_exits, n_edges, cap_edges, n_tasks, cap_tasks, n_shown, cap_shown;
    struct task_own {
        uint64_t value;
        uint8_t absent;
    } * own; /* PROCESS_task of the sample's processes as it was */
    size_t n_own, cap_own;
    struct buf text; /* a command line without quotes, and the base name of its first word */
};

static inline struct task_sums *sums_of_process(const struct task_fold *f, const struct task_process *p)
{
    return p->task ? f->task[p->task - 1] : NULL;
}

/* The part of a counter that is its task's, without children that the process has waited for. */
uint64_t task_part(const struct task_process *p, enum used_counter c);
/* A process joins its task, or leaves it. */
void task_edge_add(struct task_fold *f, uint64_t t_ns, struct task_process *p, int8_t change);

/* task_values.c: takes the exits that have come; then the processes of the sample, and makes the tasks' values. */
void task_exits_take(struct task_fold *f);
void task_edges_sweep(struct task_fold *f, uint64_t now_ns); /* how many at once, up to now */
/* before_ns: of the sample before */
void task_values_make(struct task_fold *f, struct baro_sample *s, uint64_t before_ns);
/* task_fold.c */
struct task_process *task_process_find(const struct task_fold *f, struct baro_key key);
struct task_sums *task_sums_get(struct task_fold *f, uint32_t id); /* NULL: out of memory, or too many */

#endif
