/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: at each tick it looks at every member of the job, reads what has changed, and yields a sample.
 *
 * The gate (struct gate): a process whose CPU clock has not moved since it was last read has run no instruction, so its
 * own counters stand still. State R is always read (another core's clock moves with the kernel's tick only), and so is
 * D (the parent of a vfork child shares its memory). What can change from outside (reclaim, renice, sharers that leave)
 * is refreshed in turn.
 */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include "base/buf.h"
#include "base/clock.h"
#include "schedule/budget.h"
#include "cgroup/cgroup.h"
#include "host/host.h"
#include "helper/helper.h"
#include "job/job.h"
#include "procfs/procfs.h"

#define SAMPLER_TEXT 16384
#define SAMPLER_HELPER_AFTER                                                                                           \
    (100 * NS_PER_MS) /* a shorter job pays for no helper that reads of the machine or of groups */

struct sampler_options {
    int proc_fd;             /* directory descriptor of /proc; borrowed */
    uint64_t wanted;         /* mask of process metrics */
    uint64_t overhead_ppm;
    bool cmdline;            /* command lines are wanted */
    bool children;           /* descendants belong to the job */
    bool helper;             /* a helper process may be started */
    bool host;               /* the machine is looked at, too */
    bool host_at_once;       /* from the first sample on: else when the job is no longer a short one */
    bool host_alone;         /* there is no job */
    int sys_fd;              /* directory descriptor of /sys; borrowed; -1: none */
    uint32_t clk_tck;
    uint64_t start_monotonic_ns;
    uint64_t page_size;
    int32_t self[3];         /* barograph's own processes, this one first: never members; 0: none */
    int wake_fd;             /* no wait for the helper when there is something to read here; -1: none */
    /* Called in a tick that found members gone, before their exits are told: their ends are in the queues of the event
     * sources by now. */
    void (*catch_up)(void *context);
    void *catch_up_context;
    int root_fd;             /* directory descriptor of "/"; borrowed */
    const struct cgroup_hierarchies *groups; /* that the job is in; NULL: not looked at; borrowed */
    bool whole_group;        /* the job is all that is in the first of them and below: sampler_groups_begin() */
    uint64_t memory_total;   /* of the machine */
};

#define SHARED_SLOTS 512u

enum { CACHE_STAT, CACHE_STATUS, CACHE_IO, CACHE_SCHEDSTAT, CACHE_FD, CACHE_FILES };

struct fd_slot {
    struct member *owner;
    uint64_t used_ns;
    int fd[CACHE_FILES];
};

struct sampler {
    struct sampler_options options;
    struct job *job;
    unsigned need;           /* enum baro_source */
    struct helper *slow;
    struct host *machine;
    uint32_t entity_ids;     /* the last id that a CPU, disk, control group ... was given */
    struct budget budget;
    struct fd_slot *slots;
    size_t n_slots;
    uint64_t *moved;         /* of the sample */
    size_t cap_moved;
    uint64_t now_ns;         /* of the tick that is under way */
    bool scan_always;        /* no event source: members that ran are asked for children at every tick */
    bool scan_once;          /* events were lost, or a while has passed */
    bool no_children_file;   /* kernel without CONFIG_PROC_CHILDREN */
    bool children_file_known;
    int pids_fd; /* /proc/loadavg, which tells the last pid that was given to anybody; -1: it does not, or not asked yet
                  */
    bool pids_tried, nobody_born; /* since the last tick, in the whole of our pid namespace */
    uint64_t last_pid, born_ns, pids_ns; /* it; the tick that first saw it; the last tick that looked */
    uint64_t scanned_ns;
    uint64_t rss_sum_peak;
    bool peak_unread;        /* of those that make up the peak some could not be read yet */
    uint32_t shared[SHARED_SLOTS]; /* memory.c: KiB that moved, by program and by parent */
    bool shared_moved;       /* since it was last seen whose pss that makes old */
    bool moved_since_asked;  /* since the helper was asked: what it answers may be older than that */
    uint64_t shared_ns;      /* when that was */
    uint64_t stale_since_ns; /* stale is not 0 since then */
    uint64_t stale; /* members whose pss is older than a change among those that share with them; 0: the sum is right
                       but for a sixteenth */
    struct helper_request *requests;
    size_t n_requests, cap_requests;
    uint64_t self_rss, self_rss_peak, self_checked_ns;
    uint8_t self_rss_absent;
    uint64_t ticks, process_samples, missed, sample_time_ns, sample_cpu_ns, lossy, thinned, self_cpu_ns;
    uint64_t own_cpu_ns,
        helpers_cpu_ns;      /* of this process and of those that read for it, as they were last looked at */
    uint64_t began_cpu_ns;   /* of this process, as the last tick began */
    uint64_t charged_own_ns, charged_rest_ns; /* what the budget was told of: of this process, of all others */
    uint64_t left_out;       /* samples that the budget did not allow */
    uint64_t
        threads_free_ns; /* when the threads of some process may be read next: they take a fixed part of the budget */
    uint64_t refused, refused_here; /* forks of helpers; those that a group counts which the job is in as well */
    uint64_t refused_at_look;   /* the latter, when the groups were last read */
    bool lossy_now;
    struct cgroups *groups;  /* NULL: none, or not opened yet */
    struct helper *groups_helper; /* NULL: the machine's does */
    bool groups_left_out, groups_tried;
    struct cgroup_meter meter; /* of a job that is a group */
    struct cgroup_reading meter_base;
    struct cgroup_walk walk;
    uint64_t walked_ns;
    int walk_error;
    size_t group_members;
    struct baro_sample sample;
    char text[SAMPLER_TEXT];
};

int sampler_init(struct sampler *s, struct job *job, const struct sampler_options *options, struct baro_error *err);
void sampler_done(struct sampler *s);
void sampler_kill_helpers(struct sampler *s); /* after the last sample: they end while the tape is finished */
void sampler_end_helpers(struct sampler *s); /* of all that sampler_done() does: this process ends now */

/* Takes a sample as of now. The result is valid until the next call. */
const struct baro_sample *sampler_tick(struct sampler *s);

/* Finds the descendants of the targets and marks what all have used so far as not this recording's. To be called before
 * the first tick. */
void sampler_discover(struct sampler *s);

/* Adds a process that the user named. Reads it at once. Returns the member or NULL with err. */
struct member *sampler_add_target(struct sampler *s, int32_t pid, struct baro_error *err);

/* Looks at a member outside a tick: after an exec, an exit event, when the ledger wants to know. Calls job_gone() if it
 * is no longer there. Returns 0, or -ESRCH. */
int sampler_look(struct sampler *s, struct member *m);

/* Those below the member that are no longer there: it had waited for them before it went, or nobody knows. */
void sampler_gather(struct sampler *s, struct member *m, uint64_t t_ns);

/* The member is no longer there: lets go of what was held for it and calls job_gone(), which nobody else does. Those
 * below it go before it. */
void sampler_gone(struct sampler *s, struct member *m, uint64_t t_ns);

/* Of a zombie, read by the wrapper: the raw text of its stat file, its CPU clock, and what it had read and written, as
 * far as that is known. 0 and empty: not known. */
struct sampler_zombie {
    struct span stat;
    uint64_t cpu_ns;
    struct pid_io io;
    bool io_known; /* all of it, to the end */
    struct pid_io own_io; /* of that, what it did itself */
    bool own_io_known;
};

/* Puts it into the row, and leaves the memory that it had when it was last seen alive. */
void sampler_take_zombie(struct sampler *s, struct member *m, const struct sampler_zombie *z);

/* What the kernel calls it, secrets taken out (prctl(PR_SET_NAME) takes any text). */
void sampler_set_name(struct member *m, const char *comm);

/* Another program than before: its name and command line are asked for anew. */
void sampler_renamed(struct member *m);

/* Settles the ledger (job_settle) by reading ancestors again. */
void sampler_settle(struct sampler *s);

/* From now on all that is in this one of options.groups and below it is the job. What it had used before is not the
 * job's if since_now. Returns 0, or -ENOENT. */
int sampler_groups_begin(struct sampler *s, const struct cgroup_location *place, bool since_now);

/* The groups that the job is in, found later than at the start, or others than before. Borrowed. */
void sampler_groups_renew(struct sampler *s, const struct cgroup_hierarchies *groups);

/* A first look at them, before there is one at the machine. */
void sampler_groups_early(struct sampler *s);

/* Adds whoever is in that group and not known. Returns how many are in it. */
size_t sampler_groups_find_members(struct sampler *s);

uint64_t
sampler_self_refused(struct sampler *s); /* forks of helpers that a control group of the job's counts as refused */
uint64_t sampler_now(const struct sampler *s);

/* Looks at the clocks: now_ns is the present. */
void sampler_advance(struct sampler *s);

/* Tells the budget what was spent since the last call. sampled: with a tick. */
void sampler_charge(struct sampler *s, bool sampled);

/* A cheap look, which is no sample: has no member run since the last tick, is nothing due, and was nobody told of? */
bool sampler_is_quiet(struct sampler *s);

/* Was anybody told of since the last tick? */
bool sampler_is_stirred(const struct sampler *s);

/* Did the last tick find anything that had changed? */
bool sampler_any_moved(const struct sampler *s);

/* The last sample once more, as of t_ns: nothing has changed in between. NULL if that can't be said any more. */
const struct baro_sample *sampler_repeat(struct sampler *s, uint64_t t_ns);

/* ---- between the sampler's own files ---- */
/* process.c */
uint64_t process_memory_key(const struct member *m); /* another one where its memory moved */
int process_clock(struct sampler *s, struct member *m, uint64_t *ret_ns);
/* stat alone; what the ledger adds up; what can change without the process running; all that is wanted */
enum process_depth { PROCESS_STAT, PROCESS_LEDGER, PROCESS_REFRESH, PROCESS_WHOLE };
int process_read(struct sampler *s, struct member *m, uint64_t clock_ns, enum process_depth depth);
/* What it took over from children that it had reaped, as of the row, into reaped_io.now. False: can't be told. */
bool process_reaped_io(struct sampler *s, struct member *m);
/* Files of threads, of which a process can have thousands, take a part of the budget: is it their turn (else it is
 * counted as left out)? What they took since begin_cpu_ns (of this process) says when they are next: returns how long
 * that is. */
bool process_threads_free(struct sampler *s);
uint64_t process_threads_took(struct sampler *s, uint64_t begin_cpu_ns);
/* cache.c */
int cache_init(struct sampler *s);
void cache_done(struct sampler *s);
void cache_drop(struct sampler *s, struct member *m);
int64_t cache_count_fds(struct sampler *s, struct member *m);
ssize_t cache_read(struct sampler *s, struct member *m, int which, const char *name, size_t cap);
/* scan.c */
void scan_begin(struct sampler *s); /* of a tick: has anybody been born since the last one? */
bool scan_children_of(struct sampler *s, struct member *m); /* false: put off, there are many threads */
void scan_wrapper(struct sampler *s);
void scan_everything(struct sampler *s);
/* memory.c */
void memory_prepare(struct sampler *s); /* before the tree grows: the helper is a fork of this process */
void memory_tick(struct sampler *s);
void memory_moved_by(struct sampler *s, const struct member *m,
                     uint64_t bytes); /* it came, went, grew or shrank by that much */
void memory_bound(struct sampler *s); /* no pss is above its rss */
uint64_t memory_due(const struct sampler *s, const struct member *m); /* when the helper is to be asked for it */
void memory_collect(struct sampler *s);
/* machine.c: what is around the job, into the sample */
void machine_prepare(struct sampler *s); /* as memory_prepare() */
void machine_tick(struct sampler *s);
/* cgroup_job.c */
void sampler_groups_prepare(struct sampler *s); /* as memory_prepare() */
void sampler_groups_tick(struct sampler *s);
void sampler_groups_count(struct sampler *s);
void sampler_groups_members_tick(struct sampler *s);
void sampler_groups_done(struct sampler *s);
/* self.c: what barograph's own processes use, around a tick */
void self_begin(struct sampler *s);
void self_end(struct sampler *s);
void self_fill(struct sampler *s);

#endif
