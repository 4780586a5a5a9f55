/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/options_select.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/passwd.h"
#include "base/span.h"
#include "programs/common/settings.h"

const char *const select_match_ons[] = {"cmdline", "exe", "comm", NULL};

static int take_rule(struct select_settings *s, const struct rule_setting *rule, struct baro_error *err)
{
    if (s->n_rules == SETTINGS_RULES_MAX)
        return error_set(err, BARO_E_RANGE, "more than %d of --match, --task and --exact", SETTINGS_RULES_MAX);
    s->rules[s->n_rules++] = *rule;
    return 0;
}

int select_take_match(void *at, const char *text, struct baro_error *err)
{
    return take_rule(at, &(struct rule_setting){.text = text}, err);
}

int select_take_exact(void *at, const char *text, struct baro_error *err)
{
    return take_rule(at, &(struct rule_setting){.text = text, .is_name = true}, err);
}

int select_take_task(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    const char *regex = task_rule_text(text);
    const struct rule_setting rule = {
        .name = text, .name_len = regex ? (int)(regex - 1 - text) : 0, .text = regex, .is_task = true};
    if (regex)
        return take_rule(&s->select, &rule, err);
    s->select.old = "--task FILE is --tasks FILE now, and --task is NAME=REGEX";
    return select_take_file(&s->select, text, err);
}

int select_take_name(void *at, const char *text, struct baro_error *err)
{
    struct record_settings *s = at;
    (void)err;
    s->name = text;
    return 0;
}

/* ---- rules ---- */

static enum match_on on_of(const struct select_settings *s, const struct rule_setting *rule)
{
    return rule->is_task && s->on == MATCH_CMDLINE ? MATCH_EITHER : (enum match_on)s->on;
}

int select_rules(const struct select_settings *s, struct rules *ret, struct buf *ret_lines, struct baro_error *err)
{
    static const char *const ons[] = {"cmdline", "exe", "comm", "either"};
    char name[TASK_NAME_MOST + 1];
    for (int i = 0; i < s->n_rules; i++) {
        const struct rule_setting *rule = &s->rules[i];
        snprintf(name, sizeof(name), "%.*s", rule->name_len, rule->name ? rule->name : "");
        const struct rule_request request = {rule->name ? name : NULL, rule->text, rule->is_name,
                                             on_of(s, rule),           s->has_uid, s->uid};
        int code = rules_add(ret, &request, err);
        if (code < 0)
            return code;
        ret->task[ret->at[ret->n - 1].task].whole = s->children;
        task_lines_add(ret_lines,
                       &(struct task_line){request.task ? request.task : rule->text, rule->text, ons[request.on],
                                           rule->is_name, s->children || rule->is_task, s->has_uid, s->uid});
    }
    buf_byte(ret_lines, 0);
    return ret_lines->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int select_take_under(void *at, const char *text, struct baro_error *err)
{
    return parse_pid(text, at, err);
}

int select_take_file(void *at, const char *text, struct baro_error *err)
{
    struct select_settings *s = at;
    if (s->file)
        return error_set(err, BARO_E_RANGE, "given twice; put all tasks of a job into one file");
    s->file = text;
    return 0;
}

int select_take_user(void *at, const char *text, struct baro_error *err)
{
    struct select_settings *s = at;
    struct span digits = span_str(text);
    uint64_t uid;
    s->has_uid = scan_u64(&digits, &uid) && digits.len == 0 && uid < UINT32_MAX;
    if (s->has_uid) {
        s->uid = (uint32_t)uid;
        return 0;
    }
    struct passwd_user user;
    int code = passwd_by_name(PASSWD_FILE, text, &user);
    if (code < 0)
        return error_set(err, code, "can't look up '%.64s' in %s: %s; write the user's number", text, PASSWD_FILE,
                         strerror(-code));
    if (!code)
        return error_set(err, -ENOENT, "%s has no user '%.64s'; a number does as well", PASSWD_FILE, text);
    s->has_uid = true;
    s->uid = user.uid;
    return 0;
}
