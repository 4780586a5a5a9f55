/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/cgroups/slurm_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "recorder/collectors/cgroups/names.h"
#include "recorder/redact/redact.h"

#define FOLDER "run/barograph/slurm/" /* the prolog writes a file for each job */
#define KEY_MOST 64u

/* Takes what comes after a prefix, of letters and digits alone. */
static void take(struct span part, const char *prefix, char *ret, size_t cap)
{
    size_t n = strlen(prefix), len = part.len - n;
    if (!span_starts(part, prefix) || !len || len >= cap)
        return;
    memcpy(ret, part.at + n, len);
    ret[len] = 0;
    if (strspn(ret, "0123456789abcdefghijklmnopqrstuvwxyz") != len)
        *ret = 0;
}

/* v1: /slurm/uid_1000/job_4711/step_0, or slurm_NODE for slurm; v2: /system.slice/slurmstepd.scope/job_4711/step_0, or
 * NODE_slurmstepd.scope. */
static void read_path(const char *path, struct slurm_job *ret)
{
    bool is_slurm = false;
    for (size_t n; *(path += strspn(path, "/")); path += n) {
        n = strcspn(path, "/");
        struct span part = span_of(path, n);
        is_slurm =
            is_slurm || span_equal(part, "slurm") || span_starts(part, "slurm_") || span_ends(part, "slurmstepd.scope");
        if (!is_slurm)
            continue;
        if (!*ret->id) {
            take(part, "uid_", ret->uid, sizeof(ret->uid));
            take(part, "job_", ret->id, sizeof(ret->id));
        } else if (!*ret->step) {
            take(part, "step_", ret->step, sizeof(ret->step));
        }
    }
}

/* A line is KEY=VALUE, with a key as that of a tag. */
static void take_line(struct span line, struct slurm_job *ret)
{
    char text[SLURM_TAG_SIZE];
    const char *equals = memchr(line.at, '=', line.len);
    size_t key = equals ? (size_t)(equals - (const char *)line.at) : 0;
    if (!key || key > KEY_MOST || line.len >= sizeof(text) || memchr(line.at, 0, line.len) ||
        ret->n_tags == SLURM_TAGS_MOST)
        return;
    memcpy(text, line.at, line.len);
    text[line.len] = 0;
    if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == key)
        redact_name_to(text, ret->tag[ret->n_tags++], SLURM_TAG_SIZE);
}

static const char *tag_of(const struct slurm_job *job, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < job->n_tags; i++) {
        if (strncmp(job->tag[i], key, n) == 0 && job->tag[i][n] == '=')
            return job->tag[i] + n + 1;
    }
    return "";
}

static void put_title(const struct slurm_job *job, char *ret, size_t cap)
{
    const char *user = tag_of(job, "user"), *partition = tag_of(job, "partition");
    snprintf(ret, cap, "job %s%s%s%s%s%s%s", job->id, *job->step ? " step " : "", job->step, *user ? " of " : "", user,
             *partition ? " in " : "", partition);
}

bool slurm_job_read(int root_fd, const char *path, bool files, struct slurm_job *ret)
{
    char file[sizeof(FOLDER) + sizeof(ret->id)];
    size_t len;
    *ret = (struct slurm_job){0};
    read_path(path, ret);
    if (!*ret->id)
        return false;
    snprintf(file, sizeof(file), FOLDER "%s", ret->id);
    char *text = files ? group_state_read(root_fd, file, &len) : NULL;
    struct span s = span_of(text ? text : "", text ? len : 0);
    for (struct span line; scan_line(&s, &line);)
        take_line(line, ret);
    free(text);
    if (*ret->uid && !*tag_of(ret, "user") && ret->n_tags < SLURM_TAGS_MOST)
        snprintf(ret->tag[ret->n_tags++], SLURM_TAG_SIZE, "uid=%s", ret->uid);
    put_title(ret, ret->title, sizeof(ret->title));
    return true;
}
