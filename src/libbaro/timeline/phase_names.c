/* SPDX-License-Identifier: Apache-2.0 */
/* What identifies a phase and how it ended: its path, and the status of its command. */
#include <string.h>

#include "baro/text.h"
#include "libbaro/timeline/timeline.h"

#define SIGNALS 64

static const struct baro_timeline_item *phase_at(const struct baro_timeline *t, ptrdiff_t item)
{
    const struct baro_timeline_item *v = item >= 0 ? baro_timeline_get(t, (size_t)item) : NULL;
    return v && v->kind == BARO_TIMELINE_PHASE ? v : NULL;
}

/* Returns the phase around one. A phase of its own name stands beside it: workers that load at the same time are
 * "load", and not "load/load". */
static ptrdiff_t parent_of(const struct baro_timeline *t, const struct baro_timeline_item *v)
{
    const struct baro_timeline_item *parent;
    ptrdiff_t i = v->parent;
    while ((parent = phase_at(t, i)) && strcmp(parent->name, v->name) == 0)
        i = parent->parent;
    return i;
}

/* Parents are visited from the inside, so the path is filled from its end. */
size_t baro_timeline_path(const struct baro_timeline *t, size_t item, char *ret, size_t size)
{
    const struct baro_timeline_item *v;
    size_t len = 0, end;
    for (ptrdiff_t i = (ptrdiff_t)item; (v = phase_at(t, i)); i = parent_of(t, v))
        len += strlen(v->name) + (len ? 1 : 0);
    end = len;
    for (ptrdiff_t i = (ptrdiff_t)item; (v = phase_at(t, i)); i = parent_of(t, v)) {
        size_t n = strlen(v->name);
        end -= n;
        for (size_t k = 0; k < n && end + k + 1 < size; k++)
            ret[end + k] = v->name[k];
        if (end && end-- < size)
            ret[end] = '/';
    }
    if (size)
        ret[len < size ? len : size - 1] = 0;
    return len;
}

void timeline_put_path(const struct baro_timeline *t, size_t item, struct buf *ret)
{
    size_t len = baro_timeline_path(t, item, NULL, 0);
    if (!buf_reserve(ret, len + 1))
        return;
    baro_timeline_path(t, item, (char *)ret->at + ret->len, len + 1);
    ret->len += len;
}

static const struct baro_attribute *find(const struct baro_timeline_item *v, const char *name)
{
    for (size_t i = 0; i < v->attribute_count; i++) {
        if (strcmp(v->attribute[i].name, name) == 0)
            return &v->attribute[i];
    }
    return NULL;
}

/* The number of a signal that an attribute names as kill(1) does ("TERM"); 0: it names none. */
static int signal_of(const struct baro_attribute *a)
{
    const char *wanted = a && a->type == BARO_ATTRIBUTE_TEXT ? a->text : "";
    for (int number = 1; number <= SIGNALS; number++) {
        const char *name = baro_signal_name(number);
        if (name && (strcmp(name, wanted) == 0 || strcmp(name + strlen("SIG"), wanted) == 0))
            return number;
    }
    return 0;
}

static bool exit_status_of(const struct baro_attribute *a, int *ret)
{
    bool is_number = a && (a->type == BARO_ATTRIBUTE_UNSIGNED || a->type == BARO_ATTRIBUTE_SIGNED);
    uint64_t status = is_number && a->type == BARO_ATTRIBUTE_SIGNED ? (uint64_t)a->i64 : is_number ? a->u64 : 0;
    *ret = (int)(status & 0xff) << 8;
    return is_number && status <= 0xff;
}

enum baro_absent baro_timeline_status(const struct baro_timeline *t, size_t item, int *ret)
{
    const struct baro_timeline_item *v = phase_at(t, (ptrdiff_t)item);
    int status;
    if (!v)
        return BARO_ABSENT_UNSUPPORTED;
    if (exit_status_of(find(v, "status"), &status) || (status = signal_of(find(v, "signal"))) != 0) {
        *ret = status;
        return BARO_PRESENT;
    }
    if (v->is_open)
        return BARO_ABSENT_NOT_YET;
    return find(v, "signal") ? BARO_ABSENT_UNKNOWN : BARO_ABSENT_NONE;
}
