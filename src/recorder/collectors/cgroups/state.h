/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the collector of control groups; private to this folder. */
#ifndef RECORDER_COLLECTORS_CGROUPS_STATE_H
#define RECORDER_COLLECTORS_CGROUPS_STATE_H

#include "base/clock.h"
#include "recorder/collectors/cgroups/files.h"
#include "recorder/collectors/cgroups/io_devices.h"
#include "recorder/helper/helper.h"

#define GROUPS_MAX 16u           /* the job's own groups and ancestors with a limit: a deep tree has about five */
#define TEXT 65536u              /* of a file: io.stat has a line of about 100 bytes per device */
#define SLOW_NS (4 * NS_PER_SEC) /* for limits, which change rarely */
#define OF_ITS_TIME 500u         /* reading a file may take 1/500 of the time */

/* The file of a group that the helper reads. */
struct group_left {
    char *path;  /* absolute; NULL: there is none */
    size_t file; /* index into group_files */
    bool asked, hung;
    uint32_t tries;
    uint64_t due_ns;
};

struct cgroup_state {
    struct baro_entity *entity;
    bool gone;
    uint64_t closing_tick; /* cgroups_read_end() read it after this tick; 0: never */
    int fd[GROUP_FILES_MAX];
    uint64_t due_ns[GROUP_FILES_MAX];
    uint64_t period_us;
    struct group_left left;
    uint64_t kills;
    struct cgroup_fill {
        uint64_t used, read_ns; /* its memory, and when that was read */
        uint64_t limit;         /* which it had then: another one is near at another time */
        uint64_t due_ns;        /* when it is read next */
        uint64_t near_ns;       /* when it will be near its limit; UINT64_MAX: it does not grow */
        bool is_near;           /* it came near, and did not fall far below since */
    } fill;                     /* cgroups_watch() */
};

struct cgroups {
    struct cgroups_options options;
    struct entity_table table;
    struct cgroup_state *at;
    size_t n, cap;
    bool v2[CGROUP_AT_MAX]; /* is this controller in the v2 hierarchy? */
    struct io_devices devices;
    struct helper *slow; /* borrowed; NULL: none yet */
    uint64_t serial;     /* a hung read is barred by its key: those of other jobs with the same helper have others */
    uint64_t now_ns, ticks;
    uint64_t oom_first, oom_last; /* the first group's count of kills: as read first, and last */
    bool oom_seen;
    bool is_urgent; /* a group came near its limit, or a process was OOM-killed: memory.stat says what holds it */
};

/* cgroup.c: parses the text of file i of the group into its entity. Returns false if it has no value. */
bool group_take(struct cgroups *g, struct cgroup_state *group, size_t i, struct span text);
void group_lack(struct cgroup_state *g, const struct group_file *f, enum baro_absent why);

/* ask_helper.c: the helper now reads file i, which is open. */
void group_leave(struct cgroup_state *group, size_t i);
void groups_ask(struct cgroups *g, bool last);

#endif
