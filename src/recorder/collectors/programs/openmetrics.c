/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMetrics 1.0 text, and the Prometheus text format 0.0.4 that it comes from (prometheus.io, "Exposition formats").
 * The laxer rule of the two is taken: what HELP, TYPE and UNIT say holds for the samples after them; a family's name
 * stands for foo and, by its type, for foo_total, foo_bucket, foo_sum and so on. Timestamps and exemplars are skipped:
 * a reading has one time, at which it was read.
 */
#include "recorder/collectors/programs/reading.h"

#define ESCAPED_MOST 4096u /* bytes of the label values of a sample that had to be unescaped */

struct family {
    struct span name, help;
    enum reading_type type;
    bool typed, distribution; /* a histogram or a summary */
};

struct sample {
    struct span name, value;
    struct reading_label label[READING_LABELS];
    size_t n_labels;
    char escaped[ESCAPED_MOST];
    size_t escaped_len;
};

static bool is_name_byte(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (!first && c >= '0' && c <= '9');
}

static bool scan_name(struct span *s, struct span *ret)
{
    size_t n = 0;
    while (n < s->len && is_name_byte(s->at[n], n == 0))
        n++;
    if (!n || n >= READING_NAME)
        return false;
    *ret = span_of(s->at, n);
    s->at += n;
    s->len -= n;
    return true;
}

/* Reads a label's value up to its quote; \\, \" and \n are unescaped in a copy. */
static bool scan_quoted(struct span *s, struct sample *sample, struct span *ret)
{
    if (!scan_char(s, '"'))
        return false;
    size_t n = 0;
    bool escaped = false;
    for (; n < s->len && s->at[n] != '"'; n++) {
        if (s->at[n] == '\\') {
            escaped = true;
            n++;
        }
    }
    if (n >= s->len)
        return false;
    *ret = span_of(s->at, n);
    s->at += n + 1;
    s->len -= n + 1;
    if (!escaped)
        return true;
    if (n > sizeof(sample->escaped) - sample->escaped_len)
        return false;
    char *out = sample->escaped + sample->escaped_len;
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        char c = ret->at[i], next = i + 1 < n ? ret->at[i + 1] : 0;
        bool taken = c == '\\' && (next == '\\' || next == '"' || next == 'n');
        out[len++] = !taken ? c : next == 'n' ? '\n' : next;
        i += taken;
    }
    sample->escaped_len += len;
    *ret = span_of(out, len);
    return true;
}

/* {a="b",c="d"}, with blanks anywhere and a comma at the end as Prometheus allows. An empty value is no label. */
static bool scan_labels(struct span *s, struct sample *sample)
{
    if (!scan_char(s, '{'))
        return true;
    for (bool first = true;; first = false) {
        struct reading_label l;
        scan_blanks(s);
        if (scan_char(s, '}'))
            return true;
        if (!first && !scan_char(s, ','))
            return false;
        scan_blanks(s);
        if (scan_char(s, '}'))
            return true;
        if (!scan_name(s, &l.name))
            return false;
        scan_blanks(s);
        if (!scan_char(s, '='))
            return false;
        scan_blanks(s);
        if (!scan_quoted(s, sample, &l.value) || sample->n_labels == READING_LABELS)
            return false;
        for (size_t i = 0; i < sample->n_labels; i++) {
            const struct span *known = &sample->label[i].name;
            if (known->len == l.name.len && memcmp(known->at, l.name.at, l.name.len) == 0)
                return false;
        }
        if (l.value.len)
            sample->label[sample->n_labels++] = l;
    }
}

static bool is_keyword(struct span s, const char *lower)
{
    if (s.len != strlen(lower))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if ((s.at[i] | 32) != lower[i])
            return false;
    }
    return true;
}

/* NaN and infinity mean that there is no number. */
static bool take_value(struct span word, struct reading_cell *ret)
{
    struct span s = word;
    if (s.len && (*s.at == '+' || *s.at == '-')) {
        s.at++;
        s.len--;
    }
    if (is_keyword(s, "nan") || is_keyword(s, "inf") || is_keyword(s, "infinity")) {
        *ret = (struct reading_cell){.value = READING_ABSENT};
        return true;
    }
    return reading_number(&word, ret) && !word.len;
}

static bool scan_sample(struct span line, struct sample *ret, struct reading_cell *value)
{
    ret->n_labels = ret->escaped_len = 0;
    if (!scan_name(&line, &ret->name))
        return false;
    scan_blanks(&line);
    if (!scan_labels(&line, ret))
        return false;
    scan_blanks(&line);
    return scan_word(&line, &ret->value) && take_value(ret->value, value);
}

/* ---- families ---- */

/* What follows the family's name: "", "_total", "_bucket", ...; len SIZE_MAX if it is of another family. */
static struct span suffix_of(const struct family *f, struct span name)
{
    if (!f->name.len || name.len < f->name.len || memcmp(name.at, f->name.at, f->name.len) != 0)
        return span_of("", SIZE_MAX);
    return span_of(name.at + f->name.len, name.len - f->name.len);
}

static bool is_of(const struct family *f, struct span name)
{
    static const char *const suffixes[] = {"",         "_total", "_bucket", "_sum",   "_count",
                                           "_created", "_info",  "_gsum",   "_gcount"};
    struct span s = suffix_of(f, name);
    for (size_t i = 0; s.len != SIZE_MAX && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        if (span_equal(s, suffixes[i]))
            return true;
    }
    return false;
}

static enum reading_type type_of(const struct family *f, struct span name)
{
    struct span s = suffix_of(f, name);
    if (span_ends(name, "_created") && s.len && s.len != SIZE_MAX)
        return READING_GAUGE; /* when the counter began, in seconds since the epoch */
    if (!f->typed)
        return span_ends(name, "_total") ? READING_COUNTER : READING_GAUGE;
    if (f->distribution)
        return s.len ? READING_COUNTER : READING_GAUGE; /* the quantiles of a summary have no suffix */
    return f->type;
}

static void take_type(struct family *f, struct span type)
{
    f->distribution = span_equal(type, "histogram") || span_equal(type, "summary");
    f->typed = !span_equal(type, "unknown") && !span_equal(type, "untyped");
    f->type = span_equal(type, "counter") ? READING_COUNTER : span_equal(type, "info") ? READING_INFO : READING_GAUGE;
}

/* "# TYPE name type" and the like; any other line that begins with # is a comment. Returns whether it is "# EOF". */
static bool take_comment(struct family *f, struct span line)
{
    struct span keyword, name, rest;
    scan_blanks(&line);
    if (!scan_word(&line, &keyword))
        return false;
    if (span_equal(keyword, "EOF"))
        return true;
    bool help = span_equal(keyword, "HELP"), type = span_equal(keyword, "TYPE"), unit = span_equal(keyword, "UNIT");
    scan_blanks(&line);
    if (!(help || type || unit) || !scan_name(&line, &name))
        return false;
    if (name.len != f->name.len || memcmp(name.at, f->name.at, name.len) != 0)
        *f = (struct family){.name = name};
    scan_blanks(&line);
    if (help)
        f->help = line;
    if (type && scan_word(&line, &rest))
        take_type(f, rest);
    return false;
}

/* ---- lines ---- */

static struct span without_cr(struct span line)
{
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* A label pid with a number is the process that the row belongs to. */
static int32_t owner_of(const struct sample *s)
{
    for (size_t i = 0; i < s->n_labels; i++) {
        struct span value = s->label[i].value;
        uint64_t pid;
        if (span_equal(s->label[i].name, "pid") && scan_u64(&value, &pid) && !value.len && pid && pid <= INT32_MAX)
            return (int32_t)pid;
    }
    return 0;
}

static void take_sample(struct reading_parser *p, const struct family *f, struct span line, struct sample *sample)
{
    static const struct family none;
    struct reading_cell value;
    if (memchr(line.at, 0, line.len) || !scan_sample(line, sample, &value)) {
        reading_bad(p, line);
        return;
    }
    if (!is_of(f, sample->name))
        f = &none;
    int column = reading_column(p, sample->name, type_of(f, sample->name), f->help);
    int row = column < 0 ? -1 : reading_row(p, sample->label, sample->n_labels, owner_of(sample));
    reading_put(p, row, column, value);
}

bool reading_openmetrics(struct reading_parser *p, struct span text)
{
    struct family family = {.typed = false};
    struct sample sample;
    struct span line;
    bool whole = false;
    while (scan_line(&text, &line)) {
        line = without_cr(line);
        scan_blanks(&line);
        if (scan_char(&line, '#'))
            whole |= take_comment(&family, line);
        else if (line.len)
            take_sample(p, &family, line, &sample);
    }
    return whole;
}
