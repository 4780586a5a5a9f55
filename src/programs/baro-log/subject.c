/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-log/subject.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/chart/chart.h"
#include "output/rows/escaped.h"

static const struct baro_fact mark_fact = {
    .name = "value", .unit = BARO_UNIT_NONE, .type = BARO_FACT_REAL, .help = "The last value that a mark gave it"};

/* "rss_peak_bytes" is "rss peak" where it has no words of its own here. */
static const struct {
    const char *fact, *words;
} words[] = {
    {"wall_ns", "wall time"},
    {"cpu_ns", "CPU time"},
    {"rss_peak_bytes", "peak memory (rss)"},
    {"pss_peak_bytes", "peak memory (pss)"},
    {"process_rss_peak_bytes", "memory of the largest process"},
    {"memory_peak_bytes", "memory needed"},
    {"processes_started", "processes"},
    {"io_rchar_bytes", "bytes got by read()"},
    {"io_wchar_bytes", "bytes given to write()"},
    {"io_read_bytes", "bytes read from storage"},
    {"io_write_bytes", "bytes written to storage"},
    {"run_delay_ns", "time waited for a core"},
};

static void put_words(const struct baro_fact *f, struct buf *ret)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(words[i].fact, f->name) == 0) {
            buf_str(ret, words[i].words);
            return;
        }
    }
    size_t n = strlen(f->name), unit = f->unit == BARO_UNIT_NS ? 3 : f->unit == BARO_UNIT_BYTES ? 6 : 0;
    for (size_t i = 0; i + unit < n; i++)
        buf_byte(ret, (uint8_t)(f->name[i] == '_' ? ' ' : f->name[i]));
}

void subject_words(const struct subject *s, struct buf *ret)
{
    const struct baro_section *section = s->figure >= 0 ? baro_summary_section(s->fact->section) : NULL;
    if (s->mark) {
        text_escaped(ret, s->mark, strlen(s->mark));
        return;
    }
    put_words(s->fact, ret);
    if (section && *section->name && strcmp(section->name, "job") != 0 && strcmp(section->name, "limits") != 0)
        buf_printf(ret, " (%s)", section->name);
    if (s->of.scope && *s->of.name)
        buf_printf(ret, " of %s %s", s->of.scope, s->of.name); /* is escaped */
}

void subject_put(const struct subject *s, struct figure f, struct buf *ret)
{
    if (s->mark && isfinite(f.value))
        chart_value_text(CHART_NUMBER, f.value, ret);
    else
        tape_figures_put(s->fact, f, ret);
}

static int name_it(struct subject *s, struct baro_error *err)
{
    struct buf b = {0};
    if (s->figure >= 0)
        tape_figures_name((size_t)s->figure, &b);
    else if (s->mark)
        buf_printf(&b, "mark.%s", s->mark);
    else
        buf_printf(&b, "%s:%s %s", s->of.scope, s->of.name, s->fact->name);
    buf_byte(&b, 0);
    s->name = b.failed ? NULL : strdup((const char *)b.at);
    buf_done(&b);
    return s->name ? 1 : error_set(err, -ENOMEM, "out of memory");
}

int subject_parse(const char *word, struct subject *ret, struct baro_error *err)
{
    static const char *const scopes[] = {"phase:", "command:", "task:"};
    static const char mark[] = "mark.";
    *ret = (struct subject){.figure = tape_figures_find(word)};
    if (ret->figure >= 0) {
        ret->fact = tape_figures_fact((size_t)ret->figure);
        return name_it(ret, err);
    }
    if (strncmp(word, mark, strlen(mark)) == 0 && word[strlen(mark)]) {
        ret->mark = strdup(word + strlen(mark));
        ret->fact = &mark_fact;
        return ret->mark ? name_it(ret, err) : error_set(err, -ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < sizeof(scopes) / sizeof(*scopes); i++) {
        if (strncmp(word, scopes[i], strlen(scopes[i])) != 0)
            continue;
        char *text = strdup(word);
        int code = text ? 0 : error_set(err, -ENOMEM, "out of memory");
        if (text && !strpbrk(text, " \t"))
            code =
                error_set(err, BARO_E_SYNTAX, "'%.80s': which fact of it? Write for instance '%.80s cpu'", word, word);
        code = code < 0 ? code : scoped_fact_parse(scoped_fact_trimmed(text), &ret->of, err);
        ret->fact = ret->of.fact;
        free(text);
        return code < 0 ? code : name_it(ret, err);
    }
    return 0;
}

void subject_done(struct subject *s)
{
    free(s->of.name);
    free(s->mark);
    free(s->name);
}

/* ---- values that are in no figures ---- */

/* A name with * or ? may fit several: the highest value, as `baro check` takes the worst one. */
static int scoped_value(const struct scoped_fact *of, const struct baro_fold *fold, struct figure *ret)
{
    struct baro_runset *set = NULL;
    int code = baro_runset_new(&set, NULL);
    if (code >= 0)
        code = baro_runset_add(set, "", fold, NULL);
    for (size_t i = 0; code >= 0 && i < baro_runset_rows(set); i++) {
        struct baro_value v;
        if (!scoped_fact_names(of, baro_runset_row(set, i)) || baro_runset_value(set, i, 0, &v) != BARO_PRESENT)
            continue;
        if (isnan(ret->value) || v.real > ret->value)
            *ret = (struct figure){v.real, (uint8_t)v.flags};
    }
    baro_runset_free(set);
    return code;
}

static double number_of(const struct baro_attribute *a)
{
    return a->type == BARO_ATTRIBUTE_REAL       ? a->real
           : a->type == BARO_ATTRIBUTE_UNSIGNED ? (double)a->u64
           : a->type == BARO_ATTRIBUTE_SIGNED   ? (double)a->i64
                                                : NAN;
}

static void mark_value(const char *name, const struct baro_timeline *t, struct figure *ret)
{
    for (size_t i = 0; i < baro_timeline_count(t); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(t, i);
        for (size_t k = 0; item->kind == BARO_TIMELINE_MARK && k < item->attribute_count; k++) {
            double v = number_of(&item->attribute[k]);
            if (strcmp(item->attribute[k].name, name) == 0 && isfinite(v))
                ret->value = v;
        }
    }
}

bool subject_read(struct log *l, struct tape_row *row, const struct subject *s, struct figure *ret)
{
    struct baro_tape *tape = NULL;
    struct baro_fold *fold = NULL;
    *ret = (struct figure){.value = NAN};
    if (s->figure >= 0) {
        const struct figures *f = log_figures(l, row);
        *ret = f ? f->at[s->figure] : *ret;
        return f;
    }
    if (catalogue_figure(l->catalogue, row, s->name, ret))
        return true;
    tape_row_read(row);
    int code = tape_row_open(row, FIGURES_EACH_MOST, &tape, NULL);
    if (code >= 0)
        code = baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, NULL);
    if (code >= 0 && s->mark)
        mark_value(s->mark, baro_fold_timeline(fold), ret);
    else if (code >= 0)
        code = scoped_value(&s->of, fold, ret);
    if (code >= 0)
        catalogue_keep_figure(l->catalogue, row, s->name, ret);
    l->walked += code >= 0;
    baro_fold_free(fold);
    baro_tape_close(tape);
    return code >= 0;
}
