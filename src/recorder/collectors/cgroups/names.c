/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/cgroups/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/fd.h"
#include "base/group_path.h"
#include "base/json_scan.h"
#include "recorder/redact/redact.h"

#define ID_LENGTH GROUP_PATH_ID
#define FILE_MOST (1u << 20) /* podman's list has some 700 bytes for each container */
#define NAMES_MOST 4096u     /* names of a folder */
#define VALUE_MOST 8192u     /* a text that is JSON itself */
#define FIELDS 4u

/* Each value is found by the keys that lead to it: "a|b" is the member b of the member a, and "a>b" the member b of the
 * JSON that the text a is. NULL: the file does not have it. */
struct engine {
    const char *prefix; /* of the part of the path that has the id; a part that is the id alone may be any engine's */
    const char *before, *after; /* of the id in the file's path; after: NULL: the file has all containers, by "id" */
    const char *value[FIELDS];  /* container, image, pod, namespace */
};

#define PODMAN "var/lib/containers/storage/overlay-containers/"
#define CRI "annotations|io.kubernetes.cri."
#define CRIO_LABEL "annotations|io.kubernetes.cri-o.Labels>io.kubernetes."

/* clang-format off */
static const struct engine engines[] = {
    {"docker-", "var/lib/docker/containers/", "/config.v2.json", {"Name", "Config|Image", NULL, NULL}},
    {"cri-containerd-", "run/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json",
     {CRI "container-name", CRI "image-name", CRI "sandbox-name", CRI "sandbox-namespace"}},
    {"crio-", PODMAN, "/userdata/config.json",
     {CRIO_LABEL "container.name", "annotations|io.kubernetes.cri-o.ImageName", CRIO_LABEL "pod.name",
      CRIO_LABEL "pod.namespace"}},
    {"libpod-", PODMAN "containers.json", NULL, {"metadata>name", "metadata>image-name", NULL, NULL}},
};
/* clang-format on */

/* ---- JSON ---- */

static void take_value(struct span s, const char *keys, char *ret, size_t cap)
{
    char inner[VALUE_MOST], text[512];
    size_t len;
    for (size_t n; keys; keys = keys[n] ? keys + n + 1 : NULL) {
        n = strcspn(keys, "|>");
        if (!json_member(&s, span_of(keys, n)))
            return;
        if (keys[n] == '>' && !json_string(&s, inner, sizeof(inner), &len))
            return;
        s = keys[n] == '>' ? span_of(inner, len) : s;
    }
    if (!json_string(&s, text, sizeof(text) - 1, &len))
        return;
    text[len] = 0;
    redact_name_to(*text == '/' ? text + 1 : text, ret, cap); /* Docker's names begin with a slash */
}

/* Finds the container with this id in a list. */
static bool find_in_list(struct span *s, const char *id)
{
    char other[ID_LENGTH];
    size_t len;
    for (struct span one; json_element(s, &one);) {
        struct span member = one;
        if (json_member(&member, span_str("id")) && json_string(&member, other, sizeof(other), &len) &&
            len == ID_LENGTH && memcmp(other, id, len) == 0) {
            *s = one;
            return true;
        }
    }
    return false;
}

/* ---- files ---- */

char *group_state_read(int root_fd, const char *path, size_t *ret_len)
{
    struct stat st;
    int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool fits = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < FILE_MOST;
    char *text = fits ? malloc((size_t)st.st_size) : NULL;
    ssize_t n = text ? fd_pread_all(fd, text, (size_t)st.st_size) : -1;
    fd_close(fd);
    if (n > 0) {
        *ret_len = (size_t)n;
        return text;
    }
    free(text);
    return NULL;
}

/* Returns whether the engine has the container. */
static bool ask_engine(int root_fd, const struct engine *e, const char *id, struct header_place *ret)
{
    char path[256];
    size_t len;
    snprintf(path, sizeof(path), "%s%.*s%s", e->before, e->after ? (int)ID_LENGTH : 0, id, e->after ? e->after : "");
    char *text = group_state_read(root_fd, path, &len);
    if (!text)
        return false;
    struct span s = span_of(text, len);
    bool found = e->after || find_in_list(&s, id);
    if (found) {
        take_value(s, e->value[0], ret->container, sizeof(ret->container));
        take_value(s, e->value[1], ret->image, sizeof(ret->image));
        take_value(s, e->value[2], ret->pod, sizeof(ret->pod));
        take_value(s, e->value[3], ret->pod_namespace, sizeof(ret->pod_namespace));
    }
    free(text);
    return found;
}

/* ---- the kubelet's folder of logs ---- */

struct log_search {
    const char *id;
    unsigned n;
    struct header_place *place;
};

/* A name there is POD_NAMESPACE_CONTAINER-ID.log; none of the first three has an underscore. */
static bool take_log(void *context, const char *name, size_t len)
{
    struct log_search *l = context;
    static const char end[] = ".log";
    size_t tail = 1 + ID_LENGTH + sizeof(end) - 1;
    const char *dash = len > tail ? name + len - tail : NULL;
    if (!dash || *dash != '-' || memcmp(dash + 1, l->id, ID_LENGTH) != 0)
        return ++l->n < NAMES_MOST;
    const char *ns = strchr(name, '_'), *container = ns ? strchr(ns + 1, '_') : NULL;
    if (!container || container > dash)
        return false;
    snprintf(l->place->pod, sizeof(l->place->pod), "%.*s", (int)(ns - name), name);
    snprintf(l->place->pod_namespace, sizeof(l->place->pod_namespace), "%.*s", (int)(container - ns - 1), ns + 1);
    snprintf(l->place->container, sizeof(l->place->container), "%.*s", (int)(dash - container - 1), container + 1);
    return false;
}

static void ask_kubelet(int root_fd, const char *id, struct header_place *ret)
{
    struct log_search l = {.id = id, .place = ret};
    int fd = openat(root_fd, "var/log/containers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        dir_each(fd, take_log, &l);
    fd_close(fd);
}

/* ---- the path ---- */

void group_names_read(int root_fd, const char *path, bool files, struct header_place *ret)
{
    struct group_path p;
    group_path_read(path, &p);
    *ret = (struct header_place){0};
    redact_name_to(p.unit, ret->unit, sizeof(ret->unit));
    memcpy(ret->pod, p.pod, sizeof(p.pod));
    const char *id = p.id;
    if (!id)
        return;
    for (size_t i = 0; files && i < sizeof(engines) / sizeof(*engines); i++) {
        bool may_be = id == p.before || strncmp(p.before, engines[i].prefix, (size_t)(id - p.before)) == 0;
        if (may_be && ask_engine(root_fd, &engines[i], id, ret))
            break;
    }
    if (files && !*ret->container)
        ask_kubelet(root_fd, id, ret);
    if (!*ret->container)
        memcpy(ret->container, p.container, sizeof(p.container));
}

void group_title(const struct header_place *p, char *ret, size_t cap)
{
    bool both = *p->pod && *p->container;
    snprintf(ret, cap, "%s%s%s", p->pod, both ? "/" : "", *p->container || *p->pod ? p->container : p->unit);
}
