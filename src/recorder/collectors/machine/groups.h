/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups that the processes of the machine are in: which one each process is in (PROCESS_cgroup), and an
 * entity for each of them, and for each group above it. The first one is the root.
 *
 * /proc/PID/cgroup is read once, when a process has lived for a moment, and then rarely; until then a process has the
 * group of its parent. Of a group those files are read that say what it uses, what limits it and how its processes
 * waited: often if its processes ran, rarely else. A directory stays open for each group; files are opened for each
 * read, as an open file of a control group keeps a page of the kernel.
 */
#ifndef RECORDER_COLLECTORS_MACHINE_GROUPS_H
#define RECORDER_COLLECTORS_MACHINE_GROUPS_H

#include "base/map.h"
#include "recorder/collectors/cgroups/files.h"
#include "recorder/collectors/cgroups/io_devices.h"
#include "recorder/sampling/entity.h"
#include "recorder/sampling/sampling.h"

struct machine_group {
    struct baro_entity *entity;
    char *path;
    size_t above; /* index of the group above it; its own: it is the root */
    struct {
        int fd; /* its directory in this hierarchy */
        bool v2;
    } * dir;
    int8_t of[CGROUP_AT_MAX]; /* index into dir; -1: none */
    uint8_t n_dirs;
    bool ran;                            /* a process in it has run since it was read last */
    uint64_t cpu_ns, more_ns, limits_ns; /* when its files were read last: of CPU time and memory, others, limits */
    uint64_t used_ns;                    /* when a process was last found in it */
    uint64_t period_us;
};

struct machine_groups {
    struct sampling *sampling;
    struct cgroups_options options;
    struct entity_table table; /* in the order of at[] */
    struct machine_group *at;
    size_t n, cap;
    struct map by_path, by_id; /* indexes into at[] */
    size_t next_member, next_group;
    uint64_t swept_ns;
    bool is_new;                       /* a group has come or gone since the last sample that has groups */
    struct cgroup_hierarchies *places; /* work space */
    struct io_devices devices;
};

/* The path that names the groups of a process: that of version 2 or of systemd if it is in one of these, else the first
 * that is not the root. Pure. text: of /proc/PID/cgroup. Returns false if there is none. */
bool machine_groups_path(struct span text, struct span *ret);

int machine_groups_init(struct machine_groups *g, struct sampling *sampling);
/* Finds out which group members are in, where that is due, and notes which groups have run. */
void machine_groups_find(struct machine_groups *g);
/* A process has ended: its group is read with the next sample, all of it if SIGKILL ended the process. */
void machine_groups_note_exit(struct machine_groups *g, const struct baro_exit *e);
/* Reads the files of groups that are due, within the budget. */
void machine_groups_read(struct machine_groups *g, bool last);
void machine_groups_done(struct machine_groups *g);

#endif
