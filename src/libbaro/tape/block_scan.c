/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "libbaro/tape/block.h"

bool scan_text(struct span *in, struct span *ret)
{
    uint64_t len;
    if (!scan_varint(in, &len) || len > in->len)
        return false;
    *ret = span_of(in->at, (size_t)len);
    in->at += len;
    in->len -= (size_t)len;
    return len == 0 || memchr(ret->at, 0, ret->len) == NULL;
}

bool scan_byte(struct span *in, unsigned *ret)
{
    if (in->len == 0)
        return false;
    *ret = (unsigned char)*in->at++;
    in->len--;
    return true;
}

static bool scan_pid(struct span *in, int64_t base, int32_t *ret)
{
    int64_t v;
    if (!scan_zigzag(in, &v) || __builtin_add_overflow(v, base, &v) || v < INT32_MIN || v > INT32_MAX)
        return false;
    *ret = (int32_t)v;
    return true;
}

static bool scan_delta(struct span *in, uint64_t base, uint64_t *ret)
{
    int64_t v;
    if (!scan_zigzag(in, &v))
        return false;
    *ret = base + (uint64_t)v;
    return true;
}

static bool scan_identity(struct span *in, struct block *b, uint32_t *ret_id, struct baro_key *ret_key)
{
    uint64_t id;
    if (!scan_delta(in, b->id, &id) || !scan_pid(in, b->pid, &ret_key->pid) ||
        !scan_delta(in, b->start, &ret_key->start))
        return false;
    *ret_id = b->id = (uint32_t)id;
    b->pid = ret_key->pid;
    b->start = ret_key->start;
    return true;
}

static bool scan_parent(struct span *in, struct baro_key key, struct baro_key *ret)
{
    int64_t before;
    if (!scan_pid(in, 0, &ret->pid) || !scan_zigzag(in, &before))
        return false;
    ret->start = key.start - (uint64_t)before;
    return true;
}

static bool scan_uid(struct span *in, uint32_t *ret)
{
    uint64_t v;
    if (!scan_varint(in, &v) || v > UINT32_MAX)
        return false;
    *ret = (uint32_t)v - 1;
    return true;
}

/* Reads a small number. A newer writer may have more values than this reader, which uses `unknown` for them. */
static bool scan_small(struct span *in, unsigned max, unsigned unknown, unsigned *ret)
{
    if (!scan_byte(in, ret))
        return false;
    if (*ret >= max)
        *ret = unknown;
    return true;
}

static bool scan_cmdline(struct span *in, enum cmdline_form *ret_form, struct span *ret)
{
    unsigned form;
    *ret = span_of("", 0);
    if (!scan_byte(in, &form) || form >= CMDLINE_FORM_MAX)
        return false;
    *ret_form = (enum cmdline_form)form;
    return form == CMDLINE_NONE || scan_text(in, ret);
}

static bool scan_owner(struct span *in, struct baro_entity_owner *ret)
{
    unsigned kind;
    uint64_t len, id = 0;
    *ret = (struct baro_entity_owner){0};
    if (!scan_byte(in, &kind) || !scan_varint(in, &len) || len > in->len)
        return false;
    struct span body = span_of(in->at, (size_t)len);
    *in = span_of(in->at + len, in->len - (size_t)len);
    if (kind > BARO_OWNER_ENTITY)
        return true;
    ret->kind = (enum baro_owner)kind;
    if (kind == BARO_OWNER_PROCESS)
        return scan_pid(&body, 0, &ret->process.pid) && scan_varint(&body, &ret->process.start);
    if (kind == BARO_OWNER_ENTITY && (!scan_varint(&body, &id) || id > UINT32_MAX))
        return false;
    ret->id = (uint32_t)id;
    return true;
}

bool entity_info_scan(struct span *in, uint32_t *last_id, bool whole, struct entity_info *ret)
{
    uint64_t id, version;
    ret->owner = (struct baro_entity_owner){0};
    ret->attributes = span_of("", 0);
    if (!scan_delta(in, *last_id, &id) || !scan_varint(in, &version) || !scan_text(in, &ret->name) ||
        !scan_text(in, &ret->label))
        return false;
    ret->id = *last_id = (uint32_t)id;
    ret->info_version = (uint32_t)version;
    return !whole || (scan_owner(in, &ret->owner) && attributes_scan(in, &ret->attributes));
}

bool info_scan(struct span *in, struct block *b, struct info *ret)
{
    struct baro_process *p = &ret->p;
    unsigned origin, absent;
    uint64_t version;
    if (!scan_identity(in, b, &p->id, &p->key) || !scan_parent(in, p->key, &p->parent) || !scan_uid(in, &p->uid) ||
        !scan_small(in, ORIGIN_COUNT, BARO_ORIGIN_SCAN, &origin) || !scan_delta(in, b->first_ns, &p->first_ns) ||
        !scan_varint(in, &version) || version > UINT32_MAX || !scan_text(in, &ret->name) ||
        !scan_small(in, ABSENT_COUNT, BARO_ABSENT_UNKNOWN, &absent) || !scan_cmdline(in, &ret->form, &ret->cmdline))
        return false;
    b->first_ns = p->first_ns;
    p->origin = (enum baro_origin)origin;
    p->info_version = (uint32_t)version;
    p->cmdline_absent = (uint8_t)absent;
    return true;
}

static bool scan_exit_facts(struct span *in, struct baro_exit *ret, bool *ret_known)
{
    unsigned origin, source, flags;
    int64_t status = 0;
    if (!scan_uid(in, &ret->uid) || !scan_small(in, ORIGIN_COUNT, BARO_ORIGIN_SCAN, &origin) ||
        !scan_small(in, EXIT_SOURCE_COUNT, BARO_EXIT_LAST_SAMPLE, &source) || !scan_byte(in, &flags))
        return false;
    if ((flags & EXIT_STATUS) && (!scan_zigzag(in, &status) || status < INT32_MIN || status > INT32_MAX))
        return false;
    ret->origin = (enum baro_origin)origin;
    ret->source = (enum baro_exit_source)source;
    ret->sampled = flags & EXIT_SAMPLED;
    ret->status_known = flags & EXIT_STATUS;
    ret->status = (int)status;
    *ret_known = flags & EXIT_TEXTS;
    return true;
}

bool exit_scan(struct span *in, struct block *b, const struct tape_columns *c, struct baro_exit *ret,
               struct exit_texts *ret_texts)
{
    unsigned flags;
    if (!scan_delta(in, b->t_ns, &ret->t_ns) || !scan_identity(in, b, &ret->id, &ret->key) ||
        !scan_parent(in, ret->key, &ret->parent) || !scan_exit_facts(in, ret, &ret_texts->known))
        return false;
    if (!ret_texts->known &&
        (!scan_text(in, &ret_texts->name) || !scan_cmdline(in, &ret_texts->form, &ret_texts->cmdline)))
        return false;
    return row_scan(in, c, b->exit.value, b->exit.absent, &flags);
}

bool event_scan(struct span *in, const struct block *b, struct baro_event *ret, struct span *ret_text,
                struct span *ret_attributes)
{
    uint64_t kind;
    if (!scan_delta(in, b->t_ns, &ret->t_ns) || !scan_varint(in, &kind) || !scan_pid(in, 0, &ret->key.pid) ||
        !scan_varint(in, &ret->key.start) || !scan_varint(in, &ret->number) || !scan_text(in, ret_text))
        return false;
    ret->kind = kind < EVENT_KIND_COUNT ? (enum baro_event_kind)kind : (enum baro_event_kind)EVENT_KIND_COUNT;
    *ret_attributes = span_of("", 0);
    return in->len == 0 || attributes_scan(in, ret_attributes);
}
