/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and columns of a reading, as its parser adds them. */
#include "recorder/collectors/programs/reading.h"

#define ROW_SLOTS (2 * READING_ROWS)
#define COLUMN_SLOTS (2 * READING_COLUMNS)

void reading_parser_init(struct reading_parser *p)
{
    memset(p, 0, sizeof(*p));
}

static void begin_reading(struct reading_parser *p, struct reading *r)
{
    p->r = r;
    memset(p->column_at, 0, sizeof(p->column_at));
    memset(p->row_at, 0, sizeof(p->row_at));
    memset(r, 0, offsetof(struct reading, column));
    r->text[0] = 0;
    r->text_len = 1;
}

/* FNV-1a */
static uint32_t hash(const char *at, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)at[i]) * 16777619u;
    return h;
}

/* Returns the offset of a copy, 0 without room or of nothing. */
static uint32_t store_text(struct reading *r, const char *at, size_t len)
{
    if (!len || len >= READING_TEXT - r->text_len)
        return 0;
    uint32_t offset = r->text_len;
    memcpy(r->text + offset, at, len);
    r->text[offset + len] = 0;
    r->text_len += (uint32_t)len + 1;
    return offset;
}

void reading_bad(struct reading_parser *p, struct span line)
{
    struct reading *r = p->r;
    size_t n = line.len < sizeof(r->bad) ? line.len : sizeof(r->bad) - 1;
    if (!r->bad_lines++) {
        for (size_t i = 0; i < n; i++)
            r->bad[i] = line.at[i] ? line.at[i] : '?';
        r->bad[n] = 0;
    }
}

int reading_column(struct reading_parser *p, struct span name, enum reading_type type, struct span help)
{
    struct reading *r = p->r;
    uint32_t slot = hash(name.at, name.len) % COLUMN_SLOTS;
    for (; p->column_at[slot]; slot = (slot + 1) % COLUMN_SLOTS) {
        if (span_equal(name, r->text + r->column[p->column_at[slot] - 1].name))
            return p->column_at[slot] - 1;
    }
    uint32_t at = r->n_columns < READING_COLUMNS && name.len < READING_NAME ? store_text(r, name.at, name.len) : 0;
    if (!at) {
        r->cut_columns++;
        return -1;
    }
    struct reading_column *c = &r->column[r->n_columns++];
    *c = (struct reading_column){.name = at, .type = (uint8_t)type};
    c->help = store_text(r, help.at, help.len < READING_HELP ? help.len : READING_HELP - 1);
    p->column_at[slot] = (uint16_t)r->n_columns;
    return (int)r->n_columns - 1;
}

/* ---- rows ---- */

static int compare_spans(struct span a, struct span b)
{
    int order = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);
    return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

static void sort(struct reading_label *l, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t k = i; k && compare_spans(l[k].name, l[k - 1].name) < 0; k--) {
            const struct reading_label swap = l[k];
            l[k] = l[k - 1];
            l[k - 1] = swap;
        }
    }
}

struct line {
    char at[READING_ROW_NAME];
    size_t len;
    bool full;
};

static void append_to_line(struct line *l, const char *at, size_t len)
{
    l->full |= len >= sizeof(l->at) - l->len;
    if (l->full)
        return;
    memcpy(l->at + l->len, at, len);
    l->len += len;
}

/* Writes a value unchanged if it cannot be mistaken, else in quotes, as OpenMetrics does. */
static void add_label_value(struct line *l, struct span v)
{
    bool plain = v.len > 0;
    for (size_t i = 0; i < v.len && plain; i++) {
        unsigned char c = (unsigned char)v.at[i];
        plain = c > ' ' && c != 127 && !strchr(",=\"\\{}", c);
    }
    if (plain) {
        append_to_line(l, v.at, v.len);
        return;
    }
    append_to_line(l, "\"", 1);
    for (size_t i = 0; i < v.len; i++) {
        char c = v.at[i];
        if (c == '"' || c == '\\' || c == '\n')
            append_to_line(l, "\\", 1);
        append_to_line(l, c == '\n' ? "n" : &c, 1);
    }
    append_to_line(l, "\"", 1);
}

/* {mode="idle",cpu="0"} is the row cpu=0,mode=idle. */
static void row_name(struct line *l, const struct reading_label *labels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (l->len)
            append_to_line(l, ",", 1);
        append_to_line(l, labels[i].name.at, labels[i].name.len);
        append_to_line(l, "=", 1);
        add_label_value(l, labels[i].value);
    }
}

static bool keep_labels(struct reading *r, const struct reading_label *labels, size_t n, uint32_t *ret)
{
    size_t need = 0;
    for (size_t i = 0; i < n; i++)
        need += labels[i].name.len + labels[i].value.len + 2;
    if (need > READING_TEXT - r->text_len)
        return false;
    *ret = n ? r->text_len : 0;
    for (size_t i = 0; i < n; i++) {
        const struct span both[] = {labels[i].name, labels[i].value};
        for (int k = 0; k < 2; k++) {
            memcpy(r->text + r->text_len, both[k].at, both[k].len);
            r->text[r->text_len + both[k].len] = 0;
            r->text_len += (uint32_t)both[k].len + 1;
        }
    }
    return true;
}

int reading_row(struct reading_parser *p, struct reading_label *labels, size_t n, int32_t pid)
{
    struct reading *r = p->r;
    struct line line = {.len = 0};
    sort(labels, n);
    row_name(&line, labels, n);
    uint32_t slot = hash(line.at, line.len) % ROW_SLOTS;
    for (; p->row_at[slot]; slot = (slot + 1) % ROW_SLOTS) {
        if (span_equal(span_of(line.at, line.len), r->text + r->row[p->row_at[slot] - 1].name))
            return p->row_at[slot] - 1;
    }
    struct reading_row row = {.pid = pid, .n_labels = (uint16_t)n};
    bool room = !line.full && r->n_rows < READING_ROWS && n <= READING_LABELS;
    row.name = room && line.len ? store_text(r, line.at, line.len) : 0;
    if (!room || (line.len && !row.name) || !keep_labels(r, labels, n, &row.labels)) {
        r->cut_rows++;
        return -1;
    }
    r->row[r->n_rows++] = row;
    p->row_at[slot] = (uint16_t)r->n_rows;
    return (int)r->n_rows - 1;
}

void reading_put(struct reading_parser *p, int row, int column, struct reading_cell value)
{
    struct reading *r = p->r;
    if (row < 0 || column < 0 || r->n_cells == READING_CELLS) {
        r->cut_cells++;
        return;
    }
    value.row = (uint16_t)row;
    value.column = (uint16_t)column;
    r->cell[r->n_cells++] = value;
}

/* ---- one reading ---- */

bool reading_parse(struct reading_parser *p, struct span text, struct reading *ret)
{
    begin_reading(p, ret);
    bool whole = reading_openmetrics(p, text);
    return ret->n_rows > 0 || (whole && !ret->bad_lines);
}

/* ---- what another process wrote ---- */

/* Does a string begin there that ends within the text? */
static bool string_at(const struct reading *r, uint32_t len, uint32_t at, uint32_t *ret_next)
{
    const char *end = at < len ? memchr(r->text + at, 0, len - at) : NULL;
    if (end)
        *ret_next = (uint32_t)(end - r->text) + 1;
    return end;
}

bool reading_check(const struct reading *r)
{
    uint32_t next, len = r->text_len;
    if (r->n_columns > READING_COLUMNS || r->n_rows > READING_ROWS || r->n_cells > READING_CELLS ||
        len > READING_TEXT || !len || r->text[0] || !memchr(r->bad, 0, sizeof(r->bad)))
        return false;
    for (uint32_t i = 0; i < r->n_columns; i++) {
        const struct reading_column *c = &r->column[i];
        if (!c->name || !string_at(r, len, c->name, &next) || next - c->name > READING_NAME ||
            !string_at(r, len, c->help, &next) || next - c->help > READING_HELP || c->type > READING_INFO)
            return false;
    }
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct reading_row *row = &r->row[i];
        if (!string_at(r, len, row->name, &next) || next - row->name > READING_ROW_NAME ||
            row->n_labels > READING_LABELS || row->labels > len)
            return false;
        next = row->labels;
        for (uint32_t k = 0; k < 2u * row->n_labels; k++) {
            if (!string_at(r, len, next, &next))
                return false;
        }
    }
    for (uint32_t i = 0; i < r->n_cells; i++) {
        const struct reading_cell *c = &r->cell[i];
        if (c->row >= r->n_rows || c->column >= r->n_columns || c->value > READING_ABSENT)
            return false;
    }
    return true;
}
