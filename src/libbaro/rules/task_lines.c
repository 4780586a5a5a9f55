/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/rules/task_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_scan.h"

/* A line: what kind it is, by the member with its text, and its attributes. */
struct line {
    const char *key, *text; /* NULL: of no kind that is known */
    const char *on;
    bool children, has_uid;
    uint64_t uid, line, column;
};

struct reading_lines {
    struct task_file *file;
    const char *path;
    size_t text_len, text_cap;
    int task; /* index of the last one */
    struct line of_task;
    struct baro_error *err;
};

/* ---- a line ---- */

static const char *take_text(struct reading_lines *r, struct span s, const char *key)
{
    char *at = r->file->text + r->text_len;
    size_t len;
    if (!json_member(&s, span_str(key)) || !json_string(&s, at, r->text_cap - r->text_len - 1, &len))
        return NULL;
    at[len] = 0;
    r->text_len += len + 1;
    return at;
}

static bool take_number(struct span s, const char *key, uint64_t *ret)
{
    return json_member(&s, span_str(key)) && scan_u64(&s, ret);
}

static bool parse_line(struct reading_lines *r, struct span s, struct line *ret)
{
    static const char *const keys[] = {"error", "job", "task", "match", "exact", "sandbox", "cgroup", "pidfile", "pid"};
    struct span children = s;
    *ret = (struct line){0};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !ret->text; i++) {
        ret->key = keys[i];
        ret->text = take_text(r, s, keys[i]);
    }
    ret->on = take_text(r, s, "on");
    ret->children = json_member(&children, span_str("children")) && json_literal(&children, "true");
    ret->has_uid = take_number(s, "uid", &ret->uid);
    take_number(s, "line", &ret->line);
    take_number(s, "column", &ret->column);
    return json_fault(s) == SIZE_MAX;
}

/* ---- what it says ---- */

static int place_error(const struct reading_lines *r, const struct line *l, const char *what)
{
    return error_set(r->err, BARO_E_SYNTAX, "%s:%u:%u: %s", r->path, (unsigned)l->line, (unsigned)l->column, what);
}

static enum match_on on_of(const char *word)
{
    if (word && strcmp(word, "exe") == 0)
        return MATCH_EXE;
    if (word && strcmp(word, "either") == 0)
        return MATCH_EITHER;
    return word && strcmp(word, "comm") == 0 ? MATCH_COMM : MATCH_CMDLINE;
}

static int take_rule(struct reading_lines *r, const struct line *l, bool is_name)
{
    struct baro_error why = BARO_ERROR_INIT;
    struct rules *rules = &r->file->rules;
    const struct rule_request request = {
        rules->task[r->task].name, l->text, is_name, on_of(r->of_task.on), r->of_task.has_uid,
        (uint32_t)r->of_task.uid};
    int code = rules_add(rules, &request, &why);
    if (rules->n == 1) {
        r->file->rule_line = (unsigned)l->line;
        r->file->rule_column = (unsigned)l->column;
    }
    return code < 0 ? place_error(r, l, why.text) : 0;
}

static int take_pin(struct reading_lines *r, const struct line *l, enum pin_kind kind)
{
    struct span digits = span_str(l->text);
    uint64_t pid = 0;
    if (kind == PIN_PID && (!scan_u64(&digits, &pid) || !pid || pid > INT32_MAX))
        return place_error(r, l, "no pid");
    if (r->file->n_pins == PINS_MOST)
        return place_error(r, l, "too many of pid, pidfile and cgroup; divide the file");
    struct task_file *f = r->file;
    if (array_reserve(&f->pin, f->n_pins + 1, &f->cap_pins, sizeof(*f->pin)) < 0)
        return place_error(r, l, "out of memory");
    f->pin[f->n_pins++] = (struct pin){.kind = kind,
                                       .task = (uint8_t)(r->task + 1),
                                       .pid = (int32_t)pid,
                                       .path = l->text,
                                       .line = (unsigned)l->line,
                                       .column = (unsigned)l->column};
    return 0;
}

static int take_sandbox(struct reading_lines *r, const struct line *l)
{
    struct task_file *f = r->file;
    if (f->n_sandboxes == SANDBOXES_MOST)
        return place_error(r, l, "too many sandboxes; divide the file");
    if (array_reserve(&f->sandbox, f->n_sandboxes + 1, &f->cap_sandboxes, sizeof(*f->sandbox)) < 0)
        return place_error(r, l, "out of memory");
    f->sandbox[f->n_sandboxes++] = (struct sandbox){(unsigned)r->task, l->text, (unsigned)l->line, (unsigned)l->column};
    return 0;
}

static int take_task_line(struct reading_lines *r, const struct line *l)
{
    struct baro_error why = BARO_ERROR_INIT;
    r->task = rules_task(&r->file->rules, l->text, &why);
    r->of_task = *l;
    if (r->task < 0)
        return place_error(r, l, why.text);
    r->file->rules.task[r->task].whole = l->children;
    return 0;
}

static int take_line(struct reading_lines *r, const struct line *l)
{
    static const struct {
        const char *key;
        enum pin_kind kind;
    } pins[] = {{"pid", PIN_PID}, {"pidfile", PIN_FILE}, {"cgroup", PIN_GROUP}};
    if (!l->text)
        return error_set(r->err, BARO_E_SYNTAX, "baro-tasks is of another version: install both together");
    if (strcmp(l->key, "error") == 0) {
        if (r->err) /* the text is escaped already */
            snprintf(r->err->text, sizeof(r->err->text), "%s", l->text);
        return BARO_E_SYNTAX;
    }
    if (strcmp(l->key, "job") == 0) {
        size_t n = strnlen(l->text, sizeof(r->file->job) - 1);
        memcpy(r->file->job, l->text, n);
        r->file->job[n] = 0;
        return 0;
    }
    if (strcmp(l->key, "task") == 0)
        return take_task_line(r, l);
    if (r->task < 0)
        return error_set(r->err, BARO_E_SYNTAX, "baro-tasks wrote what is not understood");
    if (strcmp(l->key, "match") == 0 || strcmp(l->key, "exact") == 0)
        return take_rule(r, l, l->key[0] == 'e');
    for (size_t i = 0; i < sizeof(pins) / sizeof(*pins); i++) {
        if (strcmp(l->key, pins[i].key) == 0)
            return take_pin(r, l, pins[i].kind);
    }
    return take_sandbox(r, l);
}

int task_file_parse(struct task_file *ret, const char *path, struct span lines, struct baro_error *err)
{
    struct reading_lines r = {.file = ret, .path = path, .text_cap = lines.len + 1, .task = -1, .err = err};
    struct span text;
    int code = 0;
    memset(ret, 0, sizeof(*ret));
    ret->text = malloc(r.text_cap);
    if (!ret->text)
        return error_set(err, -ENOMEM, "out of memory");
    while (code == 0 && lines.len) {
        struct line l;
        scan_line(&lines, &text);
        if (!text.len)
            continue;
        code = parse_line(&r, text, &l) ? take_line(&r, &l)
                                        : error_set(err, BARO_E_SYNTAX, "baro-tasks wrote what is not understood");
    }
    if (code == 0 && !ret->rules.n_tasks)
        code = error_set(err, BARO_E_SYNTAX, "baro-tasks found no task in %s", path);
    return code;
}

int task_file_take(struct task_file *ret, const char *path, const struct buf *lines, int status, struct baro_error *err)
{
    if (status == TASK_FILE_NOT_READ && !lines->len)
        return error_set(err, -ENOENT,
                         "the program baro-tasks, which reads task files, is not installed: it belongs "
                         "to a build with libyaml");
    if (lines->failed || !lines->len)
        return error_set(err, BARO_E_SYNTAX,
                         "%s can't be read: baro-tasks was killed, or took more than 5 s of "
                         "CPU time",
                         path);
    return task_file_parse(ret, path, span_of((const char *)lines->at, lines->len), err);
}

void task_file_done(struct task_file *f)
{
    rules_done(&f->rules);
    free(f->pin);
    free(f->sandbox);
    free(f->text);
    *f = (struct task_file){0};
}
