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
        return error_set(err, BARO_E_RANGE, "more than %d of --match, --name and --exact", SETTINGS_RULES_MAX);
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

int select_take_name(void *at, const char *text, struct baro_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return error_set(err, BARO_E_SYNTAX, "'%.80s' is not NAME=REGEX", text);
    return take_rule(at, &(struct rule_setting){.name = text, .name_len = (int)(equals - text), .text = equals + 1},
                     err);
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
