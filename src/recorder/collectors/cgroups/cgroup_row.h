/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "cgroups": the control groups that the job is in. */
#ifndef RECORDER_COLLECTORS_CGROUPS_CGROUP_ROW_H
#define RECORDER_COLLECTORS_CGROUPS_CGROUP_ROW_H

#include "recorder/collectors/host/host_row.h"
#include "recorder/sampling/own_cost.h"

struct cgroup_row {
    struct sampling *sampling;
    const struct host_row *host; /* the groups are read together with the machine, by the same helper */
    struct own_cost *own;
    struct cgroups *groups; /* NULL: none, or not opened yet */
    struct helper *helper;  /* NULL: the machine's helper is used, or that of all recordings */
    bool opened;
    bool is_near;     /* a group has come near its memory limit: all of them are read now */
    uint64_t near_ns; /* when one will; UINT64_MAX: none grows */
};

extern const struct collector cgroup_collector;
void cgroup_row_init(struct cgroup_row *r, struct sampling *sampling, const struct host_row *host,
                     struct own_cost *own);

/* options.groups has changed: the groups were found later than at the start, or the job was moved. */
void cgroup_row_renew(struct cgroup_row *r);

/* Reads the groups before the machine is sampled for the first time. is_early(): the machine is going to be sampled,
 * and neither was read yet. */
bool cgroup_row_is_early(const struct cgroup_row *r);
void cgroup_row_early(struct cgroup_row *r);

/* cgroups_watch(), before the turns of a tick. */
bool cgroup_row_watch(struct cgroup_row *r);
void cgroup_row_read_end(struct cgroup_row *r);            /* cgroups_read_end() */
uint64_t cgroup_row_oom_kills(const struct cgroup_row *r); /* in the job's own group, since it was first read */

#endif
