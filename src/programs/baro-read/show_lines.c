/* SPDX-License-Identifier: Apache-2.0 */
/* What `baro show` says in words. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/lines.h"
#include "programs/baro-read/show.h"
#include "programs/common/zone.h"

#define PHASES_MOST 6u  /* phases in a line; JSON has all */
#define ENTITIES_MOST 8 /* lines of a kind; `baro export` has all */
#define METRICS_MOST 8  /* values of a line */

int64_t show_off_by(const struct show *w)
{
    int64_t off = (int64_t)(baro_sample_t_ns(w->instant.now) - (uint64_t)w->asked_ns);
    return off > 0 && (uint64_t)off <= w->tolerance_ns ? 0 : off;
}

/* "+0.409s, 2026-11-28T19:22:21.561+00:00: the last sample until the time asked for, 26.5 ms before it" */
void show_which_line(struct show *w, struct buf *b)
{
    const struct baro_header *header = baro_tape_header(w->feed.tape);
    uint64_t t_ns = baro_sample_t_ns(w->instant.now);
    fmt_moment(b, t_ns);
    buf_str(b, ", ");
    fmt_time_zone(b, row_realtime_ns(w->feed.other, header, t_ns), zone_east(baro_header_start_realtime_ns(header)),
                  true);
    if (!w->asked) {
        buf_str(b, w->settings->follow       ? ": the newest sample\n"
                   : w->feed.work_ns == t_ns ? ": the last sample with processes\n"
                                             : ": the last sample\n");
        return;
    }
    int64_t off = show_off_by(w);
    if (off == 0)
        buf_str(b, ": the sample at that time\n");
    else
        buf_printf(b, ": the %s the time asked for, %s %s it\n",
                   w->settings->pick == PICK_NEAREST ? "sample nearest to"
                   : off < 0                         ? "last sample until"
                                                     : "first sample after",
                   DURATION(off < 0 ? 0 - (uint64_t)off : (uint64_t)off), off < 0 ? "before" : "after");
}

static bool job_value(const struct show *w, const char *name, uint64_t *ret)
{
    return baro_row_value(baro_sample_row(w->instant.now, BARO_KIND_JOB, 0), baro_metric_find(BARO_KIND_JOB, name),
                          ret) == BARO_PRESENT;
}

/* "so far 2.02 ms cpu (short by less than 20.0 ms), tcp sent 5.00 MB, received 2.10 kB; rates over 100 ms" */
static void say_job(const struct show *w, struct buf *b)
{
    uint64_t v, bound = 0;
    if (!job_value(w, "cpu", &v))
        return;
    buf_printf(b, "so far %s cpu", DURATION(v));
    if (job_value(w, "cpu_bound", &bound) && bound)
        buf_printf(b, " (short by less than %s)", DURATION(bound));
    if (job_value(w, "tcp_sent", &v)) {
        bound = 0;
        job_value(w, "tcp_is_lower_bound", &bound);
        const char *least = baro_value_prefix(bound ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL);
        buf_printf(b, ", tcp sent %s%s", least, BYTES(v));
        v = 0;
        job_value(w, "tcp_received", &v);
        buf_printf(b, ", received %s%s", least, BYTES(v));
    }
    if (w->instant.before)
        buf_printf(b, "; rates over %s",
                   DURATION(baro_sample_t_ns(w->instant.now) - baro_sample_t_ns(w->instant.before)));
    buf_byte(b, '\n');
}

bool show_is_in(const struct baro_timeline_item *v, uint64_t t_ns)
{
    return v->kind == BARO_TIMELINE_PHASE && v->begin_ns <= t_ns && (v->is_open || t_ns < v->end_ns);
}

static void say_phases(const struct show *w, struct buf *b)
{
    const struct baro_timeline_item *v;
    size_t n = 0;
    if (!baro_timeline_lanes(w->feed.timeline))
        return;
    buf_str(b, "in ");
    for (size_t i = 0; (v = baro_timeline_get(w->feed.timeline, i)); i++) {
        if (!show_is_in(v, baro_sample_t_ns(w->instant.now)) || n++ >= PHASES_MOST)
            continue;
        buf_str(b, n == 1 ? "phase " : ", ");
        text_escaped(b, v->text, strlen(v->text));
        buf_str(b, v->begins_before ? " since before " : " since ");
        fmt_moment(b, v->begin_ns);
    }
    if (!n)
        buf_str(b, "no phase");
    if (n > PHASES_MOST)
        buf_printf(b, ", and %zu more", n - PHASES_MOST);
    buf_byte(b, '\n');
}

/* "; 884 ms before", if it was read before the sample */
static void say_age(const struct show *w, uint64_t read_ns, struct buf *b)
{
    uint64_t t_ns = baro_sample_t_ns(w->instant.now);
    if (read_ns + NS_PER_MS < t_ns)
        buf_printf(b, "; %s before", DURATION(t_ns - read_ns));
    buf_byte(b, '\n');
}

static int host_value(const struct show *w, const char *stem, uint64_t *ret)
{
    return baro_row_value(baro_sample_row(w->instant.now, BARO_KIND_HOST, 0), baro_metric_find(BARO_KIND_HOST, stem),
                          ret);
}

static void bytes(struct buf *b, const struct show *w, const char *stem)
{
    uint64_t v;
    if (host_value(w, stem, &v) == BARO_PRESENT)
        fmt_bytes(b, v);
    else
        buf_byte(b, '?');
}

bool show_machine_row(const struct show *w, struct output_row *ret)
{
    *ret = (struct output_row){.kind = BARO_KIND_HOST,
                               .header = baro_tape_header(w->feed.tape),
                               .sample = w->instant.now,
                               .memory = w->machine_before};
    return baro_sample_read_ns(w->instant.now, BARO_KIND_HOST, &ret->t_ns) == BARO_PRESENT;
}

/* "machine: 2.00 of 2 cores busy, load 19.45, 2.07 GB of 25.3 GB memory used; 50.3 ms before" */
static void say_machine(const struct show *w, struct buf *b)
{
    struct output_row row;
    uint64_t v;
    if (!show_machine_row(w, &row))
        return;
    row_begin(&row);
    buf_str(b, "machine: ");
    if (row.cores_absent == BARO_PRESENT) {
        reader_cores(b, row.cores);
        buf_str(b, " of ");
    }
    if (host_value(w, "cpus", &v) != BARO_PRESENT)
        v = baro_header_cpus(row.header);
    buf_printf(b, "%s %s", COUNT(v), row.cores_absent == BARO_PRESENT ? "cores busy" : v == 1 ? "core" : "cores");
    if (host_value(w, "load_1m", &v) == BARO_PRESENT) {
        buf_str(b, ", load ");
        fmt_decimal(b, (double)v / 1e6, 2);
    }
    buf_str(b, ", ");
    bytes(b, w, "memory_used");
    buf_str(b, " of ");
    bytes(b, w, "memory_total");
    buf_str(b, " memory used");
    if (host_value(w, "swap_used", &v) == BARO_PRESENT && v)
        buf_printf(b, ", %s swap", BYTES(v));
    say_age(w, row.t_ns, b);
}

void show_lines(struct show *w, struct buf *b)
{
    say_job(w, b);
    say_phases(w, b);
    say_machine(w, b);
}

/* ---- directories, and kinds that only the tape has ---- */

static void escaped(struct buf *b, const char *text)
{
    text_escaped(b, text, strlen(text));
}

static void real(struct buf *b, double v)
{
    if (v == (double)(int64_t)v && v > -1e15 && v < 1e15)
        buf_printf(b, "%lld", (long long)v);
    else
        buf_printf(b, "%.6g", v);
}

/* "requests_total 17", "resident_bytes 4.20 MB". Returns false if the value is absent. */
static bool put_metric(const struct baro_row *e, const struct baro_metric *m, int id, struct buf *b)
{
    uint64_t v;
    if (baro_row_value(e, id, &v) != BARO_PRESENT)
        return false;
    escaped(b, m->name);
    buf_byte(b, ' ');
    if (m->unit == BARO_UNIT_BYTES)
        fmt_bytes(b, v);
    else if (m->unit == BARO_UNIT_NS)
        fmt_duration(b, v);
    else
        real(b, baro_metric_real(m, v));
    return true;
}

/* "http (code="200", method="get"): requests_total 17, ..." */
static void put_entity_line(const struct show *w, const struct baro_row *e, struct buf *b)
{
    const struct baro_tape *tape = w->feed.tape;
    int kind = baro_row_kind(e), n = 0, left = 0;
    uint64_t read_ns = UINT64_MAX - NS_PER_MS;
    escaped(b, baro_tape_kind_name(tape, kind));
    if (*baro_row_name(e)) {
        buf_byte(b, ' ');
        escaped(b, baro_row_name(e));
    } else if (baro_row_owner(e) == BARO_OWNER_PROCESS) {
        buf_printf(b, " of %d", (int)baro_row_owner_pid(e));
    }
    buf_str(b, ":");
    for (int id = 0; id < baro_tape_metric_count(tape, kind); id++) {
        size_t before = b->len;
        buf_str(b, n ? ", " : " ");
        bool present = put_metric(e, baro_tape_metric(tape, kind, id), id, b);
        if (!present || n == METRICS_MOST)
            b->len = before;
        left += present && n == METRICS_MOST;
        n += present && n < METRICS_MOST;
    }
    if (!n)
        buf_str(b, " no values");
    if (left)
        buf_printf(b, ", %d more", left);
    if (baro_row_read_ns(e, &read_ns) != BARO_PRESENT)
        read_ns = UINT64_MAX - NS_PER_MS;
    say_age(w, read_ns, b);
}

/* ---- brief lives ---- */

static uint64_t brief_value(const struct baro_row *e, const char *stem)
{
    uint64_t v;
    return baro_row_value(e, baro_metric_find(BARO_KIND_BRIEF, stem), &v) == BARO_PRESENT ? v : 0;
}

static int by_cpu(const void *a, const void *b)
{
    uint64_t x = brief_value(*(const struct baro_row *const *)a, "cpu"),
             y = brief_value(*(const struct baro_row *const *)b, "cpu");
    return (x < y) - (x > y);
}

/* "    31× as of gcc: 203 ms cpu, read 53.2 kB, wrote 2.76 MB, largest 12.3 MB" */
static void put_brief(const struct baro_row *e, struct buf *b)
{
    static const char *const moved[][2] = {{"io_read", "read"}, {"io_write", "wrote"}};
    const char *least = baro_value_prefix(brief_value(e, "unread") ? BARO_VALUE_LOWER_BOUND : 0, BARO_PREFIX_SYMBOL);
    buf_printf(b, "%6s× ", COUNT(brief_value(e, "processes")));
    escaped(b, baro_row_name(e));
    buf_str(b, *baro_row_label(e) ? " of " : "");
    escaped(b, baro_row_label(e));
    buf_printf(b, ": %s%s cpu", least, DURATION(brief_value(e, "cpu")));
    for (int i = 0; i < 2; i++) {
        uint64_t v = brief_value(e, moved[i][0]);
        if (v)
            buf_printf(b, ", %s %s%s", moved[i][1], least, BYTES(v));
    }
    if (brief_value(e, "rss_peak"))
        buf_printf(b, ", largest %s%s", least, BYTES(brief_value(e, "rss_peak")));
    buf_byte(b, '\n');
}

/* Processes that were too brief for rows of their own: by name, parent, user and control group. */
static void put_briefs(const struct show *w, struct buf *b)
{
    size_t n = baro_sample_rows(w->instant.now, BARO_KIND_BRIEF);
    const struct baro_row **row = n ? calloc(n, sizeof(*row)) : NULL;
    b->failed = b->failed || (n && !row);
    for (size_t i = 0; row && i < n; i++)
        row[i] = baro_sample_row(w->instant.now, BARO_KIND_BRIEF, i);
    if (row) {
        qsort(row, n, sizeof(*row), by_cpu);
        buf_str(b, "brief lives so far, those with most CPU time first:\n");
    }
    for (size_t i = 0; row && i < n && i < ENTITIES_MOST; i++)
        put_brief(row[i], b);
    if (row && n > ENTITIES_MOST)
        buf_printf(b, "%6zu more rows (baro export --entity brief)\n", n - ENTITIES_MOST);
    free(row);
}

void show_kinds(struct show *w, struct buf *b)
{
    for (int kind = BARO_KIND_DIRECTORY; kind < baro_tape_kind_count(w->feed.tape); kind++) {
        const char *name = baro_tape_kind_name(w->feed.tape, kind);
        bool is_of_gpus = kind == BARO_KIND_GPU || kind == BARO_KIND_GPU_PROCESS; /* they have a list */
        if (kind == BARO_KIND_BRIEF)
            put_briefs(w, b);
        size_t n = is_of_gpus || kind == BARO_KIND_BRIEF ? 0 : baro_sample_rows(w->instant.now, kind);
        for (size_t i = 0; i < n && i < ENTITIES_MOST; i++)
            put_entity_line(w, baro_sample_row(w->instant.now, kind, i), b);
        if (n > ENTITIES_MOST) {
            escaped(b, name);
            buf_printf(b, ": %zu more rows (baro export --entity ", n - ENTITIES_MOST);
            escaped(b, name);
            buf_str(b, ")\n");
        }
    }
}
