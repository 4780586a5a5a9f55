/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/sample/limit.h"

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"

static const char *const names[LIMIT_KINDS] = {"memory", "rss", "cpu", "wall", "processes"};

const char *limit_name(enum limit_kind kind)
{
    return names[kind];
}

int limit_find(const char *name, size_t len)
{
    for (int i = 0; i < LIMIT_KINDS; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return i;
    }
    return -1;
}

static uint64_t number(const struct baro_event *e, const char *name, bool *ret_is)
{
    struct baro_attribute a;
    *ret_is = baro_event_attribute_find(e, name, &a) == 0 && a.type == BARO_ATTRIBUTE_UNSIGNED;
    return *ret_is ? a.u64 : 0;
}

static const char *text(const struct baro_event *e, const char *name)
{
    struct baro_attribute a;
    return baro_event_attribute_find(e, name, &a) == 0 && a.type == BARO_ATTRIBUTE_TEXT ? a.text : "";
}

bool limit_read(const struct baro_event *e, struct limit_reached *ret)
{
    const char *name = baro_event_text(e);
    int kind = e->kind == BARO_EVENT_LIMIT ? limit_find(name, strlen(name)) : -1;
    bool is;
    if (kind < 0)
        return false;
    *ret = (struct limit_reached){
        .kind = (enum limit_kind)kind, .t_ns = e->t_ns, .value = e->number, .by = text(e, ATTRIBUTE_LIMIT_BY)};
    ret->most = number(e, ATTRIBUTE_LIMIT_MOST, &is);
    ret->action = text(e, ATTRIBUTE_LIMIT_ACTION);
    ret->left = number(e, ATTRIBUTE_LIMIT_LEFT, &ret->is_kill);
    for (unsigned i = 0; i < LIMIT_HOLDERS; i++) {
        char holder[24], value[24];
        snprintf(holder, sizeof(holder), ATTRIBUTE_LIMIT_HOLDER, i + 1);
        snprintf(value, sizeof(value), ATTRIBUTE_LIMIT_HELD, i + 1);
        struct limit_holder h = {text(e, holder), number(e, value, &is)};
        if (is)
            ret->holder[ret->n_holders++] = h;
    }
    return true;
}

void limit_put_value(enum limit_kind kind, uint64_t value, struct buf *ret)
{
    if (kind <= LIMIT_RSS)
        fmt_bytes(ret, value);
    else if (kind == LIMIT_PROCESSES)
        fmt_count(ret, value);
    else
        fmt_duration(ret, value);
}

void limit_put_limit(enum limit_kind kind, uint64_t most, struct buf *ret)
{
    buf_printf(ret, "%s=", limit_name(kind));
    if (kind <= LIMIT_RSS)
        fmt_limit(ret, most);
    else
        limit_put_value(kind, most, ret);
}

void limit_put_use(const struct limit_reached *l, size_t holders, struct buf *ret)
{
    if (l->kind == LIMIT_WALL) /* it was reached after that time, and nobody holds it */
        return;
    buf_str(ret, ": ");
    limit_put_value(l->kind, l->value, ret);
    buf_str(ret, l->kind == LIMIT_CPU ? " of CPU time" : "");
    /* The kernel acts at once: the processes were read before. Example: 240 MB, and python3 had 138 MB 0.1 s earlier.
     */
    const char *first = l->kind == LIMIT_MEMORY ? "; largest when last read: " : "; largest: ";
    for (size_t i = 0; i < l->n_holders && i < holders; i++) {
        buf_printf(ret, "%s%s ", i ? ", " : first, *l->holder[i].name ? l->holder[i].name : "(not known)");
        limit_put_value(l->kind, l->holder[i].value, ret);
    }
}

void limit_put_sentence(const struct limit_reached *l, struct buf *ret)
{
    buf_str(ret, "limit ");
    limit_put_limit(l->kind, l->most, ret);
    buf_str(ret, " reached after ");
    fmt_duration(ret, l->t_ns);
    limit_put_use(l, LIMIT_HOLDERS, ret);
}
