/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "libbaro/writer/writer_state.h"

struct walk {
    struct tape_writer *w;
    uint64_t t_ns;
    size_t next; /* position that a gap counts from */
};

static void write_gap(struct walk *k, size_t i)
{
    buf_varint(&k->w->record, i - k->next + 1);
    k->next = i + 1;
}

static int end_record(struct walk *k)
{
    buf_varint(&k->w->record, 0);
    return encode_record(k->w, RECORD_ROWS);
}

static bool same_values(const struct baseline *b, const struct baro_process *p)
{
    return memcmp(b->value, p->value, sizeof b->value) == 0 && memcmp(b->absent, p->absent, sizeof b->absent) == 0;
}

static void keep_baseline(struct baseline *b, const struct baro_process *p)
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

static void encode_known(struct walk *k, size_t i, struct baseline *b, const struct baro_process *p)
{
    struct tape_writer *w = k->w;
    unsigned flags = (p->read_ns != k->t_ns ? ROW_READ : 0) | (p->info_version != b->info_version ? ROW_INFO : 0);
    if (!(flags & ROW_INFO) && p->read_ns == b->read_ns && same_values(b, p))
        return;
    write_gap(k, i);
    row_write(&w->record, &w->columns[BARO_KIND_PROCESS], b->value, b->absent, p->value, p->absent, flags);
    if (flags & ROW_READ)
        buf_zigzag(&w->record, (int64_t)(p->read_ns - b->read_ns));
    if (flags & ROW_INFO)
        write_info(k, b, p, false);
    keep_baseline(b, p);
}

/* cut: its texts were written in an earlier block and have not changed. */
static void encode_new(struct walk *k, size_t i, struct baseline *b, const struct baro_process *p, bool cut)
{
    struct tape_writer *w = k->w;
    struct row *last = &w->block->fresh;
    unsigned flags = ROW_INFO | (p->read_ns != k->t_ns ? ROW_READ : 0);
    write_gap(k, i);
    row_write(&w->record, &w->columns[BARO_KIND_PROCESS], last->value, last->absent, p->value, p->absent, flags);
    if (flags & ROW_READ)
        buf_zigzag(&w->record, (int64_t)(p->read_ns - k->t_ns));
    write_info(k, b, p, cut);
    memcpy(last->value, p->value, sizeof p->value);
    memcpy(last->absent, p->absent, sizeof p->absent);
    keep_baseline(b, p);
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
    enum { FULL = 8 << 10 };
    struct walk k = {.w = w, .t_ns = s->t_ns};
    size_t sleeping = fresh ? 0 : n_kept; /* up to here, processes that did not move are left out */
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
        if (w->record.len >= FULL)
            r = end_record(&k);
    }
    w->n_base = s->n;
    return r == 0 && w->record.len > 0 ? end_record(&k) : r;
}
