/* SPDX-License-Identifier: Apache-2.0 */
/* The block at the end of a run. */
#include <string.h>

#include "base/fmt.h"
#include "base/escape.h"
#include "output/rows/escaped.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define DAY_NS (24 * 3600 * 1000000000ull)
#define TENTHS_BELOW (60 * 1000000000ull) /* edges of a shorter stretch are shown in tenths of a second */

static void put_target(struct buf *b, const struct baro_summary *s)
{
    struct baro_value name = report_fact(s, "targets", "name");
    size_t n = report_rows(s, "targets");
    buf_printf(b, "%s%spid %d", name.absent ? "" : name.text, name.absent ? "" : ", ",
               (int)report_u64(s, "targets", "pid"));
    if (n > 1)
        buf_printf(b, " and %zu more", n - 1);
}

/* Adds the control group that is the job: "cgroup /system.slice/nginx.service". */
static void put_group(struct buf *b, const struct baro_summary *s)
{
    static const char mount[] = "/sys/fs/cgroup";
    const char *path = report_row(s, "command", "argument", 0).text;
    bool is_whole = strncmp(path, mount, strlen(mount)) == 0 && path[strlen(mount)] == '/';
    buf_printf(b, "cgroup %s", path + (is_whole ? strlen(mount) : 0));
}

void report_title(const struct baro_summary *s, struct buf *ret)
{
    size_t from = ret->len;
    const char *host = report_text(s, "host", "name"), *name = report_text(s, "", "name");
    bool is_group = !*name && report_text_is(s, "", "cgroup", "target") && report_rows(s, "command");
    buf_str(ret, name);
    if (is_group)
        put_group(ret, s);
    for (size_t i = 0; !*name && !is_group && i < report_rows(s, "command"); i++) {
        buf_str(ret, i ? " " : "");
        report_argument(report_row(s, "command", "argument", i).text, ret);
    }
    if (report_is_host_only(s))
        buf_str(ret, *host ? host : "the machine");
    else if (ret->len == from && report_text_is(s, "", "mode", "attach"))
        put_target(ret, s);
    else if (ret->len == from)
        buf_str(ret, "(no command)");
    report_rank(report_text(s, "launched", "rank"), report_u64(s, "launched", "ranks"), ret);
}

/* Was the recording stopped by an observer? Then the tape has no end, because another observer may continue it. */
static bool is_stopped(const struct baro_summary *s)
{
    return !report_is_machine(s) && report_is(s, "exit", "is_detached") &&
           report_fact(s, "exit", "wait_status").absent == BARO_ABSENT_NOT_YET;
}

enum report_result report_result(const struct baro_summary *s, bool running, struct buf *ret)
{
    struct baro_value status = report_fact(s, "exit", "wait_status");
    const char *limit = report_text(s, "exit", "ended_by");
    if (status.absent == BARO_PRESENT || *limit) {
        report_end(status.absent ? -1 : (int)status.u64, limit, ret);
        return status.u64 == 0 && !*limit ? REPORT_GOOD : REPORT_BAD;
    }
    if (report_is(s, "", "is_stretch")) {
        buf_str(ret, "a stretch of the recording");
        return REPORT_OTHER;
    }
    if (report_is(s, "exit", "is_detached")) {
        buf_str(ret, is_stopped(s) ? "recording stopped, the job was running" : "recorded");
        return REPORT_OTHER;
    }
    if (status.absent == BARO_ABSENT_UNKNOWN) {
        buf_str(ret, "ended, status not known");
        return REPORT_OTHER;
    }
    buf_str(ret, running ? "running" : "cut off, no end on the tape");
    return running ? REPORT_OTHER : REPORT_CUT_OFF;
}

void report_stretch(const struct baro_summary *s, long zone, struct buf *ret)
{
    uint64_t from_ns = report_u64(s, "", "start_ns"), length_ns = report_u64(s, "", "wall_ns");
    int64_t from = (int64_t)((uint64_t)report_fact(s, "", "start").i64 + from_ns);
    struct buf b = {0};
    for (int i = 0; i < 2; i++) {
        buf_clear(&b);
        fmt_time_zone(&b, i ? (int64_t)((uint64_t)from + length_ns) : from, zone, true);
        if (b.failed || b.len < 23)
            continue;
        b.at[10] = ' ';
        buf_str(ret, i ? " to " : "");
        size_t day = length_ns < DAY_NS ? 11 : 0, end = length_ns < TENTHS_BELOW ? 21 : 19;
        buf_add(ret, b.at + day, end - day);
    }
    buf_done(&b);
}

void report_head(struct lines *l, const struct baro_summary *s)
{
    static const enum lines_tone tones[] = {
        [REPORT_GOOD] = TONE_GOOD, [REPORT_BAD] = TONE_BAD, [REPORT_CUT_OFF] = TONE_WARN, [REPORT_OTHER] = TONE_PLAIN};
    struct buf end = {0}, title = {0};
    bool is_stretch = report_is(s, "", "is_stretch"), has_end = !report_fact(s, "exit", "wait_status").absent;
    if (is_stretch)
        report_stretch(s, l->style.zone, &end);
    if (is_stretch && has_end)
        buf_str(&end, ", ");
    enum report_result result = is_stretch && !has_end ? REPORT_OTHER : report_result(s, l->style.running, &end);
    if (result == REPORT_CUT_OFF && l->style.ended) {
        buf_clear(&end);
        buf_str(&end, "recorded");
        result = REPORT_OTHER;
    }
    report_title(s, &title);
    buf_byte(&title, 0);
    buf_str(&end, l->style.utf8 ? " · " : " - ");
    fmt_duration(&end, report_u64(s, "", "wall_ns"));
    unsigned taken = (unsigned)utf8_columns((const char *)end.at, end.len), width = l->style.width;
    bool apart = taken + 2 + 20 > width; /* too little room for the command on this line */
    lines_tone(l, TONE_STRONG);
    size_t from = l->out->len;
    lines_command(l, l->out, title.failed ? "" : (const char *)title.at, apart ? width : width - taken - 2);
    unsigned n = l->out->failed ? 0 : (unsigned)utf8_columns((const char *)l->out->at + from, l->out->len - from);
    lines_tone(l, TONE_PLAIN);
    if (apart)
        lines_end(l);
    buf_spaces(l->out, apart ? 2 : n + taken + 2 < width ? width - n - taken : 2);
    lines_tone(l, tones[result]);
    lines_cut(l, l->out, end.len ? (const char *)end.at : "", end.len, apart ? width - 2 : taken);
    lines_tone(l, TONE_PLAIN);
    lines_end(l);
    buf_done(&end);
    buf_done(&title);
}

void report_not_known(struct buf *b, int absent)
{
    buf_printf(b, "not known: %s", report_reason(absent));
}

static void place_and_time(struct lines *l, const struct baro_summary *s)
{
    struct buf b = {0};
    const char *host = report_text(s, "host", "name"), *kernel = report_text(s, "host", "kernel");
    lines_begin(l, "started", TONE_FAINT);
    fmt_time_zone(&b, report_fact(s, "", "start").i64, l->style.zone, false);
    if (*host) {
        buf_str(&b, " on ");
        lines_name(l, &b, host, 40);
    }
    lines_part(l, &b);
    if (*kernel) {
        buf_str(&b, "Linux ");
        lines_name(l, &b, kernel, 40);
    }
    lines_finish(l, &b);
}

static void path(struct lines *l, const char *tape)
{
    struct buf b = {0};
    if (!tape)
        return;
    lines_begin(l, "tape", TONE_FAINT);
    lines_name(l, &b, tape, 4096);
    lines_finish(l, &b);
}

/* All lines but the title, the table of commands, and when and where the recording began. */
static void lines_before_table(struct lines *l, const struct baro_summary *s)
{
    if (report_is_host_only(s)) {
        report_host(l, s);
        report_directories(l, s);
        report_gpus(l, s);
        report_machine(l, s);
        return;
    }
    if (report_is_machine(s)) {
        report_host(l, s);
        report_processes(l, s);
        report_directories(l, s);
        report_gpus(l, s);
        report_limits(l, s);
        report_machine(l, s);
        return;
    }
    report_cpu(l, s);
    report_memory(l, s);
    report_io(l, s);
    report_network(l, s);
    report_faults(l, s);
    report_processes(l, s);
    report_directories(l, s);
    report_gpus(l, s);
    report_limits(l, s);
    report_machine(l, s);
}

/* Explains the signs before values, if there are any. */
static void explain_marks(struct lines *l, size_t from)
{
    static const char *const signs[] = {"≥", ">=", "≤", "<=", "≈", "~"};
    bool any = false;
    for (size_t i = 0; !l->out->failed && i < sizeof(signs) / sizeof(*signs); i++)
        any = any || memmem(l->out->at + from, l->out->len - from, signs[i], strlen(signs[i]));
    if (!any)
        return;
    lines_begin(l, "marks", TONE_FAINT);
    lines_say(l, "≥ at least, ≤ at most, ≈ about: it may be off by more than 2 %%");
    lines_end(l);
}

/* Writes how complete the recording is, and what it cost: after the figures that the user asked for. */
static void lines_about_recording(struct lines *l, const struct baro_summary *s)
{
    report_accounted(l, s);
    report_before(l, s);
    report_notes(l, s);
}

void report_block(const struct baro_summary *s, const char *tape, struct report_style style, struct buf *ret)
{
    style = lines_fit(style);
    struct lines l = {.out = ret, .style = style};
    size_t from = ret->len;
    report_head(&l, s);
    bool drawn = style.curves && report_curves(&l, s); /* with the phases */
    lines_before_table(&l, s);
    if (style.timeline && !drawn)
        report_phases(&l, style.timeline);
    if (!report_is_host_only(s))
        report_commands(&l, s);
    place_and_time(&l, s);
    path(&l, tape);
    lines_about_recording(&l, s);
    explain_marks(&l, from);
    if (!style.utf8)
        text_ascii(ret, from);
}

void report_words(const struct baro_summary *s, struct report_style style, report_visit *visit, void *context)
{
    struct buf none = {0};
    struct lines l = {.out = &none, .style = style, .visit = visit, .context = context};
    lines_before_table(&l, s);
    lines_about_recording(&l, s);
    buf_done(&none);
}
