/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the living processes at the cursor's position. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libbaro/tape/cursor.h"

static struct tape_process *of(struct baro_process *p)
{
    return (struct tape_process *)p;
}

static void fill_absent(uint8_t *absent, size_t n)
{
    memset(absent, BARO_ABSENT_UNKNOWN, n);
}

static struct baro_process *take_process(struct baro_tape *t)
{
    struct tape_process *p = t->free;
    if (p) {
        t->free = p->next_free;
    } else {
        p = calloc(1, sizeof *p);
        if (!p)
            return NULL;
        if (kind_extras(t->schema.kind[BARO_KIND_PROCESS]) > 0 && !(p->extra = calloc(1, sizeof *p->extra))) {
            free(p);
            return NULL;
        }
    }
    struct extras *extra = p->extra;
    memset(p, 0, sizeof *p);
    p->extra = extra;
    if (extra) {
        view_extras(extra, t->schema.kind[BARO_KIND_PROCESS]);
        p->p.extra = &extra->view;
    }
    fill_absent(p->p.absent, sizeof p->p.absent);
    return &p->p;
}

static void give(struct baro_tape *t, struct baro_process *p)
{
    baro_process_done(p);
    of(p)->next_free = t->free;
    t->free = of(p);
}

void state_forget_old(struct baro_tape *t)
{
    for (size_t i = t->old_next; i < t->n_old; i++)
        if (t->old[i])
            give(t, t->old[i]);
    t->n_old = t->old_next = 0;
}

/* Keeps the processes of the last block until the first sample of the new one, which has most of them again. */
void state_new_block(struct baro_tape *t)
{
    if (t->n > 0) {
        state_forget_old(t);
        struct baro_process **list = t->old;
        size_t cap = t->cap_old;
        t->old = t->processes;
        t->cap_old = t->cap;
        t->n_old = t->n;
        t->processes = list;
        t->cap = cap;
        t->n = 0;
    }
    entities_forget(t);
    memset(&t->block, 0, sizeof t->block);
    const struct series_part *part = series_part(t);
    if (part) {
        t->block.t_ns = t->block.first_ns = part->shift_ns;
        t->block.id = part->id_base;
    }
    memset(&t->sample, 0, sizeof t->sample);
    fill_absent(t->sample.job_absent, sizeof t->sample.job_absent);
    fill_absent(t->sample.self_absent, sizeof t->sample.self_absent);
    fill_absent(t->sample.host_absent, sizeof t->sample.host_absent);
    memset(&t->job_extra, 0, sizeof t->job_extra);
    memset(&t->self_extra, 0, sizeof t->self_extra);
}

void state_clear(struct baro_tape *t)
{
    state_new_block(t);
    state_forget_old(t);
    entities_done(t);
    while (t->free) {
        struct tape_process *p = t->free;
        t->free = p->next_free;
        free(p->extra);
        free(p);
    }
}

void state_done(struct baro_tape *t)
{
    state_clear(t);
    free(t->processes);
    free(t->moved);
    free(t->old);
}

void scatter(const struct tape_kind *k, const uint64_t *from_value, const uint8_t *from_absent, uint64_t *value,
             uint8_t *absent, struct extras *extra)
{
    for (unsigned c = 0; c < k->columns.n; c++) {
        unsigned id = k->metric[c];
        uint64_t *v = id < k->n_own ? &value[id] : &extra->value[id - k->n_own];
        uint8_t *a = id < k->n_own ? &absent[id] : &extra->absent[id - k->n_own];
        *v = from_value[c];
        *a = from_absent[c];
    }
}

void gather(const struct tape_kind *k, const uint64_t *value, const uint8_t *absent, const struct extras *extra,
            uint64_t *to_value, uint8_t *to_absent)
{
    for (unsigned c = 0; c < k->columns.n; c++) {
        unsigned id = k->metric[c];
        to_value[c] = id < k->n_own ? value[id] : extra->value[id - k->n_own];
        to_absent[c] = id < k->n_own ? absent[id] : extra->absent[id - k->n_own];
    }
}

/* Reads the row of the job or the recorder. In a block's first sample it has the differences to zero. */
static bool scan_entity(struct baro_tape *t, struct span *in, enum baro_kind kind, bool first, uint64_t *value,
                        uint8_t *absent, struct extras *extra)
{
    const struct tape_kind *k = t->schema.kind[kind];
    uint64_t v[COLUMNS_MAX] = {0};
    uint8_t a[COLUMNS_MAX] = {0};
    unsigned flags;
    if (!first)
        gather(k, value, absent, extra, v, a);
    if (!row_scan(in, &k->columns, v, a, &flags))
        return false;
    scatter(k, v, a, value, absent, extra);
    return true;
}

static bool scan_gone(struct baro_tape *t, struct span *in)
{
    size_t kept = 0, next = 0;
    uint64_t gap;
    bool ok;
    while ((ok = scan_varint(in, &gap) && gap <= t->n - next) && gap > 0) {
        size_t gone = next + (size_t)gap - 1;
        memmove(&t->processes[kept], &t->processes[next], (gone - next) * sizeof *t->processes);
        kept += gone - next;
        give(t, t->processes[gone]);
        next = gone + 1;
    }
    if (t->n > next)
        memmove(&t->processes[kept], &t->processes[next], (t->n - next) * sizeof *t->processes);
    t->n = kept + t->n - next;
    return ok;
}

int state_sample(struct baro_tape *t, struct span body)
{
    struct baro_sample *s = &t->sample;
    struct block *b = &t->block;
    bool first = s->processes == NULL;
    int64_t change;
    if (!scan_zigzag(&body, &change) || body.len == 0)
        return BARO_E_CORRUPT;
    b->step_ns += (uint64_t)change;
    b->t_ns += b->step_ns;
    s->t_ns = b->t_ns;
    s->lossy = body.at[0] & 1;
    body = span_of(body.at + 1, body.len - 1);
    if (t->part == PART_EVENTS)
        return 0;
    const struct series_part *part = series_part(t);
    if (part && !first) {
        memcpy(s->job, t->job_raw, sizeof s->job);
        memcpy(s->self, t->self_raw, sizeof s->self);
    }
    if (!scan_entity(t, &body, BARO_KIND_JOB, first, s->job, s->job_absent, &t->job_extra) ||
        !scan_entity(t, &body, BARO_KIND_RECORDER, first, s->self, s->self_absent, &t->self_extra))
        return BARO_E_CORRUPT;
    if (part) {
        memcpy(t->job_raw, s->job, sizeof s->job);
        memcpy(t->self_raw, s->self, sizeof s->self);
        series_join(part, s);
        series_shift(t, JOB_tcp_read_at, s->job, s->job_absent, false);
    }
    view_extras(&t->job_extra, t->schema.kind[BARO_KIND_JOB]);
    view_extras(&t->self_extra, t->schema.kind[BARO_KIND_RECORDER]);
    s->job_extra = &t->job_extra.view;
    s->self_extra = &t->self_extra.view;
    if (t->part != PART_ALL)
        return 0;
    if (!scan_gone(t, &body))
        return BARO_E_CORRUPT;
    if (t->n > 0)
        memset(t->moved, 0, (t->n + 63) / 64 * sizeof *t->moved);
    s->moved = first ? NULL : t->moved; /* in a block's first sample all processes have a row, changed or not */
    return 0;
}

static void note_moved(struct baro_tape *t, size_t at)
{
    if (at == t->n - 1 && at % 64 == 0)
        t->moved[at / 64] = 0; /* a new word of the bitmap */
    t->moved[at / 64] |= UINT64_C(1) << at % 64;
}

/* Reads a row. That of a new process has the differences to the last new process. */
static bool scan_values(struct baro_tape *t, struct span *in, struct baro_process *p, bool fresh, unsigned *ret_flags)
{
    const struct tape_kind *k = t->schema.kind[BARO_KIND_PROCESS];
    struct row other, *row = fresh ? &t->block.fresh : &other;
    if (!fresh && !k->other_order) /* nearly always */
        return row_scan(in, &k->columns, p->value, p->absent, ret_flags);
    if (!fresh)
        gather(k, p->value, p->absent, of(p)->extra, row->value, row->absent);
    if (!row_scan(in, &k->columns, row->value, row->absent, ret_flags))
        return false;
    scatter(k, row->value, row->absent, p->value, p->absent, of(p)->extra);
    return true;
}

static struct baro_process *find_old(struct baro_tape *t, uint32_t id)
{
    while (t->old_next < t->n_old && t->old[t->old_next]->id < id)
        give(t, t->old[t->old_next++]);
    return t->old_next < t->n_old && t->old[t->old_next]->id == id ? t->old[t->old_next] : NULL;
}

/* Sets a command line of which the tape has only the first bytes here: takes the whole one from the last block, or
 * marks it as truncated if that block does not have it. */
static bool set_front(struct baro_tape *t, struct baro_process *p, struct span front)
{
    struct baro_process *old = find_old(t, p->id);
    if (old && old->info_version == p->info_version && old->cmdline && strlen(old->cmdline) >= front.len &&
        memcmp(old->cmdline, front.at, front.len) == 0) {
        free(p->cmdline);
        p->cmdline = old->cmdline;
        old->cmdline = NULL;
        return true;
    }
    char cut[CMDLINE_CUT + 4];
    size_t len = front.len < CMDLINE_CUT ? front.len : CMDLINE_CUT;
    memcpy(cut, front.at, len);
    memcpy(cut + len, "...", 4);
    return baro_process_set_cmdline(p, cut, len + 3);
}

static int scan_info(struct baro_tape *t, struct span *in, struct baro_process *p)
{
    struct info info;
    if (!info_scan(in, &t->block, &info))
        return BARO_E_CORRUPT;
    p->id = info.p.id;
    p->key = info.p.key;
    p->parent = info.p.parent;
    p->uid = info.p.uid;
    p->origin = info.p.origin;
    p->first_ns = info.p.first_ns;
    p->info_version = info.p.info_version;
    p->cmdline_absent = info.p.cmdline_absent;
    bool ok = baro_process_set_name(p, info.name.at, info.name.len);
    if (info.form == CMDLINE_FRONT)
        ok = ok && set_front(t, p, info.cmdline);
    else
        ok = ok && baro_process_set_cmdline(p, info.form == CMDLINE_NONE ? NULL : info.cmdline.at, info.cmdline.len);
    return ok ? 0 : -ENOMEM;
}

static bool reserve(struct baro_tape *t)
{
    if (t->n < t->cap && t->n < t->cap_moved)
        return true;
    size_t cap = t->cap ? t->cap * 2 : 64;
    struct baro_process **grown = realloc(t->processes, cap * sizeof *grown);
    t->processes = grown ? grown : t->processes;
    if (!grown)
        return false;
    t->cap = cap;
    if (cap <= t->cap_moved)
        return true;
    uint64_t *moved = realloc(t->moved, cap / 64 * sizeof *moved);
    if (!moved)
        return false;
    if (t->sample.moved) /* the bitmap may have moved since the sample began */
        t->sample.moved = moved;
    t->moved = moved;
    t->cap_moved = cap;
    return true;
}

static int scan_row(struct baro_tape *t, struct span *in, struct baro_process *p, bool fresh)
{
    int64_t change = 0;
    unsigned flags;
    if (!fresh)
        series_shift(t, PROCESS_smaps_at, p->value, p->absent, true);
    bool ok = scan_values(t, in, p, fresh, &flags);
    series_shift(t, PROCESS_smaps_at, p->value, p->absent, false);
    if (!ok || ((flags & ROW_READ) && !scan_zigzag(in, &change)))
        return BARO_E_CORRUPT;
    p->read_ns = (flags & ROW_READ && !fresh ? p->read_ns : t->sample.t_ns) + (uint64_t)change;
    if (!(flags & ROW_INFO))
        return fresh ? BARO_E_CORRUPT : 0;
    return scan_info(t, in, p);
}

static int scan_new(struct baro_tape *t, struct span *in)
{
    struct baro_process *p = reserve(t) ? take_process(t) : NULL;
    if (!p)
        return -ENOMEM;
    t->processes[t->n++] = p;
    return scan_row(t, in, p, true);
}

int state_rows(struct baro_tape *t, struct span body, size_t *next)
{
    for (;;) {
        uint64_t gap;
        if (!scan_varint(&body, &gap) || (gap > 0 && gap - 1 > t->n - *next))
            return BARO_E_CORRUPT;
        if (gap == 0)
            return 0;
        size_t at = *next + (size_t)gap - 1;
        bool same = body.len > 0 && *body.at == 0; /* the process was read and has not changed */
        *next = at + 1;
        int r = at < t->n ? scan_row(t, &body, t->processes[at], false) : scan_new(t, &body);
        if (r < 0)
            return r;
        if (!same)
            note_moved(t, at);
    }
}
