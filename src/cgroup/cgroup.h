/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's control groups: its own, and those above it that set a limit. An entity is a path; of v1 and of both at
 * once it has what those hierarchies say in which the job is at or below that path. Descriptors are held, a tick
 * allocates nothing. Reads of files that are summed up over a tree (memory.stat, cpu.stat, io.stat) can be dear, on
 * some machines seconds: each file is read no more often than its own cost allows, and memory.stat, which is the
 * dearest, by a helper process.
 */
#ifndef CGROUP_CGROUP_H
#define CGROUP_CGROUP_H

#include "cgroupfs/discover.h"
#include "entity/entity.h"

struct cgroups;
struct helper;

struct cgroups_options {
    int root_fd;                /* directory descriptor of "/"; borrowed */
    uint64_t ns_per_tick;       /* of v1's cpuacct.stat */
    uint64_t memory_total;      /* of the machine: a limit at or above it is none; 0: not known */
    bool helper;                /* what may take seconds is left to a helper (cgroups_use()); else it is read as well */
    uint32_t *ids;              /* the last id that was given to an entity of any kind; borrowed */
};

/* Opens what there is of these groups. Nothing at all is no failure: *ret is NULL then. Returns 0 or -ENOMEM. */
int cgroups_new(struct cgroups **ret, const struct cgroups_options *options, const struct cgroup_hierarchies *places);
/* From now on this helper is asked, which may be another's (helper_divert()); borrowed until the end. NULL is none. */
void cgroups_use(struct cgroups *g, struct helper *helper);
bool cgroups_need_helper(const struct cgroups *g); /* something is left to it; NULL is allowed */
/* Takes what it answered, where nobody else asks for replies. */
void cgroups_collect(struct cgroups *g);
/* Reads what is due and puts the entities into the sample. last: no other look follows, and what the helper is asked is
 * waited for some milliseconds. NULL is allowed. */
void cgroups_tick(struct cgroups *g, uint64_t now_ns, bool last, struct baro_sample *ret);
/* OOM kills in the first of them since the first look. NULL is allowed. */
uint64_t cgroups_oom_kills(const struct cgroups *g);
void cgroups_free(struct cgroups *g);

/* Which of these hierarchies has the file that a metric is read from: one of the version that has such a file if there
 * is one, else any that has its controller; NULL: none. */
const struct cgroup_location *cgroups_location_of(const struct cgroup_hierarchies *places, enum cgroup_metric id);

/* CPU time of a group and of all that ever was in it, as the kernel counts it: cpu.stat, or of v1 cpuacct.usage with
 * cpuacct.stat for the split. */
struct cgroup_meter {
    int fd, split_fd;           /* -1: none */
    bool v2;
    uint64_t ns_per_tick;
};
struct cgroup_reading {
    uint64_t user_ns, system_ns; /* their sum is exact */
};
/* Returns 0, or -ENOENT if no hierarchy of these counts CPU time. */
int cgroup_meter_open(struct cgroup_meter *m, int root_fd, const struct cgroup_hierarchies *places,
                      uint64_t ns_per_tick);
/* Returns 0, or -ENODEV once the group is gone. */
int cgroup_meter_read(const struct cgroup_meter *m, struct cgroup_reading *ret);
void cgroup_meter_close(struct cgroup_meter *m);

/* The processes of a group and of all groups below it. */
struct cgroup_walked {
    int dir_fd, procs_fd;       /* of a group, and of its cgroup.procs; held; -1: opened each time */
    uint64_t links; /* two, and one for each group below, when it was listed last; 0: it was not, or must be anew */
    uint64_t name;              /* a hash of it */
    size_t parent, moved;       /* moved: where it is when those that are gone are dropped */
    int depth;
    bool seen, gone;
    bool parent_of;             /* one below it is known, or was */
};
struct cgroup_walk {
    int root_fd;                /* borrowed */
    bool v2;
    char dir[CGROUP_DIR_MAX];   /* below it */
    struct cgroup_walked *at;
    size_t n, cap;
    uint32_t *slot;             /* 2 * cap: where one with a parent and a name is, plus one; 0: nothing */
    size_t left_now;            /* by this look */
    size_t most, left_out; /* so many are looked into, as descriptors are few; so many more there are, or at least that
                              many where they lie too deep */
};
void cgroup_walk_init(struct cgroup_walk *w, int root_fd, const struct cgroup_location *place);
/* Looks for groups that came and went; where none did it costs an fstat() each. Returns 0, or -ENOENT if the group
 * itself is gone. */
int cgroup_walk_groups(struct cgroup_walk *w);
/* Calls fn for each process. text is room for the work. Returns how many there are, or -ENODEV if the group itself is
 * gone. */
int cgroup_walk_processes(struct cgroup_walk *w, char *text, size_t cap, void (*fn)(void *context, int32_t pid),
                          void *context);
void cgroup_walk_done(struct cgroup_walk *w);

#endif
