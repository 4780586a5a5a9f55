/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/scoped_fact.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "output/rows/escaped.h"
#include "programs/common/opt.h"

#define NAMES_MOST 64u

/* Short names of facts. The others are called as in the summary, with or without their unit: cpu, rss_peak. */
static const struct {
    const char *name, *fact;
} short_names[] = {
    {"processes", "processes_started"},
    {"read", "io_read_bytes"},
    {"written", "io_write_bytes"},
    {"rchar", "io_rchar_bytes"},
    {"status", "wait_status"},
    {"wchar", "io_wchar_bytes"},
    {"gpu_memory", "memory_job_peak_bytes"},
    {"gpu_busy", "busy_job_ns"},
};

const char *scoped_fact_of_short_name(const char *name)
{
    for (size_t i = 0; i < sizeof(short_names) / sizeof(*short_names); i++) {
        if (strcmp(short_names[i].name, name) == 0)
            return short_names[i].fact;
    }
    return NULL;
}

static size_t unit_length(const struct baro_fact *f)
{
    return f->unit == BARO_UNIT_NS ? strlen("_ns") : f->unit == BARO_UNIT_BYTES ? strlen("_bytes") : 0;
}

static const char *short_name(const struct baro_fact *f)
{
    for (size_t i = 0; i < sizeof(short_names) / sizeof(*short_names); i++) {
        if (strcmp(short_names[i].fact, f->name) == 0)
            return short_names[i].name;
    }
    return NULL;
}

static bool is_name_of(const struct baro_fact *f, const char *name)
{
    size_t n = strlen(f->name) - unit_length(f);
    const char *other = short_name(f);
    return strcmp(f->name, name) == 0 || (strncmp(f->name, name, n) == 0 && !name[n]) ||
           (other && strcmp(other, name) == 0);
}

static int unknown_fact(const char *scope, const char *word, struct baro_error *err)
{
    const char *names[NAMES_MOST + 1];
    char room[NAMES_MOST][40];
    struct buf list = {0};
    size_t n = 0;
    for (int i = 0; i < baro_runset_fact_count() && n < NAMES_MOST; i++) {
        const struct baro_fact *f = baro_runset_fact(i);
        if (strcmp(baro_runset_fact_scope(i), scope) != 0 || strstr(f->name, "_at_most"))
            continue;
        const char *other = short_name(f);
        size_t len = strlen(f->name) - unit_length(f);
        if (!other)
            memcpy(room[n], f->name, len < sizeof(*room) ? len : sizeof(*room) - 1);
        room[n][len < sizeof(*room) ? len : sizeof(*room) - 1] = 0;
        names[n] = other ? other : room[n];
        buf_printf(&list, "%s%s", n ? ", " : "", names[n]);
        n++;
    }
    names[n] = NULL;
    buf_byte(&list, 0);
    const char *near = opt_nearest(word, names);
    int code = near ? error_set(err, BARO_E_SYNTAX, "'%.40s' is no fact of a %s; did you mean %s? (baro help check)",
                                word, scope, near)
                    : error_set(err, BARO_E_SYNTAX, "'%.40s' is no fact of a %s: %s", word, scope,
                                list.failed ? "" : (const char *)list.at);
    buf_done(&list);
    return code;
}

static int find_fact(struct scoped_fact *l, const char *scope, const char *word, struct baro_error *err)
{
    for (int i = 0; i < baro_runset_fact_count(); i++) {
        const struct baro_fact *f = baro_runset_fact(i);
        if (strcmp(baro_runset_fact_scope(i), scope) != 0)
            continue;
        if (!l->fact && is_name_of(f, word)) {
            l->fact = f;
            l->number = i;
            l->scope = baro_runset_fact_scope(i);
        }
    }
    return l->fact ? 0 : unknown_fact(scope, word, err);
}

char *scoped_fact_trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n && strchr(" \t", text[n - 1]))
        text[--n] = 0;
    return text;
}

/* "command:cc1"; nothing: the job. Fills the name. */
static int take_scope(struct scoped_fact *l, const char *text, const char **ret, struct baro_error *err)
{
    static const char *const scopes[] = {"command", "phase", "task"};
    const char *colon = strchr(text, ':'), *name = colon ? colon + 1 : "";
    *ret = NULL;
    if (!*text)
        *ret = "job";
    for (size_t i = 0; colon && i < sizeof(scopes) / sizeof(*scopes); i++) {
        if (strlen(scopes[i]) == (size_t)(colon - text) && strncmp(text, scopes[i], (size_t)(colon - text)) == 0)
            *ret = scopes[i];
    }
    if (!*ret || (*text && !*name))
        return error_set(err, BARO_E_SYNTAX,
                         "'%.80s' is not command:NAME, phase:NAME or task:NAME, one of which may stand before the fact",
                         text);
    l->name = strdup(name);
    return l->name ? 0 : error_set(err, -ENOMEM, "out of memory");
}

int scoped_fact_parse(char *text, struct scoped_fact *ret, struct baro_error *err)
{
    const char *scope;
    char *fact = text + strlen(text);
    while (fact > text && !strchr(" \t", fact[-1]))
        fact--;
    if (fact > text)
        fact[-1] = 0;
    *ret = (struct scoped_fact){0};
    int code = take_scope(ret, fact > text ? scoped_fact_trimmed(text) : "", &scope, err);
    return code < 0 ? code : find_fact(ret, scope, fact, err);
}

bool scoped_fact_names(const struct scoped_fact *l, const struct baro_runset_row *row)
{
    struct buf name = {0};
    if (row->fact != l->fact || strcmp(row->scope, l->scope) != 0)
        return false;
    if (strcmp(l->name, row->name) == 0)
        return true;
    text_escaped(&name, row->name, strlen(row->name));
    buf_byte(&name, 0);
    const char *at = name.failed ? "" : (const char *)name.at;
    bool fits = strcmp(at, l->name) == 0 || (strpbrk(l->name, "*?") && fnmatch(l->name, at, 0) == 0);
    buf_done(&name);
    return fits;
}
