/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in memory: the growth of the tmpfs filesystems at the places where programs write. Such a file is charged to
 * the memory of the job, and no process needs to map it. Example: a job copies 400 MB to /dev/shm and has 4 MB
 * resident: it needs 404 MB.
 *
 * The places are fixed, because the mount table of a host can be long, and because statfs(2) of a tmpfs asks no server.
 * No descriptor is held: it would keep the job from unmounting its own /tmp. Who wrote is not known. What is elsewhere,
 * or has no place (memfd), is in the shared memory of the machine: that is read here, because the machine is read later
 * and more rarely. Example: a job writes 300 MB to a memfd in its first 40 ms.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "libbaro/metric/ids.h"
#include "recorder/sampling/sampling.h"

#define TMPFS_MAGIC 0x01021994
#define PLACES 5u

struct tmpfs_place {
    char path[32];
    uint64_t id, used; /* when the tape began */
};

struct tmpfs_row {
    const struct sampling *sampling;
    struct tmpfs_place place[PLACES];
    unsigned n;
    bool has_shmem;
    uint64_t shmem; /* of the machine, when the tape began */
};

static bool read_place(const char *path, struct tmpfs_place *ret)
{
    struct statfs st;
    if (statfs(path, &st) < 0 || st.f_type != TMPFS_MAGIC || st.f_bfree > st.f_blocks)
        return false;
    memcpy(&ret->id, &st.f_fsid, sizeof(ret->id));
    ret->used = (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
    return true;
}

/* A filesystem that has two of the places counts once. */
static void add_place(struct tmpfs_row *r, const char *path)
{
    struct tmpfs_place *p = &r->place[r->n];
    if (!read_place(path, p))
        return;
    snprintf(p->path, sizeof(p->path), "%s", path);
    for (unsigned i = 0; i < r->n; i++) {
        if (r->place[i].id == p->id)
            return;
    }
    r->n++;
}

/* NR_SHMEM, as Shmem of /proc/meminfo. False: refused, as by a seccomp filter. */
static bool read_shmem(uint64_t *ret)
{
    struct sysinfo i;
    bool is_read = sysinfo(&i) == 0;
    *ret = is_read ? (uint64_t)i.sharedram * i.mem_unit : 0;
    return is_read;
}

static int begin(void *state, struct sampling *sampling)
{
    static const char *const paths[] = {"/dev/shm", "/tmp", "/var/tmp", "/run"};
    struct tmpfs_row *r = state;
    char own[32];
    r->sampling = sampling;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        add_place(r, paths[i]);
    snprintf(own, sizeof(own), "/run/user/%u", getuid());
    add_place(r, own);
    r->has_shmem = read_shmem(&r->shmem);
    return 0;
}

/* Of a filesystem that was mounted over the first one all counts. */
static uint64_t grown(const struct tmpfs_place *p)
{
    struct tmpfs_place now;
    if (!read_place(p->path, &now))
        return 0;
    uint64_t before = now.id == p->id ? p->used : 0;
    return now.used > before ? now.used - before : 0;
}

/* A control group counts its own files in memory; and of many jobs it would not be known which one wrote. */
static bool tick_tmpfs(void *state, const struct collector_tick *t)
{
    const struct tmpfs_row *r = state;
    uint64_t sum = 0, shmem;
    t->sample->job[JOB_tmpfs] = t->sample->job[JOB_machine_shmem] = 0;
    t->sample->job_absent[JOB_tmpfs] = t->sample->job_absent[JOB_machine_shmem] = BARO_ABSENT_NOT_ASKED;
    if (r->sampling->options.host_alone || sampling_is_shared(r->sampling))
        return true;
    for (unsigned i = 0; i < r->n; i++)
        sum += grown(&r->place[i]);
    t->sample->job[JOB_tmpfs] = sum;
    bool is_read = read_shmem(&shmem) && r->has_shmem;
    t->sample->job[JOB_machine_shmem] = is_read && shmem > r->shmem ? shmem - r->shmem : 0;
    t->sample->job_absent[JOB_tmpfs] = BARO_PRESENT;
    t->sample->job_absent[JOB_machine_shmem] = is_read ? BARO_PRESENT : BARO_ABSENT_DENIED;
    return true;
}

extern const struct collector tmpfs_collector;
const struct collector tmpfs_collector = {.name = "tmpfs",
                                          .kinds = COLLECTOR_KIND(BARO_KIND_JOB),
                                          .state_size = sizeof(struct tmpfs_row),
                                          .begin = begin,
                                          .tick = tick_tmpfs};
