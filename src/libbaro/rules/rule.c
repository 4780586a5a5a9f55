/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/rules/rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int rules_task(struct rules *r, const char *name, struct baro_error *err)
{
    if (!*name)
        return error_set(err, BARO_E_SYNTAX, "a task needs a name");
    if (strlen(name) >= TASK_NAME_MOST)
        return error_set(err, BARO_E_RANGE, "'%.20s...' is longer than %u bytes: give a name (--task NAME=REGEX)", name,
                         TASK_NAME_MOST - 1);
    for (size_t i = 0; i < r->n_tasks; i++) {
        if (strcmp(r->task[i].name, name) == 0)
            return (int)i;
    }
    if (r->n_tasks == TASKS_MOST)
        return error_set(err, BARO_E_RANGE, "more than %u tasks", TASKS_MOST);
    if (array_reserve(&r->task, r->n_tasks + 1, &r->cap_tasks, sizeof(*r->task)) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    r->task[r->n_tasks] = (struct rule_task){.name = ""};
    snprintf(r->task[r->n_tasks].name, TASK_NAME_MOST, "%s", name);
    return (int)r->n_tasks++;
}

static int make_regex(struct rule *rule, size_t steps, struct baro_error *err)
{
    rule->literal = regex_literal(rule->text);
    int code = regex_make(&rule->regex, rule->text, 0, err);
    if (code < 0 || steps + regex_size(rule->regex) <= RULES_STEPS_MOST)
        return code;
    regex_free(rule->regex);
    return error_set(err, BARO_E_RANGE,
                     "the regular expressions are too large together, or repeat too much: they "
                     "have more than %u steps",
                     RULES_STEPS_MOST);
}

/* "^cc1" begins a name, and is matched with the name alone: that is known of every process that was seen, a command
 * line is not. "^python3 -m unit" and "^/opt/" begin a command line. */
static enum match_on what_of(const struct rule_request *request)
{
    static const char of_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_(";
    const char *text = request->text;
    bool is_name = text[0] == '^' && text[1] && strchr(of_names, text[1]) && !strpbrk(text, " /");
    return request->on == MATCH_EITHER && is_name ? MATCH_COMM : request->on;
}

int rules_add(struct rules *r, const struct rule_request *request, struct baro_error *err)
{
    struct rule rule = {.text = request->text,
                        .is_name = request->is_name,
                        .on = what_of(request),
                        .has_uid = request->has_uid,
                        .uid = request->uid};
    if (r->n == RULES_MOST)
        return error_set(err, BARO_E_RANGE, "more than %u rules", RULES_MOST);
    if (!*request->text)
        return error_set(err, BARO_E_SYNTAX, "an empty text fits every process");
    if (array_reserve(&r->at, r->n + 1, &r->cap, sizeof(*r->at)) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    int code = rule.is_name ? 0 : make_regex(&rule, r->steps, err);
    if (code < 0)
        return code;
    int task = rules_task(r, request->task ? request->task : request->text, err);
    if (task < 0) {
        regex_free(rule.regex);
        return task;
    }
    rule.task = (unsigned)task;
    r->steps += rule.regex ? regex_size(rule.regex) : 0;
    r->at[r->n++] = rule;
    return 0;
}

void rules_done(struct rules *r)
{
    for (size_t i = 0; i < r->n; i++)
        regex_free(r->at[i].regex);
    free(r->at);
    free(r->task);
    *r = (struct rules){0};
}

static bool is_named(const struct known_command *c, const char *name)
{
    return strcmp(c->comm, name) == 0 || strcmp(c->exe_name, name) == 0 || strcmp(c->argv_name, name) == 0 ||
           (c->script_name && strcmp(c->script_name, name) == 0);
}

static bool fits_text(const struct rule *rule, const char *text)
{
    return *text && memmem(text, strlen(text), rule->literal.at, rule->literal.len) && regex_fits(rule->regex, text);
}

static bool fits(const struct rule *rule, const struct known_command *c)
{
    if (rule->has_uid && !(c->has_uid && c->uid == rule->uid))
        return false;
    if (rule->is_name)
        return is_named(c, rule->text);
    switch (rule->on) {
    case MATCH_EITHER: return fits_text(rule, c->comm) || fits_text(rule, c->cmdline);
    case MATCH_EXE: return fits_text(rule, c->exe);
    case MATCH_COMM: return fits_text(rule, c->comm);
    default: return fits_text(rule, c->cmdline);
    }
}

unsigned rules_match(const struct rules *r, const struct known_command *c)
{
    unsigned found = 0;
    for (size_t i = 0; i < r->n; i++) {
        unsigned task = r->at[i].task + 1;
        if ((!found || task < found) && fits(&r->at[i], c))
            found = task;
    }
    return found;
}

/* May a text that is not known fit? A script has its own name, and the executable of its interpreter. */
static bool is_undecided(const struct rule *rule, const struct known_command *c)
{
    if (!c->comm && (rule->is_name || rule->on == MATCH_COMM || rule->on == MATCH_EITHER))
        return true;
    if (rule->is_name || rule->on == MATCH_CMDLINE || rule->on == MATCH_EITHER)
        return !c->cmdline;
    return rule->on == MATCH_EXE && !c->exe;
}

static bool fits_known(const struct rule *rule, const struct known_command *c)
{
    struct known_command known = *c;
    const char **texts[] = {&known.cmdline, &known.exe, &known.comm, &known.exe_name, &known.argv_name};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        *texts[i] = *texts[i] ? *texts[i] : "";
    return fits(rule, &known);
}

/* Returns 2 if the command fits, 1 if it may fit, 0 if it does not. */
static int may_fit(const struct rule *rule, const struct known_command *c)
{
    if (rule->has_uid && c->has_uid && c->uid != rule->uid)
        return 0;
    if (rule->has_uid && !c->has_uid)
        return 1;
    return fits_known(rule, c) ? 2 : is_undecided(rule, c);
}

unsigned rules_judge(const struct rules *r, const struct known_command *c, bool ret_may[TASKS_MOST])
{
    int best[TASKS_MOST];
    bool any = false;
    memset(best, 0, r->n_tasks * sizeof(*best));
    memset(ret_may, 0, r->n_tasks * sizeof(*ret_may));
    for (size_t i = 0; i < r->n; i++) {
        int fit = may_fit(&r->at[i], c), *of_task = &best[r->at[i].task];
        *of_task = fit > *of_task ? fit : *of_task;
    }
    for (unsigned t = 0; t < r->n_tasks; t++) {
        if (best[t] == 2 && !any)
            return t + 1;
        ret_may[t] = best[t] > 0;
        any |= ret_may[t];
        if (best[t] == 2)
            return 0; /* it belongs to no later task */
    }
    return 0;
}

bool rules_need(const struct rules *r, enum match_on what)
{
    for (size_t i = 0; i < r->n; i++) {
        enum match_on on = r->at[i].on;
        if (r->at[i].is_name || on == what || (on == MATCH_EITHER && what != MATCH_EXE))
            return true;
    }
    return false;
}

bool rules_need_user(const struct rules *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->at[i].has_uid)
            return true;
    }
    return false;
}

void command_join(char *at, size_t len)
{
    while (len && !at[len - 1])
        len--;
    for (size_t i = 0; i < len; i++)
        at[i] = at[i] ? at[i] : ' ';
    at[len] = 0;
}

bool command_script(const char *at, size_t len, const char *comm, char *ret, size_t cap)
{
    *ret = 0;
    if (strlen(comm) != COMM_MOST)
        return false;
    const char *end = at + len, *word = at;
    for (int i = 0; i < 3 && word < end; i++) {
        size_t n = strnlen(word, (size_t)(end - word)), base = n;
        while (base && word[base - 1] != '/')
            base--;
        if (i && n - base > COMM_MOST && n - base < cap && memcmp(word + base, comm, COMM_MOST) == 0) {
            memcpy(ret, word + base, n - base);
            ret[n - base] = 0;
            return true;
        }
        word += n + 1;
    }
    return false;
}
