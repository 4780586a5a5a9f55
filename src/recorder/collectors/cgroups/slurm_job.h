/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of Slurm that a control group is: its id and step by the path, and what a prolog wrote of it. Slurm is not
 * asked: its controller has more to do than to answer each node for each job.
 */
#ifndef RECORDER_COLLECTORS_CGROUPS_SLURM_JOB_H
#define RECORDER_COLLECTORS_CGROUPS_SLURM_JOB_H

#include <stdbool.h>
#include <stddef.h>

#define SLURM_TAGS_MOST 16u
#define SLURM_TAG_SIZE 256u

struct slurm_job {
    char id[64], step[64], uid[16]; /* "": not known */
    char title[256];                /* "job 4711 of alice in main" */
    char tag[SLURM_TAGS_MOST][SLURM_TAG_SIZE];
    size_t n_tags;
};

/* root_fd: directory descriptor of "/". files: read /run/barograph/slurm/JOBID, whose lines are KEY=VALUE. Returns
 * false for a group that is no job of Slurm. */
bool slurm_job_read(int root_fd, const char *path, bool files, struct slurm_job *ret);

#endif
