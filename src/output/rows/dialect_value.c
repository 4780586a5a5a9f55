/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/dialect_value.h"

#include <stdio.h>
#include <string.h>

enum baro_kind dialect_kind_of(enum dialect_from from)
{
    switch (from) {
    case FROM_JOB: return BARO_KIND_JOB;
    case FROM_SUM: return BARO_KIND_PROCESS;
    case FROM_FS: return BARO_KIND_FS;
    case FROM_DISK: return BARO_KIND_DISK;
    case FROM_NET: return BARO_KIND_NET;
    case FROM_GPU: return BARO_KIND_GPU;
    default: return BARO_KIND_HOST;
    }
}

static struct dialect_terms terms_of(enum baro_kind kind, const char *stems)
{
    struct dialect_terms t = {.n = 0};
    while (stems && *stems && t.n < DIALECT_TERMS) {
        char stem[64];
        t.is_minus[t.n] = *stems == '-';
        stems += *stems == '+' || *stems == '-' ? 1 : 0;
        size_t n = strcspn(stems, "+-");
        snprintf(stem, sizeof(stem), "%.*s", (int)n, stems);
        t.id[t.n++] = baro_metric_find(kind, stem);
        stems += n;
    }
    return t;
}

void dialect_source_init(struct dialect_source *d, const struct dialect_table *table, int32_t pid)
{
    *d = (struct dialect_source){.table = table, .pid = pid};
    for (size_t i = 0; i < d->table->n; i++)
        d->metric[i] = terms_of(dialect_kind_of(table->columns[i].from), table->columns[i].metric);
    d->not_busy = terms_of(BARO_KIND_HOST, "cpu_idle+cpu_iowait+cpu_steal");
}

bool dialect_leaves_out(const struct baro_row *e)
{
    static const char *const places[] = {"/proc", "/sys", "/dev", "/run"};
    const char *name = baro_row_name(e);
    if (baro_row_kind(e) == BARO_KIND_NET)
        return strcmp(name, "lo") == 0;
    if (baro_row_owner(e) == BARO_OWNER_ENTITY) /* a MIG instance of a device that counts */
        return true;
    for (size_t i = 0; baro_row_kind(e) == BARO_KIND_FS && i < sizeof(places) / sizeof(*places); i++) {
        size_t n = strlen(places[i]);
        if (strncmp(name, places[i], n) == 0 && (name[n] == 0 || name[n] == '/'))
            return true;
    }
    return false;
}

/* Adds up a metric over the entities that have it, each rounded down to a multiple of step. */
static struct dialect_value sum_over(const struct baro_sample *s, enum baro_kind kind, int metric, uint64_t step)
{
    struct dialect_value sum = {0, BARO_ABSENT_UNKNOWN};
    for (size_t i = 0; i < baro_sample_rows(s, kind); i++) {
        const struct baro_row *e = baro_sample_row(s, kind, i);
        uint64_t v;
        if (dialect_leaves_out(e))
            continue;
        int absent = baro_row_value(e, metric, &v);
        if (absent == BARO_PRESENT)
            sum = (struct dialect_value){sum.v + v / step * step, BARO_PRESENT};
        else if (sum.absent != BARO_PRESENT)
            sum.absent = absent;
    }
    return sum;
}

static struct dialect_value first_of(const struct baro_sample *s, enum baro_kind kind, int metric)
{
    struct dialect_value v = {0, BARO_PRESENT};
    v.absent = baro_row_value(baro_sample_row(s, kind, 0), metric, &v.v);
    return v;
}

static struct dialect_value value_of(const struct baro_sample *s, enum baro_kind kind,
                                     const struct dialect_terms *terms)
{
    uint64_t sum[2] = {0, 0};
    bool has[2] = {false, false};
    for (size_t i = 0; i < terms->n; i++) {
        struct dialect_value v =
            kind == BARO_KIND_HOST ? first_of(s, kind, terms->id[i]) : sum_over(s, kind, terms->id[i], 1);
        bool minus = terms->is_minus[i];
        if (v.absent != BARO_PRESENT && !has[minus])
            return v;
        has[minus] = true;
        sum[minus] += v.absent == BARO_PRESENT ? v.v : 0;
    }
    return (struct dialect_value){sum[0] > sum[1] ? sum[0] - sum[1] : 0, BARO_PRESENT};
}

struct dialect_value dialect_all_cpu(const struct dialect_source *d, const struct baro_sample *s)
{
    struct dialect_value all = {0, BARO_PRESENT}, rest = value_of(s, BARO_KIND_HOST, &d->not_busy);
    all.absent = baro_row_busy_ns(baro_sample_row(s, BARO_KIND_HOST, 0), &all.v);
    if (all.absent == BARO_PRESENT)
        all = (struct dialect_value){all.v + rest.v, rest.absent};
    return all;
}

/* Computes the sum of pss. A process that was not read so far counts with its rss, which is an upper bound: a row
 * has no place for a mark, and two new compilers of 113 MB beside `cargo` with 41 MB must not count as 0. */
static struct dialect_value sum_of(const struct baro_sample *s, int metric)
{
    uint64_t sum = 0;
    size_t lacking = 0;
    int absent = baro_sample_sum(s, metric, &sum, &lacking), rss = baro_metric_find(BARO_KIND_PROCESS, "rss");
    for (size_t i = 0; lacking && i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        uint64_t v;
        const struct baro_row *p = baro_sample_row(s, BARO_KIND_PROCESS, i);
        if (baro_row_value(p, metric, &v) != BARO_ABSENT_NOT_YET || baro_row_value(p, rss, &v) != BARO_PRESENT)
            continue;
        sum += v;
        absent = BARO_PRESENT;
    }
    return (struct dialect_value){sum, absent};
}

struct dialect_value dialect_column_value(const struct dialect_source *d, size_t column, const struct baro_sample *s)
{
    enum dialect_from from = d->table->columns[column].from;
    int metric = d->metric[column].id[0];
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    switch (from) {
    case FROM_PID: return (struct dialect_value){(uint64_t)d->pid, d->pid ? BARO_PRESENT : BARO_ABSENT_UNKNOWN};
    case FROM_CHILDREN: return (struct dialect_value){n ? n - 1 : 0, BARO_PRESENT};
    case FROM_JOB: return first_of(s, BARO_KIND_JOB, metric);
    case FROM_SUM: return sum_of(s, metric);
    case FROM_HOST:
    case FROM_FS: return value_of(s, dialect_kind_of(from), &d->metric[column]);
    case FROM_GPU: return sum_over(s, dialect_kind_of(from), metric, d->as_smi ? 1 << 20 : 1);
    case FROM_DISK:
    case FROM_NET: return sum_over(s, dialect_kind_of(from), metric, 1);
    case FROM_TIME:
    case FROM_NOTHING:
    case FROM_TASK: /* dialect_each.c */
    case FROM_PROCESS:
    case FROM_CORES: break;
    }
    return (struct dialect_value){0, BARO_ABSENT_UNSUPPORTED};
}

bool dialect_is_vague(const struct baro_sample *s)
{
    static const char *const stems[] = {"pss", "uss"};
    uint64_t stale;
    if (baro_row_value(baro_sample_row(s, BARO_KIND_JOB, 0), baro_metric_find(BARO_KIND_JOB, "pss_stale"), &stale) ==
            BARO_PRESENT &&
        stale)
        return true;
    for (size_t i = 0; i < 2; i++) {
        uint64_t sum;
        size_t lacking;
        if (baro_sample_sum(s, baro_metric_find(BARO_KIND_PROCESS, stems[i]), &sum, &lacking) == BARO_PRESENT &&
            lacking)
            return true;
    }
    return false;
}
