/* SPDX-License-Identifier: Apache-2.0 */
/* Job, step and rank as launchers put them into the environment, typed from what they set. */
#include <string.h>

#include "unit.h"
#include "recorder/loop/launcher.h"

static const char *const *environment; /* pairs of name and value, ended by NULL */

static char *lookup(const char *name)
{
    for (const char *const *e = environment; *e; e += 2) {
        if (strcmp(*e, name) == 0)
            return (char *)e[1];
    }
    return NULL;
}

#define ENVIRONMENT(...)                                                                                               \
    environment = (const char *const[])                                                                                \
    {                                                                                                                  \
        __VA_ARGS__ __VA_OPT__(, ) NULL                                                                                \
    }

static void expect(const char *job, const char *rank, uint32_t ranks, const char *local_rank, uint32_t local_ranks)
{
    struct launched l = launcher_read(lookup);
    assert_string_equal(l.job, job);
    assert_string_equal(l.rank, rank);
    assert_int_equal(l.ranks, ranks);
    assert_string_equal(l.local_rank, local_rank);
    assert_int_equal(l.local_ranks, local_ranks);
}

TEST(nothing)
{
    ENVIRONMENT();
    expect("", "", 0, "", 0);
    ENVIRONMENT("RANK", "colonel"); /* anybody's variable */
    expect("", "", 0, "", 0);
    ENVIRONMENT("RANK", "1");
    expect("", "", 0, "", 0);
}

/* The script of sbatch has SLURM_PROCID, too, but is no step. */
TEST(slurm)
{
    ENVIRONMENT("SLURM_JOB_ID", "4711", "SLURM_PROCID", "0", "SLURM_LOCALID", "0", "SLURM_NTASKS", "8");
    expect("4711", "", 0, "", 0);
    ENVIRONMENT("SLURM_JOB_ID", "4711", "SLURM_STEP_ID", "2", "SLURM_PROCID", "3", "SLURM_LOCALID", "1",
                "SLURM_STEP_NUM_TASKS", "8", "SLURMD_NODENAME", "n2", "SLURM_RESTART_COUNT", "2");
    expect("4711", "3", 8, "1", 0);
    struct launched l = launcher_read(lookup);
    assert_string_equal(l.step, "2");
    assert_string_equal(l.node, "n2");
    assert_int_equal(l.attempt, 2);
}

/* Node 2 of "4(x2),3" has 3 tasks. */
TEST(slurm_tasks_of_a_node)
{
    static const struct {
        const char *list, *node;
        uint32_t n;
    } rows[] = {{"4(x2),3", "0", 4}, {"4(x2),3", "1", 4},   {"4(x2),3", "2", 3}, {"4(x2),3", "3", 0},
                {"16", "0", 16},     {"4(x2),3", "x", 4},   {"", "0", 0},        {"4(x", "0", 0},
                {"4(x2", "0", 0},    {"9999999999", "0", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        ENVIRONMENT("SLURM_STEP_ID", "2", "SLURM_PROCID", "3", "SLURM_LOCALID", "1", "SLURM_STEP_NUM_TASKS", "11",
                    "SLURM_STEP_TASKS_PER_NODE", rows[i].list, "SLURM_NODEID", rows[i].node);
        expect("", "3", 11, "1", rows[i].n);
    }
}

/* mpirun within srun: all of its ranks on a machine have the SLURM_PROCID of its daemon. */
TEST(mpirun_in_slurm)
{
    ENVIRONMENT("SLURM_JOB_ID", "4711", "SLURM_STEP_ID", "0", "SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "2",
                "OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE", "6", "OMPI_COMM_WORLD_LOCAL_RANK", "2",
                "OMPI_COMM_WORLD_LOCAL_SIZE", "3", "PMIX_NAMESPACE", "1", "PMIX_RANK", "5");
    expect("4711", "5", 6, "2", 3);
}

/* srun --mpi=pmix: PMIX_RANK, and the number of ranks by Slurm. */
TEST(pmix_of_slurm)
{
    ENVIRONMENT("SLURM_JOB_ID", "4711", "SLURM_STEP_ID", "0", "SLURM_PROCID", "3", "SLURM_LOCALID", "1",
                "SLURM_STEP_NUM_TASKS", "4", "PMIX_RANK", "3");
    expect("4711", "3", 4, "1", 0);
}

/* One torchrun per machine, started by mpirun or srun. */
TEST(torchrun)
{
    ENVIRONMENT("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", "none", "RANK", "6",
                "WORLD_SIZE", "8", "LOCAL_RANK", "2", "LOCAL_WORLD_SIZE", "4", "TORCHELASTIC_RESTART_COUNT", "1");
    expect("", "6", 8, "2", 4);
    assert_int_equal(launcher_read(lookup).attempt, 1);
}

TEST(mpich)
{
    ENVIRONMENT("PMI_RANK", "2", "PMI_SIZE", "4", "MPI_LOCALRANKID", "2", "MPI_LOCALNRANKS", "4");
    expect("", "2", 4, "2", 4);
}

/* What is no number is not known. */
TEST(garbage)
{
    ENVIRONMENT("OMPI_COMM_WORLD_RANK", "-1", "OMPI_COMM_WORLD_SIZE", "4");
    expect("", "", 0, "", 0);
    ENVIRONMENT("OMPI_COMM_WORLD_RANK", "1", "OMPI_COMM_WORLD_SIZE", "99999999999", "OMPI_COMM_WORLD_LOCAL_RANK", "x");
    expect("", "1", 0, "", 0);
}
