/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/fmt.h"
#include "programs/baro-log/advise.h"

/* Parts between | are left out where the value in { } is not known: C cores, P percent of a core, M MiB, B megabytes, T
 * minutes, S seconds, R MiB for a core. Slurm's and systemd's M, Kubernetes' Mi, Docker's m and Nextflow's MB are MiB;
 * Snakemake's mem_mb has 1,000,000 bytes. Kubernetes: a limit of cores would throttle the job, and gains nothing. */
static const char slurm_rank[] = "#SBATCH --cpus-per-task={C}\n|#SBATCH --mem-per-cpu={R}M\n|#SBATCH --time={T}\n";
static const struct {
    const char *word, *name, *lines;
} systems[] = {
    {"slurm", "Slurm", "#SBATCH --cpus-per-task={C}\n|#SBATCH --mem={M}M\n|#SBATCH --time={T}\n"},
    {"kubernetes", "Kubernetes",
     "resources:\n|  requests:\n|    cpu: {C}\n|    memory: {M}Mi\n  limits:\n    memory: {M}Mi\n|"
     "# of a Job: activeDeadlineSeconds: {S}\n"},
    {"systemd", "systemd",
     "systemd-run| -p CPUQuota={P}%| -p MemoryMax={M}M -p MemorySwapMax=0| -p RuntimeMaxSec={T}min|\n"},
    {"docker", "Docker", "docker run| --cpus={C}| --memory={M}m --memory-swap={M}m|\n"},
    {"snakemake", "Snakemake", "|threads: {C}\n|resources:\n|    mem_mb={B},\n|    runtime={T}\n"},
    {"nextflow", "Nextflow", "cpus {C}\n|memory '{M} MB'\n|time '{T}m'\n"},
};

static double value_of(const struct baro_advice *a, char letter)
{
    switch (letter) {
    case 'C': return a->cores;
    case 'P': return a->cores * 100;
    case 'M': return a->memory_bytes / 1048576;
    case 'R': return a->memory_bytes / 1048576 / a->cores;
    case 'B': return a->memory_bytes / 1e6;
    case 'T': return a->time_ns / 60e9;
    default: return a->time_ns / 1e9;
    }
}

/* Writes one part. Returns false if a value is not known. */
static bool put_part(const struct baro_advice *a, const char *at, size_t len, struct buf *b)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != '{') {
            buf_byte(b, (uint8_t)at[i]);
            continue;
        }
        double value = value_of(a, at[i + 1]);
        if (!(value > 0))
            return false;
        buf_u64(b, whole_of(ceil(value)));
        i += 2;
    }
    return true;
}

static void put_lines(const struct baro_advice *a, const char *lines, bool is_indented, struct buf *b)
{
    for (const char *part = lines; *part; part += part[strcspn(part, "|")] ? strcspn(part, "|") + 1 : strlen(part)) {
        struct buf text = {0};
        bool is_known = put_part(a, part, strcspn(part, "|"), &text);
        for (size_t i = 0; is_known && i < text.len; i++) {
            buf_str(b, is_indented && b->len && b->at[b->len - 1] == '\n' ? "    " : "");
            buf_byte(b, text.at[i]);
        }
        buf_done(&text);
    }
}

void advise_lines(const struct baro_advice *a, const char *system, bool is_rank, struct buf *ret)
{
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
        if (system && strcmp(system, systems[i].word) != 0)
            continue;
        if (!system)
            buf_printf(ret, "%s\n", systems[i].name);
        put_lines(a, i == 0 && is_rank ? slurm_rank : systems[i].lines, !system, ret);
    }
}
