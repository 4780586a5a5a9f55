/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/export_list.h"

#include <string.h>

#include "output/rows/dialect.h"
#include "output/rows/dialect_table.h"
#include "output/rows/escaped.h"
#include "output/rows/row.h"

struct entry {
    const char *name, *what;
};

static const struct entry formats[] = {
    {"csv", "a row for each process at each sample, or of what --entity says (the default)"},
    {"jsonl", "the same as a JSON object a line; what is absent has its reason"},
    {"trace", "the whole tape for ui.perfetto.dev and chrome://tracing (docs/trace.md)"},
    {"arrow", "the rows as a stream of Arrow IPC messages, for pandas, polars, DuckDB, ... (docs/arrow.md)"},
    {"parquet", "the rows as a Parquet file, by python3 with pyarrow or polars (docs/arrow.md)"},
    {"sqlite", "a database: a table for each kind of rows, or that of --entity (-o FILE; docs/arrow.md)"},
};

#define ROW_KIND(name, what) {name, what},
static const struct entry kinds[] = {
#include "programs/common/row_kinds.def"
};
#undef ROW_KIND

#define COUNT(of) (sizeof(of) / sizeof(*(of)))
#define WIDTH 20

static const char *what_of_kind(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].what;
    }
    return "of this tape alone";
}

static void put_line(struct buf *b, const char *name, const char *what)
{
    size_t from = b->len;
    buf_str(b, "  ");
    text_escaped(b, name, strlen(name));
    while (b->len < from + 2 + WIDTH)
        buf_byte(b, ' ');
    buf_printf(b, " %s", what);
}

static void dialect(struct buf *b, const char *name)
{
    const char *between = " (--entity ";
    for (size_t i = 0; i < dialect_table_count; i++) {
        if (strcmp(dialect_tables[i].name, name) != 0)
            continue;
        if (dialect_tables[i].what)
            put_line(b, name, dialect_tables[i].what);
        buf_printf(b, "%s%s", between, baro_kind_name(dialect_tables[i].kind));
        between = " or ";
    }
    buf_str(b, ")\n");
}

void export_list(const struct baro_tape *tape, struct buf *ret)
{
    const char *names[64];
    buf_str(ret, "formats (--format):\n");
    for (size_t i = 0; i < COUNT(formats); i++) {
        put_line(ret, formats[i].name, formats[i].what);
        buf_byte(ret, '\n');
    }
    buf_str(ret, "\ndialects of CSV (--dialect; docs/dialects.md has their columns):\n");
    for (size_t i = 0; dialect_names[i]; i++)
        dialect(ret, dialect_names[i]);
    buf_str(ret, "\nkinds of rows (--entity; `baro metrics` has their columns):\n");
    if (tape)
        row_kind_names(tape, names, COUNT(names));
    for (size_t i = 0; tape ? names[i] != NULL : i < COUNT(kinds); i++) {
        const char *name = tape ? names[i] : kinds[i].name;
        put_line(ret, name, what_of_kind(name));
        buf_byte(ret, '\n');
    }
}
