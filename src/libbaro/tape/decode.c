/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses the frames of a block and decodes their records one by one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

#include "libbaro/sample/row.h"
#include "libbaro/tape/cursor.h"
#include "libbaro/tape/header_fields.h"

static int unpack(struct baro_tape *t, const uint8_t *at, size_t len)
{
    enum { STEP = 16 << 10 };
    ZSTD_inBuffer in = {at, len, 0};
    uint64_t before = t->raw_total, left = BLOCK_RAW_MAX - before, limit = left < FRAME_RAW_MAX ? left : FRAME_RAW_MAX;
    buf_clear(&t->raw);
    for (;;) {
        if (!buf_reserve(&t->raw, STEP)) {
            t->raw.failed = false;
            return -ENOMEM;
        }
        ZSTD_outBuffer out = {t->raw.at, t->raw.cap, t->raw.len};
        size_t in_before = in.pos, out_before = out.pos;
        size_t r = ZSTD_decompressStream(t->zstd, &out, &in);
        t->raw.len = out.pos;
        t->raw_total = before + t->raw.len;
        if (ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation)
            return -ENOMEM;
        if (ZSTD_isError(r) || t->raw.len > limit)
            return BARO_E_CORRUPT;
        if (in.pos == in.size && out.pos < out.size)
            return 0;
        if (in.pos == in_before && out.pos == out_before)
            return BARO_E_CORRUPT;
    }
}

int decode_start(struct baro_tape *t, const struct frame_head *head, const uint8_t *payload)
{
    size_t skip = 0;
    t->frame_size = FRAME_HEAD_SIZE + (uint64_t)head->len;
    t->rest = span_of("", 0);
    if (head->type == FRAME_BLOCK) {
        if (head->len < 8 || head->seq != 0)
            return BARO_E_CORRUPT;
        skip = 8;
        ZSTD_DCtx_reset(t->zstd, ZSTD_reset_session_only);
        t->raw_total = 0;
        t->seq = 0;
        t->ahead_known = false;
        state_new_block(t);
        t->block_good = true;
    }
    if (!t->block_good || head->seq != t->seq)
        return BARO_E_CORRUPT;
    t->seq++;
    payload += skip;
    size_t len = head->len - skip;
    int r = unpack(t, payload, len);
    if (r == 0)
        t->rest = span_of(t->raw.at, t->raw.len);
    return r;
}

static bool scan_record(struct span *in, unsigned *ret_tag, struct span *ret)
{
    struct span s = *in;
    uint64_t len;
    if (s.len == 0)
        return false;
    *ret_tag = (unsigned char)*s.at;
    s = span_of(s.at + 1, s.len - 1);
    if (!scan_varint(&s, &len) || len > s.len)
        return false;
    *ret = span_of(s.at, (size_t)len);
    *in = span_of(s.at + len, s.len - (size_t)len);
    return true;
}

/* Is it a record that belongs to a sample: rows, machine or entities? */
static bool is_of_sample(unsigned tag)
{
    return tag == RECORD_ROWS || tag == RECORD_MACHINE || tag == RECORD_DECLARE || tag == RECORD_ENTITIES;
}

static bool is_wanted(enum tape_part part, unsigned tag)
{
    return part == PART_ALL || (part == PART_MACHINE && tag != RECORD_ROWS);
}

static int next_sample(struct baro_tape *t, struct span body, struct baro_record *ret)
{
    size_t next = 0;
    unsigned tag;
    labels_restore(t);
    int r = state_sample(t, body);
    while (r == 0 && t->rest.len > 0) {
        struct span before = t->rest;
        if (!scan_record(&t->rest, &tag, &body))
            return BARO_E_CORRUPT;
        if (is_of_sample(tag) && !is_wanted(t->part, tag)) {
            continue;
        } else if (tag == RECORD_ROWS) {
            r = state_rows(t, body, &next);
        } else if (tag == RECORD_MACHINE) {
            r = state_machine(t, body);
        } else if (tag == RECORD_DECLARE) {
            r = state_declare(t, body);
        } else if (tag == RECORD_ENTITIES) {
            r = state_entities(t, body);
        } else if (tag == RECORD_SAMPLE || tag == RECORD_EXIT || tag == RECORD_EVENT || tag == RECORD_LIMITS) {
            t->rest = before;
            break;
        }
    }
    if (r < 0)
        return r;
    state_forget_old(t);
    entities_show(t);
    static struct baro_process *const none[1];
    t->sample.n = t->n;
    t->sample.processes = t->n ? t->processes : none;
    ret->kind = BARO_RECORD_SAMPLE;
    t->sample_ns = ret->t_ns = t->sample.t_ns;
    t->sample_given = true;
    ret->u.sample = &t->sample;
    return 1;
}

static const struct baro_process *living(const struct baro_tape *t, uint32_t id)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->processes[middle]->id == id)
            return t->processes[middle];
        if (t->processes[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool set_exit_texts(struct baro_tape *t, struct baro_exit *e, const struct exit_texts *texts)
{
    struct span name = texts->name, cmdline = texts->cmdline;
    bool has_cmdline = texts->form != CMDLINE_NONE;
    if (texts->known) {
        const struct baro_process *p = living(t, e->id);
        if (!p)
            return false;
        name = span_str(p->name);
        has_cmdline = p->cmdline != NULL;
        cmdline = span_str(has_cmdline ? p->cmdline : "");
    }
    buf_clear(&t->text);
    buf_add(&t->text, name.at, name.len);
    buf_byte(&t->text, 0);
    buf_add(&t->text, cmdline.at, cmdline.len);
    buf_byte(&t->text, 0);
    if (t->text.failed)
        return false;
    e->name = (const char *)t->text.at;
    e->cmdline = has_cmdline ? e->name + name.len + 1 : NULL;
    return true;
}

static int next_exit(struct baro_tape *t, struct span body, struct baro_record *ret)
{
    struct baro_exit *e = &t->exit;
    struct exit_texts texts = {0};
    memset(e, 0, sizeof *e);
    memset(e->absent, BARO_ABSENT_UNKNOWN, sizeof e->absent);
    const struct tape_kind *k = t->schema.kind[BARO_KIND_EXIT];
    const struct row *row = &t->block.exit;
    if (!exit_scan(&body, &t->block, &k->columns, e, &texts))
        return BARO_E_CORRUPT;
    scatter(k, row->value, row->absent, e->value, e->absent, &t->exit_extra);
    view_extras(&t->exit_extra, k);
    e->extra = &t->exit_extra.view;
    if (!set_exit_texts(t, e, &texts))
        return t->text.failed ? -ENOMEM : BARO_E_CORRUPT;
    ret->kind = BARO_RECORD_EXIT;
    ret->t_ns = e->t_ns;
    ret->u.exit = row_of_exit(e);
    return 1;
}

static bool set_attributes(struct baro_tape *t, struct span from)
{
    size_t bytes, n = attributes_count(from, &bytes), size = n * sizeof(struct baro_attribute);
    t->event.n_attributes = 0;
    t->event.attribute = NULL;
    buf_clear(&t->attributes);
    if (n == 0)
        return true;
    if (!buf_reserve(&t->attributes, size + bytes)) {
        t->attributes.failed = false;
        return false;
    }
    struct baro_attribute *at = (struct baro_attribute *)(void *)t->attributes.at;
    attributes_fill(from, at, (char *)(at + n));
    t->event.n_attributes = n;
    t->event.attribute = at;
    return true;
}

static int next_event(struct baro_tape *t, struct span body, struct baro_record *ret)
{
    struct span text, attributes;
    if (!event_scan(&body, &t->block, &t->event, &text, &attributes))
        return BARO_E_CORRUPT;
    if (t->event.kind == EVENT_KIND_COUNT)
        return 0;
    buf_clear(&t->text);
    buf_add(&t->text, text.at, text.len);
    buf_byte(&t->text, 0);
    if (t->text.failed || !set_attributes(t, attributes))
        return -ENOMEM;
    if (event_moves_clock(&t->event))
        t->ahead_ns = (int64_t)((uint64_t)t->ahead_ns + t->event.number);
    t->event.text = (const char *)t->text.at;
    ret->kind = BARO_RECORD_EVENT;
    ret->t_ns = t->event.t_ns;
    ret->u.event = &t->event;
    return 1;
}

/* Reads the limits, which each block repeats. They are delivered only when they have changed. */
static int next_limits(struct baro_tape *t, struct span body, struct baro_record *ret)
{
    struct baro_limits l;
    int64_t ago;
    if (!scan_zigzag(&body, &ago) || !limits_scan(body, &l))
        return BARO_E_CORRUPT;
    if (t->limits_delivered && baro_limits_equal(&l, &t->limits))
        return 0;
    t->limits = l;
    t->limits_delivered = true;
    ret->kind = BARO_RECORD_LIMITS;
    ret->t_ns = t->block.t_ns + (uint64_t)ago;
    ret->u.limits = &t->limits;
    return 1;
}

int decode_next(struct baro_tape *t, struct baro_record *ret)
{
    while (t->rest.len > 0) {
        unsigned tag;
        struct span body;
        int r = 0;
        if (!scan_record(&t->rest, &tag, &body))
            return BARO_E_CORRUPT;
        if (tag == RECORD_SAMPLE)
            r = next_sample(t, body, ret);
        else if (tag == RECORD_EXIT)
            r = t->part == PART_ALL ? next_exit(t, body, ret) : 0;
        else if (tag == RECORD_EVENT)
            r = next_event(t, body, ret);
        else if (tag == RECORD_LIMITS)
            r = next_limits(t, body, ret);
        else if (tag == RECORD_CLOCK)
            t->ahead_known = scan_zigzag(&body, &t->ahead_ns);
        else if (is_of_sample(tag))
            r = BARO_E_CORRUPT;
        if (r != 0)
            return r;
    }
    return 0;
}

bool decode_times(struct baro_tape *t, uint64_t t_ns, uint64_t *count, bool *ret_later)
{
    struct block *b = &t->block;
    unsigned tag;
    struct span body;
    int64_t change;
    while (t->rest.len > 0) {
        if (!scan_record(&t->rest, &tag, &body))
            return false;
        if (tag != RECORD_SAMPLE)
            continue;
        if (!scan_zigzag(&body, &change))
            return false;
        b->step_ns += (uint64_t)change;
        b->t_ns += b->step_ns;
        *ret_later = b->t_ns > t_ns;
        if (*ret_later)
            return true;
        ++*count;
    }
    return true;
}

void decode_reset(struct baro_tape *t)
{
    t->rest = span_of("", 0);
    t->block_good = false;
    t->limits = t->header.limits;
    t->limits_delivered = false;
    state_new_block(t);
    state_forget_old(t);
}

void decode_done(struct baro_tape *t)
{
    state_done(t);
    ZSTD_freeDCtx(t->zstd);
    buf_done(&t->raw);
    buf_done(&t->text);
    buf_done(&t->attributes);
}
