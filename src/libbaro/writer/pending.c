/* SPDX-License-Identifier: Apache-2.0 */
/* Exits and events that wait for the next commit: copies in the order in which they came, up to a fixed size. */
#include <string.h>

#include "libbaro/writer/writer_state.h"

struct item_head {
    uint32_t size; /* size of the whole item */
    bool is_exit, has_second;
    size_t attributes; /* bytes, after the texts */
};

static bool add_item(struct buf *b, bool is_exit, const void *body, size_t len, const char *first, const char *second)
{
    size_t first_len = strlen(first) + 1, second_len = second ? strlen(second) + 1 : 0;
    size_t size = sizeof(struct item_head) + len + first_len + second_len;
    if (size > PENDING_MAX - b->len || !buf_reserve(b, size))
        return false;
    struct item_head head = {(uint32_t)size, is_exit, second != NULL, 0};
    buf_add(b, &head, sizeof head);
    buf_add(b, body, len);
    buf_add(b, first, first_len);
    buf_add(b, second, second_len);
    return true;
}

/* A hash of the texts of a process: they are written again when it has changed. */
uint64_t texts_hash(const char *name, const char *cmdline)
{
    uint64_t h = 0xcbf29ce484222325ull;
    for (; name && *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
    h = (h ^ (cmdline ? 1 : 2)) * 0x100000001b3ull;
    for (; cmdline && *cmdline; cmdline++)
        h = (h ^ (unsigned char)*cmdline) * 0x100000001b3ull;
    return h ? h : 1;
}

void pending_exit(struct tape_writer *w, const struct baro_exit *e)
{
    if (!add_item(&w->pending.at, true, e, sizeof *e, e->name ? e->name : "", e->cmdline))
        w->lost_exits++;
}

/* Attributes are kept as the tape has them. */
static bool add_attributes(struct buf *b, size_t item, const struct baro_event *e)
{
    struct item_head head;
    size_t from = b->len;
    attributes_write(b, e->attribute, e->n_attributes);
    if (b->failed || b->len > PENDING_MAX)
        return false;
    memcpy(&head, b->at + item, sizeof head);
    head.attributes = b->len - from;
    head.size += (uint32_t)head.attributes;
    memcpy(b->at + item, &head, sizeof head);
    return true;
}

void pending_event(struct tape_writer *w, const struct baro_event *e)
{
    struct buf *b = &w->pending.at;
    size_t item = b->len;
    if (add_item(b, false, e, sizeof *e, e->text ? e->text : "", NULL) &&
        (e->n_attributes == 0 || add_attributes(b, item, e)))
        return;
    b->len = item;
    b->failed = false;
    w->lost_events++;
}

bool pending_next(const struct pending *p, size_t *at, struct pending_item *ret)
{
    if (*at >= p->at.len)
        return false;
    const unsigned char *from = p->at.at + *at;
    struct item_head head;
    memcpy(&head, from, sizeof head);
    *at += head.size;
    from += sizeof head;
    ret->is_exit = head.is_exit;
    if (head.is_exit) {
        memcpy(&ret->exit, from, sizeof ret->exit);
        ret->exit.name = (const char *)from + sizeof ret->exit;
        ret->exit.cmdline = head.has_second ? ret->exit.name + strlen(ret->exit.name) + 1 : NULL;
    } else {
        memcpy(&ret->event, from, sizeof ret->event);
        ret->event.text = (const char *)from + sizeof ret->event;
        ret->attributes = span_of(p->at.at + *at - head.attributes, head.attributes);
    }
    return true;
}

uint64_t pending_last_t(const struct pending *p, uint64_t otherwise)
{
    struct pending_item item;
    for (size_t at = 0; pending_next(p, &at, &item);)
        otherwise = item.is_exit ? item.exit.t_ns : item.event.t_ns;
    return otherwise;
}
