/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reading: what a collector program printed at one time, as rows and columns. WIRE.md describes the text for those
 * who write such programs.
 *
 * The parser is pure: text in, struct reading out; no system call, no allocation. A reading has fixed limits, and
 * what is beyond them is left out and counted.
 */
#ifndef RECORDER_COLLECTORS_PROGRAMS_READING_H
#define RECORDER_COLLECTORS_PROGRAMS_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define READING_COLUMNS 512u
#define READING_ROWS 4096u
#define READING_CELLS 65536u
#define READING_TEXT (1u << 20)  /* bytes of names and labels */
#define READING_BYTES (1u << 20) /* of the printed text; a longer one is no reading */
#define READING_NAME 128u        /* of a column or a label, with its NUL */
#define READING_LABELS 32u       /* of a row */
#define READING_ROW_NAME 1024u   /* with its NUL */
#define READING_HELP 256u        /* with its NUL */
#define READING_SAMPLE 96u       /* of a bad line, with its NUL */

enum reading_type { READING_GAUGE, READING_COUNTER, READING_INFO };

/* Offsets are into text, where each string ends with a NUL. 0 is the empty string. */
struct reading_column {
    uint32_t name, help;
    uint8_t type; /* enum reading_type */
};

struct reading_row {
    uint32_t name;
    uint32_t labels; /* n_labels pairs of strings, name and value, one after the other */
    uint16_t n_labels;
    int32_t pid; /* of the process that it belongs to; 0: none */
};

/* The bits of an integer if the value is whole, not negative and less than 2^64; else those of a double. */
enum reading_value { READING_INTEGER, READING_REAL, READING_ABSENT };
struct reading_cell {
    uint64_t bits;
    uint16_t row, column;
    uint8_t value; /* enum reading_value */
};

struct reading {
    uint64_t read_ns; /* CLOCK_MONOTONIC; set by the code that read it */
    uint32_t n_columns, n_rows, n_cells, text_len;
    /* What was left out: values beyond a limit, and lines that could not be parsed. */
    uint32_t cut_columns, cut_rows, cut_cells, bad_lines;
    char bad[READING_SAMPLE]; /* the first line that could not be understood, or ""; not escaped */
    struct reading_column column[READING_COLUMNS];
    struct reading_row row[READING_ROWS];
    struct reading_cell cell[READING_CELLS];
    char text[READING_TEXT];
};

/* A name or value is borrowed from the text that is parsed, or from the parser. */
struct reading_label {
    struct span name, value; /* unescaped */
};

/* Tables of one parser. */
struct reading_parser {
    struct reading *r;
    uint16_t column_at[2 * READING_COLUMNS], row_at[2 * READING_ROWS]; /* hash tables; 0: free, else index + 1 */
};

void reading_parser_init(struct reading_parser *p);

/* Fills *ret with the text of one reading, as reading_next() found it. Returns true if it is one: it has rows, or it is
 * whole and says that there are none ("# EOF"). */
bool reading_parse(struct reading_parser *p, struct span text, struct reading *ret);

/* Finds the end of the reading at the start of the buffer: after a line "# EOF". Returns its length, or 0 if it has not
 * ended yet. *f remembers how far the text was examined; the caller zeroes it when bytes were taken off the front.
 * ended: no more text will come, the buffer has all of it. */
struct reading_frame {
    size_t at; /* where the line begins that has not been examined */
};
size_t reading_next(struct reading_frame *f, struct span buffer, bool ended);

/* Checks a reading that another process wrote: counts, offsets, indices, ends of strings. */
bool reading_check(const struct reading *r);

static inline const char *reading_text(const struct reading *r, uint32_t at)
{
    return r->text + at;
}

/* ---- between the parser's files ---- */

/* The index of a column, which is added with this type if it is new, or -1 without room. */
int reading_column(struct reading_parser *p, struct span name, enum reading_type type, struct span help);
/* The index of the row with these labels, which are sorted in place; added if it is new. -1 without room. */
int reading_row(struct reading_parser *p, struct reading_label *labels, size_t n, int32_t pid);
/* Adds a value; of two for one row and column the later one counts. */
void reading_put(struct reading_parser *p, int row, int column, struct reading_cell value);
void reading_bad(struct reading_parser *p, struct span line);

/* A number of OpenMetrics: sign, digits, fraction, exponent. */
bool reading_number(struct span *s, struct reading_cell *ret);

/* Returns whether the text ended with "# EOF". */
bool reading_openmetrics(struct reading_parser *p, struct span text);

#endif
