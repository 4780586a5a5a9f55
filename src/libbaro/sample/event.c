/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of events, and what their number and text mean. include/baro/event.h lists both. */
#include <inttypes.h>
#include <string.h>

#include "base/fmt.h"
#include "libbaro/sample/sample.h"

/* On the tape an event has one number and one text. This table names the attributes that they are; NULL: the kind
 * does not use it. */
static const struct event_kind {
    const char *name;
    const char *number;
    bool is_signed;
    const char *text;
} kinds[] = {
    [BARO_EVENT_START] = {"start", "cpu_ns", false, "name"},
    [BARO_EVENT_EXEC] = {"exec", NULL, false, "name"},
    [BARO_EVENT_SIGNAL] = {"signal", "signal", false, NULL},
    [BARO_EVENT_STOP] = {"stop", "signal", false, NULL},
    [BARO_EVENT_CONT] = {"cont", NULL, false, NULL},
    [BARO_EVENT_GAP] = {"gap", "duration_ns", false, "reason"},
    [BARO_EVENT_MISSED] = {"missed", "samples", false, NULL},
    [BARO_EVENT_LOSSY] = {"lossy", "times", false, "source"},
    [BARO_EVENT_THINNED] = {"thinned", "level", false, "what"},
    [BARO_EVENT_CLOCK_STEP] = {"clock_step", "step_ns", true, "message"},
    [BARO_EVENT_SUSPEND] = {"suspend", "duration_ns", false, "message"},
    [BARO_EVENT_WARNING] = {"warning", "number", false, "message"},
    [BARO_EVENT_WRAPPER_LOST] = {"wrapper_lost", NULL, false, "message"},
    [BARO_EVENT_SURVIVOR] = {"survivor", NULL, false, "name"},
    [BARO_EVENT_END] = {"end", "status", false, "how"},
    [BARO_EVENT_SOURCE] = {"source", "forks", false, "source"},
    [BARO_EVENT_OOM] = {"oom", "victims", false, "names"},
    [BARO_EVENT_MARK] = {"mark", NULL, false, "name"},
    [BARO_EVENT_PHASE_BEGIN] = {"phase_begin", NULL, false, "name"},
    [BARO_EVENT_PHASE_END] = {"phase_end", NULL, false, "name"},
    [BARO_EVENT_LIMIT] = {"limit", "value", false, "limit"},
};
_Static_assert(sizeof(kinds) / sizeof(*kinds) == EVENT_KIND_COUNT, "each kind of event has a row");

static const struct event_kind *kind_row(const struct baro_event *e)
{
    static const struct event_kind unknown = {"", "number", false, "text"};
    return (unsigned)e->kind < EVENT_KIND_COUNT ? &kinds[e->kind] : &unknown;
}

const char *baro_event_kind_name(enum baro_event_kind kind)
{
    return (unsigned)kind < EVENT_KIND_COUNT ? kinds[kind].name : "unknown";
}

enum baro_event_kind baro_event_kind_of(const struct baro_event *e)
{
    return e->kind;
}

uint64_t baro_event_t_ns(const struct baro_event *e)
{
    return e->t_ns;
}

int32_t baro_event_pid(const struct baro_event *e)
{
    return e->key.pid;
}

uint64_t baro_event_start_ticks(const struct baro_event *e)
{
    return e->key.start;
}

uint64_t baro_event_number(const struct baro_event *e)
{
    return e->number;
}

const char *baro_event_text(const struct baro_event *e)
{
    return e->text ? e->text : "";
}

static size_t from_kind(const struct event_kind *k)
{
    return (k->number != NULL) + (k->text != NULL);
}

size_t baro_event_attribute_count(const struct baro_event *e)
{
    return from_kind(kind_row(e)) + e->n_attributes;
}

/* The attributes that the number and the text stand for come first, then the attributes that were given with the
 * event. */
int baro_event_attribute(const struct baro_event *e, size_t i, struct baro_attribute *ret)
{
    const struct event_kind *k = kind_row(e);
    if (i >= baro_event_attribute_count(e))
        return BARO_E_RANGE;
    if (i >= from_kind(k)) {
        *ret = e->attribute[i - from_kind(k)];
        return 0;
    }
    if (k->number && i == 0) {
        enum baro_attribute_type type = k->is_signed ? BARO_ATTRIBUTE_SIGNED : BARO_ATTRIBUTE_UNSIGNED;
        *ret = (struct baro_attribute){.name = k->number, .type = type, .u64 = e->number, .i64 = (int64_t)e->number};
        return 0;
    }
    *ret = (struct baro_attribute){.name = k->text, .type = BARO_ATTRIBUTE_TEXT, .text = baro_event_text(e)};
    return 0;
}

int baro_event_attribute_find(const struct baro_event *e, const char *name, struct baro_attribute *ret)
{
    for (size_t i = 0; i < baro_event_attribute_count(e); i++) {
        struct baro_attribute a;
        if (baro_event_attribute(e, i, &a) == 0 && strcmp(a.name, name) == 0) {
            *ret = a;
            return 0;
        }
    }
    return BARO_E_RANGE;
}

void event_put_victim(const struct baro_event *e, struct buf *to)
{
    struct baro_attribute group, limit;
    buf_printf(to, "%s (pid %" PRId32 ")", e->text, e->key.pid);
    if (baro_event_attribute_find(e, ATTRIBUTE_OOM_GROUP, &group) < 0 || group.type != BARO_ATTRIBUTE_TEXT)
        return;
    buf_printf(to, " in %s", group.text);
    if (baro_event_attribute_find(e, ATTRIBUTE_OOM_LIMIT, &limit) < 0 || limit.type != BARO_ATTRIBUTE_UNSIGNED)
        return;
    buf_str(to, ", limit ");
    fmt_limit(to, limit.u64);
}
