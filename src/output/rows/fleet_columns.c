/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/fleet_columns.h"

#include <math.h>
#include <string.h>

#include "baro/header.h"
#include "baro/timeline.h"

/* ---- facts ---- */

static void of_header(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)s;
    baro_header_value(row->header, fact, 0, ret);
}

static void of_summary(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)s;
    baro_summary_value(row->summary, fact, row->at, ret);
}

static void of_phase(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)s;
    baro_timeline_value(row->timeline, row->at, fact, ret);
}

int fleet_fact(const struct fleet_source *s, enum baro_fact_type *ret)
{
    int id = s->read == of_header    ? baro_header_fact_find(s->fact)
             : s->read == of_summary ? baro_summary_fact_find(s->section, s->fact)
             : s->read == of_phase   ? baro_timeline_fact_find(s->fact)
                                     : -1;
    const struct baro_fact *fact = s->read == of_header    ? baro_header_fact(id)
                                   : s->read == of_summary ? baro_summary_fact(id)
                                   : s->read == of_phase   ? baro_timeline_fact(id)
                                                           : NULL;
    *ret = fact ? fact->type : s->type;
    return id;
}

/* ---- values that are computed ---- */

/* Borrows the text; NULL or "": absent. */
static void set_text(struct baro_value *ret, const char *text)
{
    *ret = (struct baro_value){.text = text, .absent = text && *text ? BARO_PRESENT : BARO_ABSENT_UNKNOWN};
}

static void set_number(struct baro_value *ret, int64_t v)
{
    *ret = (struct baro_value){.i64 = v, .u64 = (uint64_t)v};
}

static void text_of_argv(const char *const *argv, struct buf *ret)
{
    buf_clear(ret);
    for (size_t i = 0; argv[i]; i++)
        buf_printf(ret, "%s%s", i ? " " : "", argv[i]);
    buf_byte(ret, 0);
}

static const struct baro_timeline_item *phase_of(const struct fleet_row *row)
{
    return baro_timeline_get(row->timeline, row->at);
}

static void text_of_path(const struct fleet_row *row, struct buf *ret)
{
    size_t len = baro_timeline_path(row->timeline, row->at, NULL, 0);
    buf_clear(ret);
    if (buf_reserve(ret, len + 1))
        baro_timeline_path(row->timeline, row->at, (char *)ret->at, len + 1);
}

/* Of "KEY=VALUE". */
static void text_of_key(const char *tag, struct buf *ret)
{
    buf_clear(ret);
    buf_add(ret, tag, strcspn(tag, "="));
    buf_byte(ret, 0);
}

enum other { SCHEMA, ID, TAPE, STATE, USER, COMMAND_LINE, PHASE_PATH, PHASE_BEGIN, PHASE_OPEN, TAG_KEY, TAG_VALUE };

static void other_of(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)fact;
    struct buf *b = &row->text;
    switch ((enum other)s->what) {
    case SCHEMA: set_number(ret, FLEET_SCHEMA); return;
    case ID: set_text(ret, baro_tape_id(row->job->tape)); return;
    case TAPE: set_text(ret, row->job->path); return;
    case STATE: set_text(ret, baro_tape_state_name(baro_tape_state(row->job->tape))); return;
    case USER: set_text(ret, row->job->user); return;
    case PHASE_BEGIN: set_number(ret, baro_header_realtime_ns(row->header, phase_of(row)->begin_ns)); return;
    case PHASE_OPEN: set_number(ret, phase_of(row)->is_open); return;
    case TAG_VALUE: set_text(ret, strchr(baro_header_tags(row->header)[row->at], '=') + 1); return;
    case COMMAND_LINE: text_of_argv(baro_header_argv(row->header), b); break;
    case PHASE_PATH: text_of_path(row, b); break;
    case TAG_KEY: text_of_key(baro_header_tags(row->header)[row->at], b); break;
    }
    set_text(ret, b->failed ? NULL : (const char *)b->at);
}

/* The tag that the source names. */
static void tag_of(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)fact;
    size_t len = strlen(s->fact);
    const char *const *tag = baro_header_tags(row->header);
    while (*tag && (strncmp(*tag, s->fact, len) != 0 || (*tag)[len] != '='))
        tag++;
    set_text(ret, *tag ? *tag + len + 1 : NULL);
}

/* What the recorder knew; else the tag of that name, which a manifest or a script has given. */
static void known_or_tag(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    if (baro_header_value(row->header, baro_header_fact_find(s->fact), 0, ret) != BARO_PRESENT)
        tag_of(row, s, fact, ret);
}

static double real_of(const struct fleet_row *row, const char *section, const char *name, unsigned *ret_flags)
{
    struct baro_value v;
    int id = baro_summary_fact_find(section, name);
    baro_summary_value(row->summary, id, 0, &v);
    *ret_flags = v.flags;
    return baro_fact_real(baro_summary_fact(id), &v);
}

/* Returns the limit; NAN where there is none below what the machine has: nothing was set aside for the job, and so it
 * could not waste any of it. RLIMIT_AS and RLIMIT_DATA (ulimit -v, -d) set nothing aside. */
static double limit_of(const struct fleet_row *row, const char *name, const char *source)
{
    struct baro_value v;
    unsigned flags;
    baro_summary_value(row->summary, baro_summary_fact_find("limits", source), 0, &v);
    return v.absent || strcmp(v.text, "machine") == 0 || strncmp(v.text, "RLIMIT_", 7) == 0
               ? NAN
               : real_of(row, "limits", name, &flags);
}

/*
 * What was set aside for the whole time, less what was used; 0 if that was more (a quota is kept on average). Example:
 * 4 cores for 100 s, of which 150 core-seconds were used, leave 250. If "at least 150" were used, "at most 250" were
 * left.
 */
static void set_unused(struct baro_value *ret, double allowed, double used, unsigned used_flags)
{
    double v = allowed - used;
    *ret = (struct baro_value){.absent = isnan(v) ? BARO_ABSENT_UNKNOWN : BARO_PRESENT};
    if (ret->absent)
        return;
    ret->real = v > 0 ? v : 0;
    ret->flags = (used_flags & BARO_VALUE_ESTIMATE) |
                 (used_flags & BARO_VALUE_LOWER_BOUND ? BARO_VALUE_UPPER_BOUND : 0u) |
                 (used_flags & BARO_VALUE_UPPER_BOUND ? BARO_VALUE_LOWER_BOUND : 0u);
}

static void cpu_unused_of(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)s, (void)fact;
    unsigned flags, none;
    double wall_s = real_of(row, "", "wall_ns", &none) / 1e9, used_s = real_of(row, "job", "cpu_ns", &flags) / 1e9;
    set_unused(ret, limit_of(row, "cores_at_most", "cores_at_most_source") * wall_s, used_s, flags);
}

static void memory_unused_of(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)s, (void)fact;
    unsigned flags, none;
    double wall_s = real_of(row, "", "wall_ns", &none) / 1e9;
    double used = real_of(row, "limits", "memory_peak_bytes", &flags);
    set_unused(ret, limit_of(row, "memory_at_most_bytes", "memory_at_most_source") * wall_s, used * wall_s, flags);
}

/* The columns read so far of this row that have a mark, in a list. */
static void marked_of(struct fleet_row *row, const struct fleet_source *s, int fact, struct baro_value *ret)
{
    (void)fact;
    struct buf *b = &row->marked[*s->fact - '0'];
    if (b->len)
        buf_byte(b, 0);
    set_text(ret, b->len && !b->failed ? (const char *)b->at : NULL);
}

/* ---- the tables ---- */

/* clang-format off */
#define COLUMN(name, read, section, fact, type, what) {name, read, section, fact, BARO_FACT_##type, what}
/* clang-format on */
#define OTHER(name, what, type) COLUMN(name, other_of, NULL, NULL, type, what)
#define COMPUTED(name, function) COLUMN(name, function, NULL, NULL, REAL, 0)
#define HEADER(name, fact) COLUMN(name, of_header, NULL, fact, TEXT, 0)
#define FACT(name, section, fact) COLUMN(name, of_summary, section, fact, TEXT, 0)
#define JOB(fact) FACT(fact, "job", fact)
#define COMMAND(fact) FACT(fact, "commands", fact)
#define GPU(fact) FACT(fact, "gpus", fact)
#define PHASE(fact) COLUMN(fact, of_phase, NULL, fact, TEXT, 0)
#define NAMED(name) COLUMN(name, known_or_tag, NULL, name, TEXT, 0)
#define TAG(name, key) COLUMN(name, tag_of, NULL, key, TEXT, 0)
/* In each table: a query about commands needs no join to know when, where and whose they were. */
#define WHOSE                                                                                                          \
    OTHER("id", ID, TEXT), HEADER("start", "start"), HEADER("host", "host"), OTHER("user", USER, TEXT),                \
        HEADER("name", "name"), HEADER("job_id", "job_id"), HEADER("kernel", "kernel"),                                \
        HEADER("cpu_model", "cpu_model")
#define MARKS                                                                                                          \
    COLUMN("lower_bounds", marked_of, NULL, "0", TEXT, 0), COLUMN("upper_bounds", marked_of, NULL, "1", TEXT, 0),      \
        COLUMN("estimates", marked_of, NULL, "2", TEXT, 0)

static const struct fleet_source job_columns[] = {
    OTHER("schema", SCHEMA, SIGNED),
    WHOSE,
    OTHER("tape", TAPE, TEXT),
    OTHER("state", STATE, TEXT),
    HEADER("uid", "uid"),
    OTHER("command_line", COMMAND_LINE, TEXT),
    HEADER("cwd", "cwd"),
    NAMED("node"),
    HEADER("step_id", "step_id"),
    HEADER("rank", "rank"),
    HEADER("ranks", "ranks"),
    HEADER("attempt", "attempt"),
    TAG("partition", "partition"),
    TAG("git_commit", "git.commit"),
    TAG("git_branch", "git.branch"),
    HEADER("machine", "machine"),
    HEADER("boot_id", "boot_id"),
    HEADER("cpus", "cpus"),
    HEADER("machine_memory_bytes", "memory_bytes"),
    HEADER("container", "container"),
    HEADER("image", "image"),
    NAMED("pod"),
    NAMED("pod_namespace"),
    HEADER("unit", "unit"),
    FACT("cgroup", "", "cgroup"),
    HEADER("version", "version"),
    FACT("wall_ns", "", "wall_ns"),
    FACT("exit_status", "exit", "status"),
    FACT("exit_signal", "exit", "signal"),
    FACT("ended_by", "exit", "ended_by"),
    FACT("is_detached", "exit", "is_detached"),
    JOB("cpu_ns"),
    JOB("cpu_user_ns"),
    JOB("cpu_system_ns"),
    JOB("cores_mean"),
    JOB("cores_peak"),
    JOB("run_delay_ns"),
    FACT("cores_allowed", "limits", "cores_at_most"),
    FACT("cores_allowed_source", "limits", "cores_at_most_source"),
    FACT("throttled_ns", "limits", "throttled_ns"),
    COMPUTED("cpu_unused_core_seconds", cpu_unused_of),
    FACT("memory_needed_bytes", "limits", "memory_peak_bytes"),
    FACT("memory_needed_at_most_bytes", "limits", "memory_peak_at_most_bytes"),
    FACT("memory_limit_bytes", "limits", "memory_at_most_bytes"),
    FACT("memory_limit_source", "limits", "memory_at_most_source"),
    COMPUTED("memory_unused_byte_seconds", memory_unused_of),
    FACT("oom_kills", "limits", "oom_kills"),
    JOB("rss_peak_bytes"),
    JOB("pss_peak_bytes"),
    JOB("swap_peak_bytes"),
    JOB("io_read_bytes"),
    JOB("io_write_bytes"),
    JOB("io_rchar_bytes"),
    JOB("io_wchar_bytes"),
    JOB("tcp_sent_bytes"),
    JOB("tcp_received_bytes"),
    JOB("faults_major"),
    JOB("threads_peak"),
    JOB("processes_peak"),
    JOB("processes_started"),
    FACT("gpus_visible", "gpu", "visible"),
    FACT("gpus_used", "gpu", "used"),
    FACT("gpu_watched_ns", "gpu", "watched_ns"),
    FACT("gpu_busy_ns", "gpu", "busy_job_ns"),
    FACT("gpu_memory_peak_bytes", "gpu", "memory_job_peak_bytes"),
    FACT("gpu_energy_joules", "gpu", "job_energy_joules"),
    FACT("energy_joules", "energy", "job_joules"),
    FACT("pressure_cpu_some_ratio", "host.pressure", "cpu_some_ratio"),
    FACT("pressure_memory_some_ratio", "host.pressure", "memory_some_ratio"),
    FACT("pressure_io_some_ratio", "host.pressure", "io_some_ratio"),
    FACT("recorder_cpu_ns", "recorder", "cpu_ns"),
    FACT("damaged_bytes", "recorder", "damaged_bytes"),
    FACT("gap_ns", "recorder", "gap_ns"),
    MARKS,
};

static const struct fleet_source command_columns[] = {
    WHOSE,
    FACT("command", "commands", "name"),
    COMMAND("processes"),
    COMMAND("cpu_ns"),
    COMMAND("cpu_user_ns"),
    COMMAND("cpu_system_ns"),
    COMMAND("rss_peak_bytes"),
    COMMAND("io_read_bytes"),
    COMMAND("io_write_bytes"),
    COMMAND("tcp_sent_bytes"),
    COMMAND("tcp_received_bytes"),
    MARKS,
};

static const struct fleet_source phase_columns[] = {
    WHOSE,
    OTHER("phase", PHASE_PATH, TEXT),
    OTHER("begin", PHASE_BEGIN, TIME),
    OTHER("is_open", PHASE_OPEN, BOOLEAN),
    PHASE("wall_ns"),
    PHASE("cpu_ns"),
    PHASE("cpu_user_ns"),
    PHASE("cpu_system_ns"),
    PHASE("cores_mean"),
    PHASE("cores_peak"),
    PHASE("rss_peak_bytes"),
    PHASE("pss_peak_bytes"),
    PHASE("swap_peak_bytes"),
    PHASE("io_read_bytes"),
    PHASE("io_write_bytes"),
    PHASE("io_rchar_bytes"),
    PHASE("io_wchar_bytes"),
    PHASE("processes_started"),
    PHASE("throttled_ns"),
    MARKS,
};

static const struct fleet_source device_columns[] = {
    WHOSE,
    FACT("device", "gpus", "name"),
    GPU("model"),
    GPU("is_instance"),
    GPU("is_used"),
    GPU("watched_ns"),
    GPU("busy_ns"),
    GPU("busy_job_ns"),
    GPU("memory_used_peak_bytes"),
    GPU("memory_job_peak_bytes"),
    GPU("memory_total_bytes"),
    GPU("energy_joules"),
    GPU("job_energy_joules"),
    GPU("power_mean_watts"),
    GPU("power_peak_watts"),
    GPU("power_limit_watts"),
    GPU("temperature_peak_celsius"),
    GPU("throttled_power_ns"),
    GPU("throttled_thermal_ns"),
    GPU("ecc_uncorrected"),
    GPU("xid_errors"),
    MARKS,
};

static const struct fleet_source tag_columns[] = {
    WHOSE,
    OTHER("key", TAG_KEY, TEXT),
    OTHER("value", TAG_VALUE, TEXT),
};

static size_t one_row(const struct fleet_row *row)
{
    (void)row;
    return 1;
}

static size_t command_rows(const struct fleet_row *row)
{
    return baro_summary_rows(row->summary, baro_summary_section_find("commands"));
}

static size_t phase_rows(const struct fleet_row *row)
{
    return baro_timeline_count(row->timeline);
}

static bool is_phase(const struct fleet_row *row)
{
    return phase_of(row)->kind == BARO_TIMELINE_PHASE;
}

static size_t device_rows(const struct fleet_row *row)
{
    return baro_summary_rows(row->summary, baro_summary_section_find("gpus"));
}

static size_t tag_rows(const struct fleet_row *row)
{
    return baro_header_rows(row->header, baro_header_fact_find("tag"));
}

#define TABLE(name, columns, rows, has)                                                                                \
    {                                                                                                                  \
        name, columns, sizeof(columns) / sizeof(*(columns)), rows, has                                                 \
    }

const struct fleet_columns *fleet_columns(enum fleet_table_id table)
{
    static const struct fleet_columns tables[] = {
        [FLEET_JOB] = TABLE("job", job_columns, one_row, NULL),
        [FLEET_COMMAND] = TABLE("command", command_columns, command_rows, NULL),
        [FLEET_PHASE] = TABLE("phase", phase_columns, phase_rows, is_phase),
        [FLEET_DEVICE] = TABLE("device", device_columns, device_rows, NULL),
        [FLEET_TAG] = TABLE("tag", tag_columns, tag_rows, NULL),
    };
    return &tables[table];
}
