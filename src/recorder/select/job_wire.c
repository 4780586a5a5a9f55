/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/select/job_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct job_numbers {
    int32_t under;
    uint32_t n_tasks, n_rules, n_pins, text_len;
};

struct rule_numbers {
    uint32_t task, uid, on;
    bool is_name, has_uid;
};

struct pin_numbers {
    uint32_t kind;
    int32_t pid;
    uint64_t start;
    uint8_t task;
    bool v2; /* of the control group */
};

/* ---- encoding ---- */

static const char *pin_text(const struct pin *pin)
{
    return pin->kind == PIN_GROUP ? pin->place->dir : pin->kind == PIN_FILE ? pin->path : "";
}

static size_t text_length(const struct select_options *o)
{
    size_t n = 0;
    for (size_t i = 0; i < o->rules->n; i++)
        n += strlen(o->rules->at[i].text) + 1;
    for (size_t i = 0; i < o->n_pins; i++)
        n += strlen(pin_text(&o->pins[i])) + 1;
    return n;
}

void select_job_encode(struct buf *ret, const struct select_options *o)
{
    const struct job_numbers numbers = {o->under, (uint32_t)o->rules->n_tasks, (uint32_t)o->rules->n,
                                        (uint32_t)o->n_pins, (uint32_t)text_length(o)};
    buf_add(ret, &numbers, sizeof(numbers));
    buf_add(ret, o->rules->task, o->rules->n_tasks * sizeof(*o->rules->task));
    for (size_t i = 0; i < o->rules->n; i++) {
        const struct rule *r = &o->rules->at[i];
        const struct rule_numbers rule = {r->task, r->uid, r->on, r->is_name, r->has_uid};
        buf_add(ret, &rule, sizeof(rule));
    }
    for (size_t i = 0; i < o->n_pins; i++) {
        const struct pin *p = &o->pins[i];
        const struct pin_numbers pin = {p->kind, p->pid, p->start, p->task, p->kind == PIN_GROUP && p->place->v2};
        buf_add(ret, &pin, sizeof(pin));
    }
    for (size_t i = 0; i < o->rules->n; i++)
        buf_add(ret, o->rules->at[i].text, strlen(o->rules->at[i].text) + 1);
    for (size_t i = 0; i < o->n_pins; i++)
        buf_add(ret, pin_text(&o->pins[i]), strlen(pin_text(&o->pins[i])) + 1);
}

/* ---- decoding ---- */

static bool take_bytes(struct span *s, void *ret, size_t len)
{
    if (s->len < len)
        return false;
    memcpy(ret, s->at, len);
    *s = span_of(s->at + len, s->len - len);
    return true;
}

/* The next text; NULL: there is none. */
static char *next_text(struct select_job *j, size_t *at)
{
    char *text = j->text + *at, *end = memchr(text, 0, j->text_len - *at);
    *at += end ? (size_t)(end - text) + 1 : 0;
    return end ? text : NULL;
}

static bool take_tasks(struct select_job *j, struct span *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct rule_task task;
        if (!take_bytes(s, &task, sizeof(task)) || !memchr(task.name, 0, sizeof(task.name)) ||
            rules_task(&j->rules, task.name, NULL) < 0)
            return false;
        j->watch.whole[i + 1] = task.whole;
    }
    return true;
}

static bool take_rules(struct select_job *j, struct span numbers, uint32_t n, size_t *at)
{
    for (uint32_t i = 0; i < n; i++) {
        struct rule_numbers r;
        const char *text = next_text(j, at);
        if (!take_bytes(&numbers, &r, sizeof(r)) || !text || r.task >= j->rules.n_tasks)
            return false;
        const struct rule_request request = {j->rules.task[r.task].name, text,      r.is_name,
                                             (enum match_on)r.on,        r.has_uid, r.uid};
        if (rules_add(&j->rules, &request, NULL) < 0)
            return false;
        j->watch.first_rule =
            !j->watch.first_rule || r.task + 1 < j->watch.first_rule ? (uint8_t)(r.task + 1) : j->watch.first_rule;
    }
    return true;
}

static bool take_pins(struct select_job *j, struct span numbers, uint32_t n, size_t *at)
{
    size_t groups = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct pin_numbers p;
        const char *text = next_text(j, at);
        if (!take_bytes(&numbers, &p, sizeof(p)) || !text || p.kind > PIN_GROUP || !p.task)
            return false;
        j->pin[i] =
            (struct pin){.kind = (enum pin_kind)p.kind, .task = p.task, .pid = p.pid, .start = p.start, .path = text};
        j->watch.whole[p.task] = true;
        if (p.kind != PIN_GROUP)
            continue;
        struct cgroup_location *place = &j->places[groups++];
        if (strlen(text) >= sizeof(place->dir))
            return false;
        memcpy(place->dir, text, strlen(text) + 1);
        place->v2 = p.v2;
        j->pin[i].place = place;
        j->watch.firm[p.task] = true;
    }
    return true;
}

static size_t groups_of(struct span numbers, uint32_t n)
{
    size_t groups = 0;
    struct pin_numbers p;
    while (n-- && take_bytes(&numbers, &p, sizeof(p)))
        groups += p.kind == PIN_GROUP;
    return groups;
}

static bool decode(struct select_job *j, struct span s)
{
    struct job_numbers n;
    size_t at = 0;
    if (!take_bytes(&s, &n, sizeof(n)) || !take_tasks(j, &s, n.n_tasks))
        return false;
    size_t of_rules = n.n_rules * sizeof(struct rule_numbers), of_pins = n.n_pins * sizeof(struct pin_numbers);
    if (s.len != of_rules + of_pins + n.text_len)
        return false;
    struct span rules = span_of(s.at, of_rules), pins = span_of(s.at + of_rules, of_pins);
    j->watch.under = n.under;
    j->text_len = n.text_len;
    j->text = malloc(j->text_len + 1);
    j->pin = calloc(n.n_pins + 1, sizeof(*j->pin));
    j->places = calloc(groups_of(pins, n.n_pins) + 1, sizeof(*j->places));
    if (!j->text || !j->pin || !j->places)
        return false;
    memcpy(j->text, s.at + of_rules + of_pins, j->text_len);
    if (!take_rules(j, rules, n.n_rules, &at) || !take_pins(j, pins, n.n_pins, &at))
        return false;
    j->pins.pin = j->pin;
    j->pins.n = n.n_pins;
    return true;
}

int select_job_decode(struct select_job **ret, uint32_t id, struct span bytes)
{
    struct select_job *j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    j->watch.id = id;
    if (!decode(j, bytes)) {
        select_job_free(j);
        return -EINVAL;
    }
    *ret = j;
    return 0;
}

void select_job_free(struct select_job *j)
{
    if (!j)
        return;
    pins_done(&j->pins);
    rules_done(&j->rules);
    free(j->pin);
    free(j->places);
    free(j->text);
    free(j);
}
