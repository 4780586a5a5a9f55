/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/rules/label_by.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/group_path.h"
#include "base/json_scan.h"
#include "base/map.h"
#include "base/passwd.h"

#define LABELS_MOST 1000u /* further ones are counted together */
#define OTHERS "(others)"
#define KTHREADD 2
#define KERNEL_THREADS "kernel threads"

static const char *const names[] = {[LABEL_BY_SERVICE] = "service",
                                    [LABEL_BY_CONTAINER] = "container",
                                    [LABEL_BY_USER] = "user",
                                    [LABEL_BY_COMMAND] = "command",
                                    [LABEL_BY_CGROUP] = "cgroup"};
#define NAMES (sizeof(names) / sizeof(*names))

struct label {
    struct baro_entity entity;
    char name[TASK_NAME_MOST];
    uint64_t value[TASK_MAX];
    uint8_t absent[TASK_MAX];
};

struct labeler {
    enum label_by by;
    struct label **at;
    struct baro_entity **shown;
    size_t n, cap, cap_shown;
    struct map by_name; /* hashes of names */
    struct map by_id;   /* numbers of labels, by users or control groups: the part << 32, + 1 */
    uint64_t part;
    struct labeler_own {
        uint64_t value;
        uint8_t absent;
    } * own; /* PROCESS_task of the sample's processes as it was */
    size_t n_own, cap_own;
    struct brief {
        uint64_t value[BRIEF_MAX];
    } * brief; /* as the last sample had them */
    size_t n_briefs, cap_briefs;
    struct map brief_of;
};

enum label_by label_by_of(const char *lines)
{
    struct span s = span_str(lines ? lines : "");
    char word[16];
    size_t len;
    if (!json_member(&s, span_str("by")) || !json_string(&s, word, sizeof(word) - 1, &len))
        return LABEL_BY_NONE;
    word[len] = 0;
    for (size_t i = 1; i < NAMES; i++) {
        if (strcmp(word, names[i]) == 0)
            return (enum label_by)i;
    }
    return LABEL_BY_NONE;
}

struct labeler *labeler_new(enum label_by by)
{
    struct labeler *l = calloc(1, sizeof(*l));
    if (l)
        l->by = by;
    return l;
}

void labeler_free(struct labeler *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i]);
    free(l->at);
    free(l->shown);
    free(l->own);
    free(l->brief);
    map_done(&l->by_name);
    map_done(&l->by_id);
    map_done(&l->brief_of);
    free(l);
}

void labeler_part(struct labeler *l)
{
    l->part++;
    map_clear(&l->brief_of);
    l->n_briefs = 0;
}

/* ---- labels ---- */

/* Returns the id of the task with this name, from 1 on; 0: out of memory. */
static uint32_t label_of(struct labeler *l, const char *name)
{
    char cut[TASK_NAME_MOST];
    size_t len = strlen(name);
    if (len < sizeof(cut))
        memcpy(cut, name, len + 1);
    else /* the end of a path tells it from others */
        snprintf(cut, sizeof(cut), "...%s", name + len - (sizeof(cut) - 4));
    uint64_t key = map_hash(cut, strlen(cut));
    for (uint64_t *i = map_find(&l->by_name, key); i; i = map_next(&l->by_name, key, i)) {
        if (strcmp(l->at[*i]->name, cut) == 0)
            return (uint32_t)*i + 1;
    }
    if (l->n == LABELS_MOST && strcmp(cut, OTHERS) != 0)
        return label_of(l, OTHERS);
    struct label *one = array_reserve(&l->at, l->n + 1, &l->cap, sizeof(*l->at)) < 0 ? NULL : calloc(1, sizeof(*one));
    if (!one || !map_add(&l->by_name, key, l->n)) {
        free(one);
        return 0;
    }
    memcpy(one->name, cut, sizeof(cut));
    memset(one->absent, TASK_OF_READERS, sizeof(one->absent));
    one->entity = (struct baro_entity){.id = (uint32_t)l->n + 1,
                                       .kind = KIND_task,
                                       .name = one->name,
                                       .label = "",
                                       .info_version = 1,
                                       .n_values = TASK_MAX,
                                       .value = one->value,
                                       .absent = one->absent};
    l->at[l->n++] = one;
    return one->entity.id;
}

static const char *group_name(const struct labeler *l, const char *path, char *text, size_t cap)
{
    struct group_path p;
    group_path_read(path, &p);
    if (l->by == LABEL_BY_CGROUP)
        return path;
    if (l->by == LABEL_BY_CONTAINER)
        snprintf(text, cap, "%s", *p.container ? p.container : "(no container)");
    else
        snprintf(text, cap, "%s%s",
                 *p.unit        ? ""
                 : *p.container ? "container "
                                : "",
                 *p.unit        ? p.unit
                 : *p.container ? p.container
                                : path);
    return text;
}

static const char *group_path_of(const struct baro_sample *s, uint64_t id)
{
    const struct baro_entities *groups = &s->entities[BARO_KIND_CGROUP];
    for (size_t i = 0; i < groups->n; i++) {
        if (groups->at[i]->id == id)
            return groups->at[i]->name ? groups->at[i]->name : "";
    }
    return NULL;
}

/* The label of a user or control group; the one of a group is known once a sample has had it. s: NULL for an exit. */
static uint32_t label_of_id(struct labeler *l, const struct baro_sample *s, uint64_t id)
{
    char text[sizeof(((struct group_path *)0)->unit) + 32];
    const char *name = text;
    struct passwd_user user;
    uint64_t key = (l->by == LABEL_BY_USER ? 0 : l->part << 32) + id + 1;
    uint64_t *known = map_find(&l->by_id, key);
    if (known)
        return (uint32_t)*known;
    if (l->by == LABEL_BY_USER && passwd_by_uid(PASSWD_FILE, (uint32_t)id, &user) == 1) {
        name = user.name;
    } else if (l->by == LABEL_BY_USER) {
        snprintf(text, sizeof(text), "%u", (unsigned)id);
    } else {
        const char *path = s ? group_path_of(s, id) : NULL;
        if (!path)
            return label_of(l, "(not known)");
        name = group_name(l, path, text, sizeof(text));
    }
    uint32_t label = label_of(l, name);
    if (label)
        map_add(&l->by_id, key, label);
    return label;
}

static uint32_t label_for(struct labeler *l, const struct baro_sample *s, const char *command, uint32_t uid,
                          uint64_t group, uint8_t group_absent)
{
    if (l->by == LABEL_BY_COMMAND)
        return label_of(l, command && *command ? command : "(no name)");
    if (l->by == LABEL_BY_USER)
        return uid == UINT32_MAX ? label_of(l, "(not known)") : label_of_id(l, s, uid);
    return group_absent ? label_of(l, "(not known)") : label_of_id(l, s, group);
}

/* The row of the kernel's threads, which are in no group of their own: recorder/collectors/machine. */
static bool is_of_kernel(const struct labeler *l, const struct baro_process *p)
{
    return l->by != LABEL_BY_USER && p->absent[PROCESS_cgroup] && p->key.pid == KTHREADD && p->name &&
           strcmp(p->name, KERNEL_THREADS) == 0;
}

/* ---- brief lives ---- */

static int add_brief(struct labeler *l, const struct baro_sample *s, const struct baro_entity *e, struct task_fold *f,
                     bool is_base)
{
    uint64_t grown[BRIEF_MAX] = {0}, *known = map_find(&l->brief_of, (uint64_t)e->id + 1);
    if (!known) {
        if (array_reserve(&l->brief, l->n_briefs + 1, &l->cap_briefs, sizeof(*l->brief)) < 0 ||
            !(known = map_add(&l->brief_of, (uint64_t)e->id + 1, l->n_briefs)))
            return -ENOMEM;
        l->brief[l->n_briefs++] = (struct brief){0};
    }
    struct brief *last = &l->brief[*known];
    for (int i = 0; i < BRIEF_MAX; i++) {
        uint64_t now = e->absent[i] ? last->value[i] : e->value[i];
        bool is_counter = baro_metric_get(KIND_brief, i)->semantics == BARO_SEM_COUNTER;
        grown[i] = !is_counter ? now : !is_base && now > last->value[i] ? now - last->value[i] : 0;
        last->value[i] = now;
    }
    uint32_t label = label_for(l, s, e->name, e->absent[BRIEF_uid] ? UINT32_MAX : (uint32_t)e->value[BRIEF_uid],
                               e->value[BRIEF_cgroup], e->absent[BRIEF_cgroup]);
    if (!label)
        return -ENOMEM;
    return grown[BRIEF_processes] ? task_fold_briefs(f, label, grown, s->t_ns) : 0;
}

/* ---- samples and exits ---- */

int labeler_sample(struct labeler *l, struct baro_sample *s, struct task_fold *f, bool is_base)
{
    const struct baro_entities *briefs = &s->entities[KIND_brief];
    int code = array_reserve(&l->own, s->n, &l->cap_own, sizeof(*l->own));
    l->n_own = 0;
    for (size_t i = 0; code >= 0 && i < s->n; i++) {
        struct baro_process *p = s->processes[i];
        uint32_t label = is_of_kernel(l, p)
                             ? label_of(l, KERNEL_THREADS)
                             : label_for(l, s, p->name, p->uid, p->value[PROCESS_cgroup], p->absent[PROCESS_cgroup]);
        code = label ? 0 : -ENOMEM;
        l->own[l->n_own++] = (struct labeler_own){p->value[PROCESS_task], p->absent[PROCESS_task]};
        p->value[PROCESS_task] = label;
        p->absent[PROCESS_task] = BARO_PRESENT;
    }
    for (size_t i = 0; code >= 0 && i < briefs->n; i++)
        code = add_brief(l, s, briefs->at[i], f, is_base);
    if (code >= 0)
        code = array_reserve(&l->shown, l->n, &l->cap_shown, sizeof(*l->shown));
    for (size_t i = 0; code >= 0 && i < l->n; i++)
        l->shown[i] = &l->at[i]->entity;
    s->entities[KIND_task] = (struct baro_entities){.n = code < 0 ? 0 : l->n, .at = l->shown, .read_ns = s->t_ns};
    return code < 0 ? -ENOMEM : 0;
}

int labeler_exit(struct labeler *l, struct baro_exit *e)
{
    uint32_t label = label_for(l, NULL, e->name, e->uid, e->value[EXIT_cgroup], e->absent[EXIT_cgroup]);
    e->value[EXIT_task] = label;
    e->absent[EXIT_task] = label ? BARO_PRESENT : BARO_ABSENT_UNKNOWN;
    return label ? 0 : -ENOMEM;
}

void labeler_restore(struct labeler *l, struct baro_process *const *processes, size_t n)
{
    for (size_t i = 0; i < l->n_own && i < n; i++) {
        processes[i]->value[PROCESS_task] = l->own[i].value;
        processes[i]->absent[PROCESS_task] = l->own[i].absent;
    }
    l->n_own = 0;
}
