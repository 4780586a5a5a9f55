/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/fmt.h"
#include "programs/baro-log/advise.h"

struct ask {
    unsigned long long cores, mib, mb, minutes; /* 0: not known */
};

/* Slurm's and systemd's M, Kubernetes' Mi, docker's m and Nextflow's MB are MiB; Snakemake's mem_mb has 1,000,000
 * bytes. */
static void slurm(const struct ask *a, struct buf *b)
{
    if (a->cores)
        buf_printf(b, "#SBATCH --cpus-per-task=%llu\n", a->cores);
    if (a->mib)
        buf_printf(b, "#SBATCH --mem=%lluM\n", a->mib);
    if (a->minutes)
        buf_printf(b, "#SBATCH --time=%llu\n", a->minutes);
}

/* A limit of cores would throttle the job, and gains nothing. */
static void kubernetes(const struct ask *a, struct buf *b)
{
    buf_str(b, "resources:\n  requests:\n");
    if (a->cores)
        buf_printf(b, "    cpu: %llu\n", a->cores);
    if (a->mib)
        buf_printf(b, "    memory: %lluMi\n  limits:\n    memory: %lluMi\n", a->mib, a->mib);
    if (a->minutes)
        buf_printf(b, "# of a Job: activeDeadlineSeconds: %llu\n", a->minutes * 60);
}

static void systemd(const struct ask *a, struct buf *b)
{
    buf_str(b, "systemd-run");
    if (a->cores)
        buf_printf(b, " -p CPUQuota=%llu%%", a->cores * 100);
    if (a->mib)
        buf_printf(b, " -p MemoryMax=%lluM -p MemorySwapMax=0", a->mib);
    if (a->minutes)
        buf_printf(b, " -p RuntimeMaxSec=%llumin", a->minutes);
    buf_byte(b, '\n');
}

static void docker(const struct ask *a, struct buf *b)
{
    buf_str(b, "docker run");
    if (a->cores)
        buf_printf(b, " --cpus=%llu", a->cores);
    if (a->mib)
        buf_printf(b, " --memory=%llum --memory-swap=%llum", a->mib, a->mib);
    buf_byte(b, '\n');
}

static void snakemake(const struct ask *a, struct buf *b)
{
    if (a->cores)
        buf_printf(b, "threads: %llu\n", a->cores);
    buf_str(b, "resources:");
    if (a->mb)
        buf_printf(b, " mem_mb=%llu%s", a->mb, a->minutes ? "," : "");
    if (a->minutes)
        buf_printf(b, " runtime=%llu", a->minutes);
    buf_byte(b, '\n');
}

static void nextflow(const struct ask *a, struct buf *b)
{
    if (a->cores)
        buf_printf(b, "cpus %llu\n", a->cores);
    if (a->mib)
        buf_printf(b, "memory '%llu MB'\n", a->mib);
    if (a->minutes)
        buf_printf(b, "time '%llum'\n", a->minutes);
}

static unsigned long long steps_of(double value, double step)
{
    return value > 0 ? whole_of(ceil(value / step)) : 0;
}

static void put_indented(struct buf *ret, const struct buf *lines)
{
    bool is_begin = true;
    for (size_t i = 0; i < lines->len; i++) {
        buf_str(ret, is_begin ? "    " : "");
        buf_byte(ret, lines->at[i]);
        is_begin = lines->at[i] == '\n';
    }
}

void advise_lines(const struct baro_advice *a, const char *system, struct buf *ret)
{
    static const struct {
        const char *word, *name;
        void (*put)(const struct ask *a, struct buf *b);
    } rows[] = {
        {"slurm", "Slurm", slurm},    {"kubernetes", "Kubernetes", kubernetes}, {"systemd", "systemd", systemd},
        {"docker", "Docker", docker}, {"snakemake", "Snakemake", snakemake},    {"nextflow", "Nextflow", nextflow}};
    const struct ask ask = {steps_of(a->cores, 1), steps_of(a->memory_bytes, 1048576), steps_of(a->memory_bytes, 1e6),
                            steps_of(a->time_ns, 60e9)};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf lines = {0};
        if (system && strcmp(system, rows[i].word) != 0)
            continue;
        rows[i].put(&ask, &lines);
        if (system) {
            buf_add(ret, lines.at, lines.len);
        } else {
            buf_printf(ret, "%s\n", rows[i].name);
            put_indented(ret, &lines);
        }
        buf_done(&lines);
    }
}
