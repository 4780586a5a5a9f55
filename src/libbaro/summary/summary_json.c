/* SPDX-License-Identifier: Apache-2.0 */
/* The object of `baro summary --json`: the facts of a summary by section. Its member names are a promise to other
 * programs: docs/json.md. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "baro/summary.h"
#include "base/error.h"
#include "base/fmt.h"
#include "base/json.h"
#include "libbaro/summary/summary.h"

/* JSON has one of the tables of holders: by pss where that is known, else by rss. */
static bool is_in_json(const struct baro_summary *s, const struct baro_section *section)
{
    struct baro_value v;
    bool any = false;
    for (int i = 0; i < section->fact_count; i++)
        any = any || baro_summary_fact(section->first_fact + i)->in_json;
    bool of_pss = strcmp(section->name, "pss_peak_held_by") == 0,
         of_rss = strcmp(section->name, "rss_peak_held_by") == 0;
    if (!of_pss && !of_rss)
        return any;
    bool has_pss = baro_summary_value(s, baro_summary_fact_find("job", "pss_peak_bytes"), 0, &v) == BARO_PRESENT;
    return of_pss == has_pss;
}

static void write_value(struct json *j, const struct baro_fact *fact, const struct baro_value *v)
{
    struct buf time = {0};
    if (v->absent) {
        json_null(j);
        return;
    }
    switch (fact->type) {
    case BARO_FACT_UNSIGNED: json_u64(j, v->u64); break;
    case BARO_FACT_SIGNED: json_i64(j, v->i64); break;
    case BARO_FACT_REAL: json_double(j, v->real); break;
    case BARO_FACT_BOOLEAN: json_bool(j, v->u64 != 0); break;
    case BARO_FACT_TEXT: json_text(j, v->text); break;
    case BARO_FACT_TIME:
        fmt_time_utc(&time, v->i64);
        json_text_n(j, (const char *)time.at, time.len);
        break;
    }
    buf_done(&time);
}

static void write_row(struct json *j, const struct baro_summary *s, const struct baro_section *section, size_t row)
{
    struct baro_value v;
    for (int i = 0; i < section->fact_count; i++) {
        const struct baro_fact *fact = baro_summary_fact(section->first_fact + i);
        if (!fact->in_json)
            continue;
        baro_summary_value(s, section->first_fact + i, row, &v);
        json_key(j, fact->name);
        write_value(j, fact, &v);
    }
}

/* A table of one column is a list of values. */
static void write_table(struct json *j, const struct baro_summary *s, int number)
{
    const struct baro_section *section = baro_summary_section(number);
    struct baro_value v;
    json_begin(j, '[');
    for (size_t row = 0; row < baro_summary_rows(s, number); row++) {
        if (section->fact_count == 1) {
            baro_summary_value(s, section->first_fact, row, &v);
            write_value(j, baro_summary_fact(section->first_fact), &v);
            continue;
        }
        json_begin(j, '{');
        write_row(j, s, section, row);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static bool has_any(const struct baro_summary *s, const struct baro_section *section)
{
    struct baro_value v;
    for (int i = 0; i < section->fact_count; i++) {
        if (baro_summary_value(s, section->first_fact + i, 0, &v) != BARO_ABSENT_NONE)
            return true;
    }
    return false;
}

static bool is_within(const struct baro_section *section, const char *name)
{
    size_t n = strlen(name);
    return n && strncmp(section->name, name, n) == 0 && section->name[n] == '.';
}

/* With the sections within it: "host.pressure" is a member of "host". Returns the number of the next one. */
static int write_section(struct json *j, const struct baro_summary *s, int number)
{
    const struct baro_section *section = baro_summary_section(number), *next;
    const char *dot = strrchr(section->name, '.');
    json_key(j, dot ? dot + 1 : section->name);
    if (section->is_table) {
        write_table(j, s, number);
        return number + 1;
    }
    if (!has_any(s, section)) {
        json_null(j);
        return number + 1;
    }
    json_begin(j, '{');
    write_row(j, s, section, 0);
    number++;
    while ((next = baro_summary_section(number)) && is_within(next, section->name))
        number = write_section(j, s, number);
    json_end(j, '}');
    return number;
}

static const char *mark_of(const struct baro_value *v)
{
    return baro_value_mark(v->flags);
}

/* Why a value is absent. */
static const char *reason_of(const struct baro_value *v)
{
    return v->absent == BARO_PRESENT || v->absent == BARO_ABSENT_NONE ? NULL : baro_absent_name(v->absent);
}

/* Writes what `say` says of the values of a section, by their paths. */
static void write_paths(struct json *j, const struct baro_summary *s, int number,
                        const char *say(const struct baro_value *v))
{
    const struct baro_section *section = baro_summary_section(number);
    struct baro_value v;
    char path[128], index[24] = "";
    for (size_t row = 0; is_in_json(s, section) && row < baro_summary_rows(s, number); row++) {
        for (int i = section->first_fact; i < section->first_fact + section->fact_count; i++) {
            baro_summary_value(s, i, row, &v);
            if (!say(&v) || !baro_summary_fact(i)->in_json)
                continue;
            if (section->is_table)
                snprintf(index, sizeof(index), "%zu.", row);
            snprintf(path, sizeof(path), "%s%s%s%s", section->name, *section->name ? "." : "", index,
                     baro_summary_fact(i)->name);
            json_key_text(j, path, say(&v));
        }
    }
}

void summary_json_members(const struct baro_summary *s, const char *tape, struct json *j)
{
    json_key_u64(j, "format", 2);
    json_key_text(j, "tape", tape);
    json_key_begin(j, "tags", '{');
    for (size_t i = 0; i < s->subject.n_tags; i++)
        json_key_pair(j, s->subject.tags[i]);
    json_end(j, '}');
    for (int i = 0; i < baro_summary_section_count();) {
        const struct baro_section *section = baro_summary_section(i);
        if (!is_in_json(s, section)) {
            i++;
        } else if (*section->name) {
            i = write_section(j, s, i);
        } else {
            write_row(j, s, section, 0);
            i++;
        }
    }
    static const struct {
        const char *name;
        const char *(*say)(const struct baro_value *v);
    } members[] = {{"marks", mark_of}, {"absent", reason_of}};
    for (size_t k = 0; k < sizeof(members) / sizeof(*members); k++) {
        json_key_begin(j, members[k].name, '{');
        for (int i = 0; i < baro_summary_section_count(); i++)
            write_paths(j, s, i, members[k].say);
        json_end(j, '}');
    }
}

void summary_json(const struct baro_summary *s, const char *tape, struct json *j)
{
    json_begin(j, '{');
    summary_json_members(s, tape, j);
    json_end(j, '}');
}

int baro_summary_json(const struct baro_summary *summary, const char *tape_name, baro_sink *sink, void *context,
                      struct baro_error *err)
{
    struct buf text = {0};
    struct json json = {.out = &text, .pretty = true};
    summary_json(summary, tape_name, &json);
    int code = text.failed ? error_set(err, -ENOMEM, "out of memory") : sink(context, (const char *)text.at, text.len);
    buf_done(&text);
    return code;
}
