/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "recorder/writer/writer_state.h"

enum { CHUNK = 8 << 10 };

struct walk {
    struct tape_writer *w;
    uint64_t t_ns;
    size_t entries;     /* entries in the record so far */
    size_t next;        /* position that a gap counts from */
    size_t run_at, run; /* a run of processes that were read and had not changed */
};

static void write_gap(struct walk *k, size_t i)
{
    number_write(&k->w->bits, &k->w->block->gap_size, i - k->next + ROWS_GAP);
    k->entries++;
    k->next = i + 1;
}

static void end_run(struct walk *k)
{
    if (k->run == 0)
        return;
    write_gap(k, k->run_at);
    number_write(&k->w->bits, &k->w->block->process.number_size, SHAPE_RUN);
    number_write(&k->w->bits, &k->w->block->run_size, k->run);
    k->next = k->run_at + k->run;
    k->run = 0;
}

static int end_chunk(struct walk *k, size_t limit)
{
    if (k->w->record.len < limit || k->entries == 0)
        return 0;
    number_write(&k->w->bits, &k->w->block->gap_size, ROWS_END);
    k->entries = 0;
    return encode_record(k->w, RECORD_ROWS);
}

static bool same_values(const struct baseline *b, const struct baro_process *p)
{
    return row_same((struct row_values){b->value, b->absent}, (struct row_values){p->value, p->absent}, PROCESS_MAX);
}

static void keep(struct baseline *b, const struct baro_process *p)
{
    b->id = p->id;
    b->info_version = p->info_version;
    b->read_ns = p->read_ns;
    memcpy(b->value, p->value, sizeof b->value);
    memcpy(b->absent, p->absent, sizeof b->absent);
}

static void write_info(struct walk *k, struct baseline *b, const struct baro_process *p, bool cut)
{
    info_write(&k->w->record, k->w->block, p, cut);
    cut = cut && p->cmdline && strlen(p->cmdline) > CMDLINE_CUT;
    b->texts = cut ? 0 : texts_hash(p->name, p->cmdline);
}

static void write_known(struct walk *k, size_t i, struct baseline *b, const struct baro_process *p)
{
    struct tape_writer *w = k->w;
    struct row_values old = {b->value, b->absent}, new = {p->value, p->absent};
    struct tape_row row;
    row_compare(&w->columns[BARO_KIND_PROCESS], old, new, &row);
    row.flags |= (p->read_ns != k->t_ns ? ROW_READ : 0) | (p->info_version != b->info_version ? ROW_INFO : 0);
    write_gap(k, i);
    row_write(&w->record, &w->bits, &w->columns[BARO_KIND_PROCESS], &w->block->process, &row, old, new);
    if (row.flags & ROW_READ)
        buf_zigzag(&w->record, (int64_t)(p->read_ns - b->read_ns));
    if (row.flags & ROW_INFO)
        write_info(k, b, p, false);
    keep(b, p);
}

static void encode_known(struct walk *k, size_t i, struct baseline *b, const struct baro_process *p)
{
    bool same = p->info_version == b->info_version && same_values(b, p);
    if (same && p->read_ns == b->read_ns)
        return;
    if (same && p->read_ns == k->t_ns) {
        if (k->run > 0 && i != k->run_at + k->run)
            end_run(k);
        if (k->run++ == 0)
            k->run_at = i;
        b->read_ns = p->read_ns;
        return;
    }
    end_run(k);
    write_known(k, i, b, p);
}

/* cut: its texts were written in an earlier block and have not changed. */
static void encode_new(struct walk *k, size_t i, struct baseline *b, const struct baro_process *p, bool cut)
{
    struct tape_writer *w = k->w;
    struct block *block = w->block;
    struct row_values old = {block->fresh_value, block->fresh_absent}, new = {p->value, p->absent};
    struct tape_row row;
    row_compare(&w->columns[BARO_KIND_PROCESS], old, new, &row);
    row.flags |= ROW_INFO | (p->read_ns != k->t_ns ? ROW_READ : 0);
    end_run(k);
    write_gap(k, i);
    row_write(&w->record, &w->bits, &w->columns[BARO_KIND_PROCESS], &block->fresh, &row, old, new);
    if (row.flags & ROW_READ)
        buf_zigzag(&w->record, (int64_t)(p->read_ns - k->t_ns));
    write_info(k, b, p, cut);
    for (unsigned c = 0; c < PROCESS_MAX; c++)
        block->fresh_value[c] = w->columns[BARO_KIND_PROCESS].at[c].falls ? p->value[c] : 0;
    memcpy(block->fresh_absent, p->absent, sizeof p->absent);
    keep(b, p);
}

/* The next one that is new or may have changed. */
static size_t next_moved(const struct baro_sample *s, size_t i, size_t n_kept)
{
    if (!s->moved || i >= n_kept)
        return i;
    for (uint64_t word; i < n_kept; i = (i | 63) + 1) {
        word = s->moved[i / 64] >> i % 64;
        if (word) {
            i += (size_t)__builtin_ctzll(word);
            break;
        }
    }
    return i < n_kept ? i : n_kept;
}

int encode_rows(struct tape_writer *w, const struct baro_sample *s, size_t n_kept, bool fresh)
{
    struct walk k = {.w = w, .t_ns = s->t_ns};
    size_t sleeping = fresh ? 0 : n_kept; /* as far as those that did not move are left out */
    int r = 0;
    if (!base_reserve(w, s->n))
        return -ENOMEM;
    for (size_t i = next_moved(s, 0, sleeping); r == 0 && i < s->n; i = next_moved(s, i + 1, sleeping)) {
        const struct baro_process *p = s->processes[i];
        struct baseline *b = &w->base[i];
        if (i < n_kept && !fresh) {
            encode_known(&k, i, b, p);
        } else {
            if (i > 0 && s->processes[i - 1]->id >= p->id)
                w->base_sorted = false;
            encode_new(&k, i, b, p, i < n_kept && b->info_version == p->info_version);
        }
        r = end_chunk(&k, CHUNK);
    }
    w->n_base = s->n;
    end_run(&k);
    return r < 0 ? r : end_chunk(&k, 0);
}
