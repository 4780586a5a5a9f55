/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/loop/launcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/span.h"

/*
 * The variables of each launcher, the innermost launcher first: the ranks of `srun -n 2 mpirun` all have the
 * SLURM_PROCID of the one process of srun that started them on their machine, and those of `mpirun torchrun` the rank
 * of torchrun itself. needs: without it the variables mean something else, such as SLURM_PROCID in the script of
 * sbatch, and RANK nearly anywhere.
 */
#define SLURM_TASKS "SLURM_STEP_TASKS_PER_NODE"
static const struct family {
    const char *rank, *ranks, *local_rank, *local_ranks, *needs;
} families[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "OMPI_COMM_WORLD_RANK"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE",
     "MV2_COMM_WORLD_RANK"},
    {"PALS_RANKID", NULL, "PALS_LOCAL_RANKID", NULL, "PALS_RANKID"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL, "FLUX_TASK_RANK"},
    {"PMIX_RANK", NULL, NULL, NULL, "PMIX_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_RANK"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", SLURM_TASKS, "SLURM_STEP_ID"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE"},
};

/* needs: as above; NULL: nothing. What a launcher calls a run is the job only without a batch system. */
static const struct {
    const char *variable, *needs;
} jobs[] = {
    {"SLURM_JOB_ID", NULL},   {"PBS_JOBID", NULL},        {"LSB_JOBID", NULL},
    {"FLUX_JOB_ID", NULL},    {"OAR_JOB_ID", NULL},       {"JOB_ID", "SGE_TASK_ID"},
    {"COBALT_JOBID", NULL},   {"AWS_BATCH_JOB_ID", NULL}, {"TORCHELASTIC_RUN_ID", "RANK"},
    {"PMIX_NAMESPACE", NULL}, {"PMI_JOBID", "PMI_RANK"},
};

static const char *text_of(char *(*get)(const char *), const char *name)
{
    const char *text = name ? get(name) : NULL;
    return text ? text : "";
}

/* Returns the text of a variable that is a number; "": it has none. */
static const char *digits_of(char *(*get)(const char *), const char *name)
{
    const char *text = text_of(get, name);
    return *text && strlen(text) < 10 && strspn(text, "0123456789") == strlen(text) ? text : "";
}

static uint32_t number_of(char *(*get)(const char *), const char *name)
{
    struct span digits = span_str(digits_of(get, name));
    uint64_t n = 0;
    return scan_u64(&digits, &n) ? (uint32_t)n : 0;
}

/* Reads how many tasks this node has from a list of all nodes. Example: "4(x2),3" are 4, 4 and 3. */
static uint32_t tasks_of_node(char *(*get)(const char *))
{
    struct span list = span_str(text_of(get, SLURM_TASKS));
    uint64_t node = number_of(get, "SLURM_NODEID"), n, times;
    while (scan_u64(&list, &n) && n < UINT32_MAX) {
        times = 1;
        if (scan_char(&list, '(') && !(scan_char(&list, 'x') && scan_u64(&list, &times) && scan_char(&list, ')')))
            break;
        if (node < times)
            return (uint32_t)n;
        node -= times;
        if (!scan_char(&list, ','))
            break;
    }
    return 0;
}

/* Takes what is not known yet from a family that has the same rank: of srun --mpi=pmix PMIX_RANK says which rank it is,
 * and SLURM_* how many there are. */
static void take(struct launched *l, const struct family *f, char *(*get)(const char *))
{
    const char *rank = *text_of(get, f->needs) ? digits_of(get, f->rank) : "";
    if (!*rank || (*l->rank && strcmp(l->rank, rank) != 0))
        return;
    l->rank = rank;
    l->ranks = l->ranks ? l->ranks : number_of(get, f->ranks);
    l->local_rank = *l->local_rank ? l->local_rank : digits_of(get, f->local_rank);
    if (!l->local_ranks)
        l->local_ranks = f->local_ranks && !strcmp(f->local_ranks, SLURM_TASKS) ? tasks_of_node(get)
                                                                                : number_of(get, f->local_ranks);
}

struct launched launcher_read(char *(*get)(const char *name))
{
    struct launched l = {.job = "", .rank = "", .local_rank = ""};
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        take(&l, &families[i], get);
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs) && !*l.job; i++) {
        const char *id = text_of(get, jobs[i].variable);
        bool is_id = *id && strcmp(id, "none") != 0 && (!jobs[i].needs || *text_of(get, jobs[i].needs));
        l.job = is_id ? id : "";
    }
    l.step = text_of(get, "SLURM_STEP_ID");
    l.node = text_of(get, "SLURMD_NODENAME");
    l.attempt =
        number_of(get, *text_of(get, "SLURM_RESTART_COUNT") ? "SLURM_RESTART_COUNT" : "TORCHELASTIC_RESTART_COUNT");
    return l;
}
