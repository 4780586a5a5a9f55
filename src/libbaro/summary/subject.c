/* SPDX-License-Identifier: Apache-2.0 */
/* What the header says of the recording. */
#include <stdlib.h>
#include <string.h>

#include "libbaro/summary/summary.h"

void summary_copy_text(char *to, size_t cap, const char *from)
{
    size_t n = strnlen(from, cap - 1);
    memcpy(to, from, n);
    to[n] = 0;
}

static bool copy_texts(char ***ret, size_t *ret_n, char *const *from)
{
    size_t n = 0;
    while (from && from[n])
        n++;
    *ret = calloc(n + 1, sizeof(**ret));
    for (size_t i = 0; *ret && i < n; i++) {
        (*ret)[i] = strdup(from[i]);
        if (!(*ret)[i])
            return false;
        ++*ret_n;
    }
    return *ret != NULL;
}

static bool copy_targets(struct summary_subject *s, const struct baro_header *h)
{
    s->targets = calloc(h->n_targets + 1, sizeof(*s->targets)); /* at least one: 0 */
    if (s->targets && h->n_targets)
        memcpy(s->targets, h->targets, h->n_targets * sizeof(*s->targets));
    s->n_targets = h->n_targets;
    return s->targets != NULL;
}

bool summary_subject_init(struct summary_subject *s, const struct baro_header *h)
{
    s->mode = h->mode;
    s->start_realtime_ns = h->start_realtime_ns;
    s->memory_total = h->memory_total;
    s->overhead_ppm = h->overhead_ppm;
    s->cpus = h->cpus;
    s->numa_nodes = h->numa_nodes;
    summary_copy_text(s->name, sizeof(s->name), h->name);
    summary_copy_text(s->job_id, sizeof(s->job_id), h->job_id);
    summary_copy_text(s->step_id, sizeof(s->step_id), h->step_id);
    summary_copy_text(s->rank, sizeof(s->rank), h->rank);
    summary_copy_text(s->node, sizeof(s->node), h->node);
    s->ranks = h->ranks;
    s->attempt = h->attempt;
    summary_copy_text(s->host, sizeof(s->host), h->host);
    summary_copy_text(s->kernel, sizeof(s->kernel), h->kernel);
    summary_copy_text(s->machine_type, sizeof(s->machine_type), h->machine);
    summary_copy_text(s->cpu_model, sizeof(s->cpu_model), h->cpu_model);
    summary_copy_text(s->event_source, sizeof(s->event_source), h->event_source);
    summary_copy_text(s->exit_source, sizeof(s->exit_source), h->exit_source);
    summary_copy_text(s->cgroup_mode, sizeof(s->cgroup_mode), h->cgroup_mode);
    s->own_cgroup = strcmp(h->cgroup_mode, "own") == 0;
    s->is_cgroup = s->own_cgroup || strcmp(h->cgroup_mode, "target") == 0 || strcmp(h->cgroup_mode, "members") == 0;
    return copy_texts(&s->argv, &s->n_argv, h->argv) && copy_texts(&s->tags, &s->n_tags, h->tags) && copy_targets(s, h);
}

void summary_subject_done(struct summary_subject *s)
{
    for (char **a = s->argv; a && *a; a++)
        free(*a);
    for (char **tag = s->tags; tag && *tag; tag++)
        free(*tag);
    free(s->argv);
    free(s->tags);
    free(s->targets);
}
