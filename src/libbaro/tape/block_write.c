/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "libbaro/tape/block.h"

static void write_text(struct buf *out, const char *text, size_t len)
{
    buf_varint(out, len);
    buf_add(out, text, len);
}

static void write_cmdline(struct buf *out, const char *cmdline, bool cut)
{
    if (!cmdline) {
        buf_byte(out, CMDLINE_NONE);
        return;
    }
    size_t len = strlen(cmdline);
    bool front = cut && len > CMDLINE_CUT;
    buf_byte(out, front ? CMDLINE_FRONT : CMDLINE_WHOLE);
    write_text(out, cmdline, front ? CMDLINE_CUT : len);
}

/* Writes differences: ids, pids and start times mostly rise from one to the next. */
static void write_identity(struct buf *out, struct block *b, uint32_t id, struct baro_key key)
{
    buf_zigzag(out, (int32_t)(id - b->id));
    buf_zigzag(out, (int64_t)key.pid - b->pid);
    buf_zigzag(out, (int64_t)(key.start - b->start));
    b->id = id;
    b->pid = key.pid;
    b->start = key.start;
}

static void write_parent(struct buf *out, struct baro_key key, struct baro_key parent)
{
    buf_zigzag(out, parent.pid);
    buf_zigzag(out, (int64_t)(key.start - parent.start));
}

void info_write(struct buf *out, struct block *b, const struct baro_process *p, bool cut)
{
    write_identity(out, b, p->id, p->key);
    write_parent(out, p->key, p->parent);
    buf_varint(out, (uint32_t)(p->uid + 1));
    buf_byte(out, (uint8_t)p->origin);
    buf_zigzag(out, (int64_t)(p->first_ns - b->first_ns));
    b->first_ns = p->first_ns;
    buf_varint(out, p->info_version);
    const char *name = p->name ? p->name : "";
    write_text(out, name, strlen(name));
    buf_byte(out, p->cmdline_absent);
    write_cmdline(out, p->cmdline, cut);
}

/* Writes the owner with its length, so that a reader can skip an unknown one. */
static void write_owner(struct buf *out, const struct baro_entity_owner *owner)
{
    uint8_t body[32];
    struct buf b = {.at = body, .cap = sizeof body};
    if (owner->kind == BARO_OWNER_PROCESS) {
        buf_zigzag(&b, owner->process.pid);
        buf_varint(&b, owner->process.start);
    } else if (owner->kind == BARO_OWNER_ENTITY) {
        buf_varint(&b, owner->id);
    }
    buf_byte(out, (uint8_t)owner->kind);
    buf_varint(out, b.len);
    buf_add(out, b.at, b.len);
}

void entity_info_write(struct buf *out, uint32_t *last_id, const struct baro_entity *e, bool whole)
{
    const char *name = e->name ? e->name : "", *label = e->label ? e->label : "";
    buf_zigzag(out, (int32_t)(e->id - *last_id));
    *last_id = e->id;
    buf_varint(out, e->info_version);
    write_text(out, name, strlen(name));
    write_text(out, label, strlen(label));
    if (!whole)
        return;
    write_owner(out, &e->owner);
    attributes_write(out, e->attribute, e->n_attributes);
}

void exit_write(struct buf *out, struct block *b, const struct tape_columns *c, const struct baro_exit *e,
                bool texts_known)
{
    buf_zigzag(out, (int64_t)(e->t_ns - b->t_ns));
    write_identity(out, b, e->id, e->key);
    write_parent(out, e->key, e->parent);
    buf_varint(out, (uint32_t)(e->uid + 1));
    buf_byte(out, (uint8_t)e->origin);
    buf_byte(out, (uint8_t)e->source);
    buf_byte(out, (uint8_t)((e->sampled ? EXIT_SAMPLED : 0) | (e->status_known ? EXIT_STATUS : 0) |
                            (texts_known ? EXIT_TEXTS : 0)));
    if (e->status_known)
        buf_zigzag(out, e->status);
    if (!texts_known) {
        const char *name = e->name ? e->name : "";
        write_text(out, name, strlen(name));
        write_cmdline(out, e->cmdline, false);
    }
    row_write(out, c, b->exit.value, b->exit.absent, e->value, e->absent, 0);
    memcpy(b->exit.value, e->value, sizeof e->value);
    memcpy(b->exit.absent, e->absent, sizeof e->absent);
}

void event_write(struct buf *out, const struct block *b, const struct baro_event *e, struct span attributes)
{
    buf_zigzag(out, (int64_t)(e->t_ns - b->t_ns));
    buf_varint(out, (uint64_t)e->kind);
    buf_zigzag(out, e->key.pid);
    buf_varint(out, e->key.start);
    buf_varint(out, e->number);
    write_text(out, e->text ? e->text : "", e->text ? strlen(e->text) : 0);
    buf_add(out, attributes.at, attributes.len);
}
