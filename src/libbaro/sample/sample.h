/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample: the values of all processes, of the job and of the recorder at one instant, as they were read. And what
 * happens between samples: exits and events. The sampler (live) and the tape's cursor (replay) fill the same structs,
 * so all code that uses samples exists once.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC since the tape began (header.start_monotonic_ns), unless noted otherwise.
 * Strings are bytes as the kernel gave them, with secrets redacted, NUL-terminated; the owner of the struct owns them.
 */
#ifndef LIBBARO_SAMPLE_SAMPLE_H
#define LIBBARO_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/event.h"
#include "baro/header.h"
#include "baro/sample.h"
#include "libbaro/metric/ids.h"

/* The number of values of each enum. Larger numbers come from newer writers. */
#define ORIGIN_COUNT (BARO_ORIGIN_ADOPTED + 1)
#define EXIT_SOURCE_COUNT (BARO_EXIT_WAIT4 + 1)
#define EVENT_KIND_COUNT (BARO_EVENT_LIMIT + 1)

#define BRIEF_CPU_NS 40000000u /* some ticks: of less CPU time the split into user and system says little */
/* Texts of a gap: another recorder goes on with the counts of the one before (tapes of version 0.1), or begins the next
 * part of the tape. */
#define GAP_NO_OBSERVER "no observer was running"
#define GAP_NEXT_PART "no recorder was running"

/* The text of a warning, where processes with one address space are not known. Readers go by it (FORMAT.md), so it
 * stays as it is. */
#define MEMORY_COUNTS_TWICE "kcmp(2) is refused: memory that several processes use may count more than once"

/* The identity of a process; a pid alone is none. start is field 22 of /proc/PID/stat: clock ticks since boot, as seen
 * in the reader's time namespace. start == 0: not known (the process is known from events alone and ended before it
 * could be read). */
struct baro_key {
    int32_t pid;
    uint64_t start;
};

/* Values of metrics that a newer library wrote and this one does not know. Their ids follow the last one of this
 * library. */
struct baro_extra {
    size_t n;
    const uint64_t *value;
    const uint8_t *absent;
};

struct baro_process {
    _Alignas(8) uint32_t id; /* unique within a tape, from 1; never used twice */
    struct baro_key key;
    struct baro_key parent; /* the current parent: it changes when the process is adopted */
    uint32_t uid;           /* real uid, UINT32_MAX where not known */
    enum baro_origin origin;
    uint64_t first_ns; /* when the recorder learned of it */
    /* when its values were last read, except pss and uss (see smaps_at) */
    uint64_t read_ns;
    uint32_t info_version;  /* grows with each change of name, cmdline, uid or parent */
    char *name;             /* full name; "" where not known */
    char *cmdline;          /* arguments separated by single spaces in shell quoting, redacted; NULL where not known */
    uint8_t cmdline_absent; /* enum baro_absent */
    uint64_t value[PROCESS_MAX];
    uint8_t absent[PROCESS_MAX];    /* enum baro_absent; value is 0 where this is not BARO_PRESENT */
    const struct baro_extra *extra; /* set by a cursor; else NULL */
};

struct baro_exit {
    _Alignas(8) uint64_t t_ns; /* when it ended, or when it was found gone */
    uint32_t id;               /* the process's id; also given to processes that no sample saw */
    struct baro_key key;
    struct baro_key parent;
    uint32_t uid;
    enum baro_origin origin;
    enum baro_exit_source source;
    bool sampled; /* at least one sample has it */
    bool status_known;
    int status; /* wait status as of wait4(2), valid if status_known */
    const char *name;
    const char *cmdline;     /* NULL where not known */
    const char *parent_name; /* known to the recorder alone; else NULL */
    uint64_t value[EXIT_MAX];
    uint8_t absent[EXIT_MAX];
    const struct baro_extra *extra; /* set by a cursor; else NULL */
};

struct baro_event {
    uint64_t t_ns;
    enum baro_event_kind kind;
    struct baro_key key; /* pid 0: the event concerns no single process */
    uint64_t number;
    const char *text;    /* never NULL */
    size_t n_attributes; /* besides number and text; at most ATTRIBUTES_MAX */
    const struct baro_attribute *attribute;
};

/* The owner of an entity's values. Example: the memory of a GPU that process (815, 4711) uses has that process as its
 * owner; the GPU itself has none. */
struct baro_entity_owner {
    enum baro_owner kind;
    struct baro_key process; /* for BARO_OWNER_PROCESS */
    uint32_t id;             /* for BARO_OWNER_ENTITY: another entity's id */
};

/* Attributes with a meaning of their own (baro/event.h) on marks and phases. If the job gives an attribute with such a
 * name, recorder/marks/mark.c stores it with another type. */
#define ATTRIBUTE_PHASE_ID "id"
#define ATTRIBUTE_DURATION "duration_ns"
#define ATTRIBUTE_TIME_ERROR "time_error_ns"
/* Attributes of an exec: the program before, and what the process had used by then. */
#define ATTRIBUTE_PROGRAM "program"
#define ATTRIBUTE_CPU "cpu_ns"
#define ATTRIBUTE_RSS_PEAK "rss_peak_bytes"
/* Attributes of a limit (libbaro/sample/limit.h), of the end of a job that one ended, and of a survivor of that. */
#define ATTRIBUTE_LIMIT_MOST "most"
#define ATTRIBUTE_LIMIT_ACTION "action"
#define ATTRIBUTE_LIMIT_BY "by"
#define ATTRIBUTE_LIMIT_LEFT "left"
#define ATTRIBUTE_LIMIT_HOLDER "holder_%u"
#define ATTRIBUTE_LIMIT_HELD "held_%u"
#define ATTRIBUTE_ENDED_BY "ended_by"
#define ATTRIBUTE_REASON "reason"
/* Of an OOM kill on a machine: the control group that ran out of memory, and its limit in bytes. */
#define ATTRIBUTE_OOM_GROUP "group"
#define ATTRIBUTE_OOM_LIMIT "limit_bytes"
struct buf;
void event_put_victim(const struct baro_event *e, struct buf *to); /* "cc1 (pid 12) in /app, limit 150 MiB" */

/* What a process is expected to use after its record of taskstats or perf is made: the kernel writes these before it
 * frees the memory of the process, which takes 0.2 us per page and more. The parent's counters include that time. */
#define TEARDOWN_NS 200000u
#define TEARDOWN_NS_PER_PAGE 200u

/* Limits of what the tape takes; longer texts and more attributes are left out. */
enum {
    ATTRIBUTES_MAX = 32,
    ATTRIBUTE_NAME_MAX = 255,
    ATTRIBUTE_TEXT_MAX = 4095,
    ATTRIBUTE_JSON_MAX = 16383,
    KIND_NAME_MAX = 63,
    METRIC_TEXT_MAX = 1023
};

/* One CPU, disk, filesystem, interface, sensor or control group; or a row of a kind that was declared. */
struct baro_entity {
    _Alignas(8) uint32_t
        id;      /* unique in a tape, all kinds together, from 1; never used twice: a disk that comes back is another */
    int kind;    /* enum baro_kind; of declared kinds that of baro_tape_kind_find(), and 0 elsewhere */
    char *name;  /* "cpu0", "nvme0n1", "/home", "eth0" */
    char *label; /* more about it, such as the model; "" */
    struct baro_entity_owner owner;         /* this and the attributes are unset for kinds up to BARO_KIND_CGROUP */
    size_t n_attributes;                    /* ATTRIBUTES_MAX at most */
    const struct baro_attribute *attribute; /* such as the UUID of a GPU */
    uint32_t info_version;                  /* grows with each change of label, owner or attributes */
    uint64_t read_ns; /* set by a cursor: when its values were read; elsewhere struct baro_entities has the time */
    size_t n_values;  /* set by a cursor: how many values it has */
    uint64_t *value;  /* one for each metric of its kind */
    uint8_t *absent;  /* a reason for each value */
    const struct baro_extra *extra;          /* set by a cursor; else NULL */
    const struct baro_metric *const *metric; /* set by a cursor for a declared kind: n_values descriptors; else NULL */
};

struct baro_entities {
    size_t n;
    struct baro_entity *const *at; /* borrowed; in the order in which they were found */
    uint64_t read_ns; /* when they were read; 0: not so far. Kinds up to BARO_KIND_CGROUP have the sample's host_ns */
};

/* A kind that the registry does not have, declared on the tape: an older recorder could do that, or a newer one wrote
 * the tape. */
struct baro_declared {
    const char *name;                        /* "jobqueue", ...: KIND_NAME_MAX bytes at most */
    const struct baro_metric *const *metric; /* its columns; there may be more later, 128 at most */
    size_t n_metrics;
    struct baro_entities rows; /* each with n_metrics values */
};

struct baro_sample {
    _Alignas(8) uint64_t t_ns;
    uint64_t job[JOB_MAX];
    uint8_t job_absent[JOB_MAX];
    uint64_t self[RECORDER_MAX];
    uint8_t self_absent[RECORDER_MAX];
    bool lossy;                            /* events were lost since the sample before */
    size_t n;                              /* living members */
    struct baro_process *const *processes; /* order: parents before children; borrowed */
    const uint64_t
        *moved; /* a bit for each: it may have changed since the sample before; NULL: all may have; borrowed */
    uint64_t
        removals; /* with moved: how many have left the list so far. If none did since, new ones stand at its end */
    const struct baro_extra *job_extra, *self_extra, *host_extra; /* set by a cursor; else NULL */
    /* Values of the machine, read at host_ns. It is not read for every sample. */
    bool has_host; /* the machine was read at least once */
    uint64_t host_ns;
    uint64_t host[HOST_MAX];
    uint8_t host_absent[HOST_MAX];
    struct baro_entities entities[KIND_COUNT]; /* of the kinds from BARO_KIND_CPU on; those up to BARO_KIND_CGROUP
                                                     are of the same instant */
    /* In order of declaration. More may follow later, at most DECLARED_MAX; none is removed, and none changes its place
     * or name. All together have at most ENTITIES_MAX rows. */
    size_t n_declared;
    struct baro_declared *const *declared;
};

/* The job's limits: the tightest one of its control groups, ulimits, affinity and the batch system's environment.
 * The source says which, for example "cgroup /kubepods/burst", "affinity", "RLIMIT_AS", "SLURM_MEM_PER_NODE"; ""
 * with a value of 0: no limit below the machine's. If a limit is marked absent, a tighter one may exist that is not
 * visible: the value is then an upper bound of the limit. */
struct baro_limits {
    uint64_t memory_bytes;
    char memory_source[128];
    uint64_t cores_ppm; /* millionths of a core */
    char cores_source[128];
    uint64_t pids;
    char pids_source[128];
    uint8_t memory_absent, cores_absent, pids_absent; /* enum baro_absent */
};

bool baro_limits_equal(const struct baro_limits *a, const struct baro_limits *b);

/* The header of a tape. Its strings are owned by the code that filled it. */
#define BARO_GROUP_PREFIX                                                                                              \
    "baro-" /* begins the name of a group that was made for a job; the recorder's pid and another '-' follow */

struct baro_header {
    enum baro_mode mode;
    char id[33];      /* id of the tape: 32 hexadecimal digits; the same in all segments */
    char version[32]; /* version of the barograph that wrote it */
    char host[65];
    char kernel[65];  /* release */
    char machine[65]; /* x86_64, aarch64, ... */
    char boot_id[37];
    int64_t start_realtime_ns; /* since the epoch; UTC */
    uint64_t start_monotonic_ns;
    uint64_t start_boottime_ns;
    uint64_t interval_ns;  /* 0: auto */
    uint64_t overhead_ppm; /* budget as parts per million of a core; 0: off */
    uint64_t wanted;       /* mask of process metrics that were asked for */
    uint32_t clk_tck;
    uint32_t cpus; /* online */
    uint64_t page_size;
    uint64_t memory_total;     /* bytes */
    struct baro_limits limits; /* for tapes without a record of limits; not known if that record is still to come */
    char cpu_model[128];
    uint32_t numa_nodes;
    char cgroup_mode[16]; /* of run: "own", "none"; of record --cgroup "target", or "members" where the group counts no
                             CPU time; of record --all "machine", or "visible" in a PID namespace; else "" */
    uint32_t uid;
    char **argv; /* the command redacted (run) or of the first target; NULL-terminated; may be empty */
    char **tags; /* of the user, each KEY=VALUE; NULL-terminated; NULL: none */
    char *cwd;
    char event_source[16]; /* "connector", "perf", "scan" */
    char exit_source[16];  /* "taskstats", "perf", "wait4", "none" */
    int32_t *targets;      /* attach: pids */
    size_t n_targets;
    /* identity among many tapes; empty where the environment says nothing */
    char job_id[64], step_id[64], rank[32], local_rank[16], node[128];
    uint32_t ranks, local_ranks; /* 0: not known */
    uint32_t attempt;            /* how often the job was started before */
    char name[256];              /* the user's name for the recording; "": none */
    /* rules by which readers give processes to tasks, as the lines of `baro tasks --json` (libbaro/rules/task_lines.h);
     * NULL: none */
    char *task_rules;
    /* the recorder, so that a reader on the same boot can see whether it lives; 0: not known */
    struct baro_key recorder;
    uint64_t pid_namespace; /* inode of /proc/PID/ns/pid: the namespace in which the recorder's pid is valid */
    /* segment: the number of this file, from 1 on; 0: the tape is one file. The others: how much is kept; 0: no
     * limit */
    uint32_t segment;
    uint64_t keep_ns, keep_bytes;
    uint32_t thinned; /* about one of so many samples is left in this file (`baro thin`); 0: all are */
    /* The tape is a stretch of a recording, whose beginning or end it lacks: what the job used is the growth from its
     * first sample on. */
    bool is_stretch;
    /* the largest sum of rss in the samples of the segments before this one, which may be removed; rss 0: none */
    struct header_peak {
        uint64_t rss, t_ns, members;
    } peak;
    /* for a control group as the job: the CPU time that it had used before the recording; of a part of a tape, before
     * that part */
    uint64_t group_user_ns, group_system_ns;
    struct header_place { /* what people call the control group that is the job; "": not known */
        char container[128], image[256], pod[256], pod_namespace[64], unit[256];
    } place;
};

/* Is its number by how much the wall clock went ahead of CLOCK_MONOTONIC? */
static inline bool event_moves_clock(const struct baro_event *e)
{
    return e->kind == BARO_EVENT_CLOCK_STEP || e->kind == BARO_EVENT_SUSPEND;
}

/* Does the tape begin within a recording, so that what its first sample has was used before? */
static inline bool header_begins_within(const struct baro_header *h)
{
    return h->is_stretch && h->segment > 1;
}

/* The entities of any kind; NULL if the sample has none. */
const struct baro_entities *sample_entities(const struct baro_sample *s, int kind);
/* The number of values of an entity. */
static inline int entity_values(const struct baro_entity *e)
{
    return e->kind < KIND_COUNT ? baro_metric_count(e->kind) : (int)e->n_values;
}

/* Frees the texts of a process, but not the struct; they are unset afterwards. */
void baro_process_done(struct baro_process *p);
/* Replace a text by a copy. Return false if out of memory; then the old one stays. cmdline may be NULL, name may not.
 */
bool baro_process_set_name(struct baro_process *p, const char *at, size_t len);
bool baro_process_set_cmdline(struct baro_process *p, const char *at, size_t len);

static inline bool baro_key_equal(struct baro_key a, struct baro_key b)
{
    return a.pid == b.pid && a.start == b.start;
}

#endif
