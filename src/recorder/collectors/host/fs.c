/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filesystems, each one once, however often it is mounted. The mount table says which there are: they are identified by
 * device number, btrfs and ZFS by source, as their subvolumes and datasets have different numbers. The helper reads how
 * full they are.
 *
 * An overlay has no space of its own. It counts if it is the root of a container. The filesystem below it, if it is
 * mounted as well (as for /etc/hosts), has the same values and id and is dropped.
 *
 * The mounted datasets of a ZFS pool are added up; their free space is shared. This is what users of the pool see:
 * snapshots and datasets that are not mounted are not included. Example: datasets with 10 and 5 GB used and 100 GB
 * available each: 15 GB used, 100 GB available, 115 GB in total.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "recorder/collectors/host/state.h"

#define FS_MOST 512u
#define MOUNTS_MOST 8192u
#define POINT_MAX 4096u
#define AGAIN (60 * NS_PER_SEC) /* the pause after a mount hung; doubled each time that it hangs again */
#define AGAIN_DOUBLED 6u        /* at most this many times */
/* at most this many helpers may hang at once on remote filesystems; a few are kept for those on local devices */
#define RISKED 6u

/* ---- the mount table ---- */

/* Does this mount have space that can run out? */
static bool has_space(const struct proc_mount *m, const char *point)
{
    static const char *const none[] = {"autofs",          "binfmt_misc", "bpf",         "cgroup",     "cgroup2",
                                       "configfs",        "debugfs",     "devpts",      "devtmpfs",   "efivarfs",
                                       "fuse.gvfsd-fuse", "fuse.lxcfs",  "fuse.portal", "fusectl",    "hugetlbfs",
                                       "mqueue",          "nfsd",        "nsfs",        "proc",       "pstore",
                                       "ramfs",           "resctrl",     "rootfs",      "rpc_pipefs", "securityfs",
                                       "selinuxfs",       "squashfs",    "sysfs",       "tracefs",    NULL};
    static const char *const kernels[] = {"/dev/", "/proc/", "/sys/", "/run/", NULL};
    if (span_is_one_of(m->type, none))
        return false;
    if (span_equal(m->type, "zfs") && memchr(m->source.at, '@', m->source.len))
        return false; /* a snapshot, which is mounted on access: its space belongs to the dataset */
    if (span_equal(m->type, "overlay"))
        return strcmp(point, "/") == 0;
    if (span_equal(m->type, "tmpfs") && strcmp(point, "/dev") == 0)
        return false; /* a container's device nodes */
    for (const char *const *k = kernels; span_equal(m->type, "tmpfs") && *k; k++) {
        if (span_starts(span_str(point), *k) && strcmp(point, "/dev/shm") != 0)
            return false;
    }
    return true;
}

static bool is_local(const struct proc_mount *m)
{
    static const char *const local[] = {"btrfs", "overlay", "tmpfs", "zfs", NULL};
    return span_is_one_of(m->type, local) || (span_starts(m->source, "/dev/") && !span_starts(m->type, "fuse"));
}

static char *copy_span(struct span text)
{
    char *at = malloc(text.len + 1);
    if (at) {
        memcpy(at, text.at, text.len);
        at[text.len] = 0;
    }
    return at;
}

static void parts_free(struct fs *f)
{
    for (size_t i = 0; i < f->n_parts; i++)
        free(f->part[i].point);
    free(f->part);
    f->part = NULL;
    f->n_parts = 0;
}

static void fs_free(struct fs *f)
{
    parts_free(f);
    free(f->source);
    free(f->type);
}

void fs_done(struct host *h)
{
    for (size_t i = 0; i < h->n_fs; i++)
        fs_free(&h->fs[i]);
    free(h->fs);
    h->fs = NULL;
    h->n_fs = 0;
}

/* The source; of a ZFS dataset the pool, which is the part before the first '/'. */
static struct span source_of(const struct proc_mount *m)
{
    const char *slash = span_equal(m->type, "zfs") ? memchr(m->source.at, '/', m->source.len) : NULL;
    return slash ? span_of(m->source.at, (size_t)(slash - m->source.at)) : m->source;
}

static bool by_source(const struct proc_mount *m)
{
    return span_equal(m->type, "zfs") || (span_equal(m->type, "btrfs") && m->source.len);
}

static struct fs *find_filesystem(struct host *h, const struct proc_mount *m)
{
    for (size_t i = 0; i < h->n_fs; i++) {
        struct fs *f = &h->fs[i];
        bool same = f->by_source ? by_source(m) && span_equal(source_of(m), f->source)
                                 : !by_source(m) && f->major == m->major && f->minor == m->minor;
        if (same && span_equal(m->type, f->type))
            return f;
    }
    return NULL;
}

static bool add_part(struct fs *f, const char *point)
{
    char *at = f->n_parts < FS_PARTS_MOST ? copy_span(span_str(point)) : NULL;
    struct fs_part *parts = at ? realloc(f->part, (f->n_parts + 1) * sizeof(*parts)) : NULL;
    if (!parts) {
        free(at);
        return false;
    }
    f->part = parts;
    f->part[f->n_parts++] = (struct fs_part){.point = at};
    return true;
}

static void add_filesystem(struct host *h, const struct proc_mount *m, const char *point)
{
    char label[256];
    struct span source = source_of(m);
    if (h->n_fs == FS_MOST || !host_grow((void **)&h->fs, &h->cap_fs, h->n_fs, sizeof(*h->fs)))
        return;
    struct fs f = {.major = m->major,
                   .minor = m->minor,
                   .source = copy_span(source),
                   .type = copy_span(m->type),
                   .seen = true,
                   .by_source = by_source(m),
                   .pool = span_equal(m->type, "zfs"),
                   .local = is_local(m),
                   .tries = 1};
    int n = snprintf(label, sizeof(label), "%.*s ", (int)m->type.len, m->type.at);
    if (f.source && f.type && n > 0 && (size_t)n < sizeof(label) &&
        proc_mount_unescape(source, label + n, sizeof(label) - (size_t)n) >= 0 && add_part(&f, point))
        f.entity = entity_add(&h->table[BARO_KIND_FS], h->o.entity_ids, point, label);
    if (!f.entity) {
        fs_free(&f);
        return;
    }
    h->fs[h->n_fs++] = f;
}

/* A later mount on the same mount point hides the earlier ones: removes those from index `from` on. */
static void hide(struct host *h, const char *point, size_t from)
{
    for (size_t i = from; i < h->n_fs; i++) {
        struct fs *f = &h->fs[i];
        for (size_t k = 0; f->seen && k < f->n_parts; k++) {
            if (strcmp(f->part[k].point, point) != 0)
                continue;
            free(f->part[k].point);
            f->part[k] = f->part[--f->n_parts];
            f->seen = f->n_parts > 0;
        }
    }
}

static void remove_unseen(struct host *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->n_fs; i++) {
        if (h->fs[i].seen) {
            if (kept != i)
                h->fs[kept] = h->fs[i];
            kept++;
            continue;
        }
        entity_remove(&h->table[BARO_KIND_FS], h->fs[i].entity);
        fs_free(&h->fs[i]);
    }
    h->n_fs = kept;
}

/* Keeps the filesystems that are still mounted at the same place, with their entities. The parts of a pool are listed
 * again. */
static void keep_mounted(struct host *h, struct span text)
{
    char point[POINT_MAX];
    struct proc_mount m;
    for (size_t i = 0; i < h->n_fs; i++) {
        h->fs[i].seen = false;
        if (h->fs[i].pool)
            parts_free(&h->fs[i]);
    }
    for (size_t n = 0; n < MOUNTS_MOST && proc_mount_next(&text, &m); n++) {
        if (proc_mount_unescape(m.point, point, sizeof(point)) < 0)
            continue;
        hide(h, point, 0);
        struct fs *f = has_space(&m, point) ? find_filesystem(h, &m) : NULL;
        if (f && f->pool)
            f->seen |= add_part(f, point);
        else if (f && f->n_parts && strcmp(f->part[0].point, point) == 0)
            f->seen = true;
    }
    remove_unseen(h);
}

static void add_new(struct host *h, struct span text)
{
    char point[POINT_MAX];
    struct proc_mount m;
    size_t old = h->n_fs;
    for (size_t n = 0; n < MOUNTS_MOST && proc_mount_next(&text, &m); n++) {
        if (proc_mount_unescape(m.point, point, sizeof(point)) < 0)
            continue;
        hide(h, point, old); /* for the old ones keep_mounted() has done this */
        struct fs *f = has_space(&m, point) ? find_filesystem(h, &m) : NULL;
        if (f && f->seen) {
            if (f->pool && f >= h->fs + old)
                add_part(f, point);
        } else if (has_space(&m, point)) {
            add_filesystem(h, &m, point);
        }
    }
    remove_unseen(h);
}

void host_mounts(struct host *h)
{
    struct pollfd p = {.fd = h->fd[HOST_FILE_MOUNTINFO], .events = POLLPRI};
    struct span text;
    bool changed = poll(&p, 1, 0) > 0 && (p.revents & (POLLPRI | POLLERR));
    if ((h->mounts_read && !changed) || !host_file(h, HOST_FILE_MOUNTINFO, &text))
        return;
    h->mounts_read = true;
    keep_mounted(h, text);
    add_new(h, text);
}

/* ---- requests and replies ---- */

void fs_request(struct host *h)
{
    size_t hung = 0, left = worker_left_behind(helper_worker(h->slow)), risked = left;
    for (size_t i = 0; i < h->n_fs; i++)
        hung += h->fs[i].hung;
    for (int local = 1; local >= 0; local--) {
        for (size_t i = 0; i < h->n_fs; i++) {
            struct fs *f = &h->fs[i];
            if (f->local != local || f->twin || h->now_ns < f->due_ns)
                continue;
            if (f->hung && left >= hung)
                continue; /* each filesystem that hung still blocks a helper */
            bool trusted = f->local || (f->asked && !f->hung);
            if (!trusted && risked >= RISKED)
                continue;
            risked += !trusted;
            f->outstanding = 0;
            for (size_t k = 0; k < f->n_parts; k++) {
                f->part[k].answered = false;
                f->outstanding +=
                    host_ask(h, (struct helper_request){.key = {(int32_t)f->entity->id, (uint64_t)f->tries << 32 | k},
                                                        .what = HELPER_FS,
                                                        .path = f->part[k].point});
            }
        }
    }
}

static void lack_all(struct fs *f, uint8_t why)
{
    for (int m = 0; m < FS_MAX; m++)
        entity_lack(f->entity, m, why);
}

static void note_failed_read(struct host *h, struct fs *f, uint8_t why)
{
    if (why == BARO_ABSENT_NOT_YET)
        return; /* the request reached no helper: nothing is known */
    lack_all(f, why);
    f->hung = why == BARO_ABSENT_TIMEOUT;
    if (!f->hung)
        return;
    unsigned doubled = f->tries - 1 < AGAIN_DOUBLED ? f->tries - 1 : AGAIN_DOUBLED;
    f->due_ns = h->now_ns + (AGAIN << doubled);
    f->tries++; /* makes a new key: the helper refuses a key that hung */
}

/* Is this the filesystem below the overlay that is the root? An overlay shows the same values, but since 6.6
 * (uuid=auto) an id of its own. */
static bool is_twin(const struct host *h, const struct fs *f)
{
    for (const struct fs *o = h->fs; o < f; o++) {
        if (strcmp(o->type, "overlay") == 0 && o->asked && o->n_parts && o->part[0].used &&
            o->part[0].used == f->part[0].used && o->part[0].available == f->part[0].available &&
            o->entity->value[FS_total] == f->entity->value[FS_total] &&
            o->entity->value[FS_inodes] == f->entity->value[FS_inodes])
            return true;
    }
    return false;
}

static void take_reply(struct host *h, struct fs *f, const struct helper_reply *reply)
{
    struct baro_entity *e = f->entity;
    entity_put(e, FS_total, reply->host[HELPER_FS_TOTAL]);
    entity_put(e, FS_used, f->part[0].used);
    entity_put(e, FS_available, reply->host[HELPER_FS_AVAILABLE]);
    entity_put(e, FS_read_at, h->now_ns);
    if (reply->host[HELPER_FS_INODES] && !f->pool) { /* btrfs and FAT have no number of inodes */
        entity_put(e, FS_inodes, reply->host[HELPER_FS_INODES]);
        entity_put(e, FS_inodes_free, reply->host[HELPER_FS_INODES_FREE]);
    } else {
        entity_lack(e, FS_inodes, BARO_ABSENT_UNSUPPORTED);
        entity_lack(e, FS_inodes_free, BARO_ABSENT_UNSUPPORTED);
    }
    if (!f->pool)
        return;
    uint64_t used = 0, available = 0;
    for (size_t k = 0; k < f->n_parts; k++) {
        used += f->part[k].answered ? f->part[k].used : 0;
        if (f->part[k].answered && f->part[k].available > available)
            available = f->part[k].available;
    }
    entity_put(e, FS_used, used);
    entity_put(e, FS_available, available);
    entity_put(e, FS_total, used + available);
}

void fs_reply(struct host *h, const struct helper_reply *reply)
{
    struct fs *f = h->fs, *end = h->fs + h->n_fs;
    size_t k = (size_t)(reply->key.start & UINT32_MAX);
    while (f < end && (!f->entity || f->entity->id != (uint32_t)reply->key.pid))
        f++;
    if (f == end || k >= f->n_parts)
        return;
    if (reply->host_absent) {
        note_failed_read(h, f, reply->host_absent);
        return;
    }
    struct fs_part *part = &f->part[k];
    uint64_t total = reply->host[HELPER_FS_TOTAL], free_bytes = reply->host[HELPER_FS_FREE];
    part->used = total > free_bytes ? total - free_bytes : 0;
    part->available = reply->host[HELPER_FS_AVAILABLE];
    part->id = reply->host[HELPER_FS_ID];
    part->answered = true;
    f->hung = false;
    f->due_ns = 0;
    take_reply(h, f, reply);
    f->asked = true;
    if (f->outstanding && --f->outstanding == 0 && !f->pool && is_twin(h, f)) {
        f->twin = true;
        entity_remove(&h->table[BARO_KIND_FS], f->entity);
        f->entity = NULL;
    }
}
