/* SPDX-License-Identifier: Apache-2.0 */
/* What collector programs print. The first byte chooses: a whole text for the parsers, a stream that is first divided
 * into readings, or bytes of another process instead of a reading. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "recorder/collectors/programs/reading.h"

static struct reading reading;
static struct reading_parser parser;

/* Reads all values of a reading, as the code that takes it over does. */
static void walk(const struct reading *r)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < r->n_columns; i++)
        sum += strlen(reading_text(r, r->column[i].name)) + strlen(reading_text(r, r->column[i].help));
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const char *at = reading_text(r, r->row[i].labels);
        sum += strlen(reading_text(r, r->row[i].name));
        for (unsigned k = 0; k < 2u * r->row[i].n_labels; k++)
            at += strlen(at) + 1;
    }
    for (uint32_t i = 0; i < r->n_cells; i++)
        sum += r->column[r->cell[i].column].type + r->row[r->cell[i].row].name;
    if (sum == SIZE_MAX)
        abort();
}

static void parse(struct span text)
{
    reading_parse(&parser, text, &reading);
    if (!reading_check(&reading))
        abort();
    walk(&reading);
}

static void stream(struct span text)
{
    size_t begin = 0;
    while (begin < text.len) {
        struct reading_frame f = {0};
        size_t n = reading_next(&f, span_of(text.at + begin, text.len - begin), true);
        if (!n || n > text.len - begin)
            abort();
        parse(span_of(text.at + begin, n));
        begin += n;
    }
}

static void lie(struct span text)
{
    size_t head = offsetof(struct reading, text), n = text.len < sizeof(reading) ? text.len : sizeof(reading);
    static const char good[] = "# HELP a Help.\na{x=\"1\"} 1\nb{y=\"2\",z=\"3\"} 2\n";
    parse(span_of(good, sizeof(good) - 1));
    for (size_t i = 0; i + 4 <= n; i += 4) { /* where, and what */
        size_t at = ((unsigned char)text.at[i] << 8 | (unsigned char)text.at[i + 1]) % 8192;
        at = text.at[i + 2] & 1 ? at : at + offsetof(struct reading, row);
        ((unsigned char *)&reading)[at % head] = (unsigned char)text.at[i + 3];
    }
    if (reading_check(&reading))
        walk(&reading);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in;
    if (!fuzz_input(data, size, 3, &in))
        return 0;
    reading_parser_init(&parser);
    if (in.which == 0)
        parse(in.text);
    else if (in.which == 1)
        stream(in.text);
    else
        lie(in.text);
    fuzz_done(&in);
    return 0;
}
