/* SPDX-License-Identifier: Apache-2.0 */
/* The collector "cgroups": the control groups that the job is in. */
#ifndef COLLECT_CGROUP_ROW_H
#define COLLECT_CGROUP_ROW_H

#include "collect/host_row.h"
#include "collect/own_cost.h"

struct cgroup_row {
    struct sampling *sampling;
    const struct host_row *host; /* they are read with the machine, and its helper reads for both */
    struct own_cost *own;
    struct cgroups *groups; /* NULL: none, or not opened yet */
    struct helper *helper;  /* NULL: the machine's does */
    bool opened;
};

extern const struct collector cgroup_collector;
void cgroup_row_init(struct cgroup_row *r, struct sampling *sampling, const struct host_row *host,
                     struct own_cost *own);

/* options.groups has changed: they were found later than at the start, or the job was moved. */
void cgroup_row_renew(struct cgroup_row *r);

/* Reads them before the machine is sampled for the first time; only where that is to come and nothing was read yet. */
bool cgroup_row_is_early(const struct cgroup_row *r);
void cgroup_row_early(struct cgroup_row *r);

uint64_t cgroup_row_oom_kills(const struct cgroup_row *r); /* since the first reading, in the job's own group */

#endif
