/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-log/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fmt.h"
#include "output/text/read_fact.h"
#include "programs/common/scoped_fact.h"

static bool is_figure(const struct baro_fact *f)
{
    const struct baro_section *s = baro_summary_section(f->section);
    return s && !s->is_table && f->type != BARO_FACT_TEXT && f->type != BARO_FACT_TIME;
}

static baro_fact_id next_figure(baro_fact_id id)
{
    while (id < baro_summary_fact_count() && !is_figure(baro_summary_fact(id)))
        id++;
    return id;
}

size_t tape_figures_count(void)
{
    size_t n = 0;
    for (baro_fact_id id = next_figure(0); id < baro_summary_fact_count(); id = next_figure(id + 1))
        n++;
    return n;
}

static baro_fact_id id_of(size_t i)
{
    baro_fact_id id = next_figure(0);
    while (i--)
        id = next_figure(id + 1);
    return id;
}

const struct baro_fact *tape_figures_fact(size_t i)
{
    return baro_summary_fact(id_of(i));
}

void tape_figures_name(size_t i, struct buf *ret)
{
    const struct baro_fact *f = tape_figures_fact(i);
    const char *section = baro_summary_section(f->section)->name;
    buf_printf(ret, "%s%s%s", section, *section ? "." : "", f->name);
}

/* Is the word the name of the fact, with or without its unit? */
static bool is_named(const struct baro_fact *f, const char *word)
{
    size_t n = strlen(word);
    const char *unit = strncmp(f->name, word, n) == 0 ? f->name + n : "?";
    return !*unit || strcmp(unit, "_ns") == 0 || strcmp(unit, "_bytes") == 0;
}

static int find_in(const char *section, const char *word)
{
    int found = -1;
    baro_fact_id id = next_figure(0);
    for (int i = 0; id < baro_summary_fact_count() && found < 0; i++, id = next_figure(id + 1)) {
        const struct baro_fact *f = baro_summary_fact(id);
        found = strcmp(baro_summary_section(f->section)->name, section) == 0 && is_named(f, word) ? i : -1;
    }
    return found;
}

int tape_figures_find(const char *name)
{
    static const char *const sections[] = {"", "job", "limits", "exit", "gpu", "host", "recorder"};
    static const char *const words[][2] = {{"memory", "rss_peak"}, {"write", "io_write"}};
    char section[64];
    const char *dot = strrchr(name, '.');
    if (dot && (size_t)(dot - name) < sizeof(section)) {
        memcpy(section, name, (size_t)(dot - name));
        section[dot - name] = 0;
        return find_in(section, dot + 1);
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        name = strcmp(name, words[i][0]) == 0 ? words[i][1] : name;
    const char *other = scoped_fact_of_short_name(name);
    name = other ? other : name;
    int found = -1;
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && found < 0; i++)
        found = find_in(sections[i], name);
    return found;
}

void tape_figures_put(const struct baro_fact *fact, struct figure f, struct buf *ret)
{
    if (isnan(f.value)) {
        buf_byte(ret, '-');
        return;
    }
    buf_str(ret, baro_value_prefix(f.flags, BARO_PREFIX_SYMBOL));
    if (fact->unit == BARO_UNIT_RATIO)
        buf_printf(ret, "%.1f %%", 100 * f.value);
    else if (fact->type == BARO_FACT_REAL)
        fmt_decimal(ret, f.value, 2);
    else
        report_format(fact)(ret, whole_of(f.value + 0.5));
}

static struct figures *figures_of(const struct baro_fold *fold)
{
    size_t n = tape_figures_count();
    struct figures *f = calloc(1, sizeof(*f) + n * sizeof(*f->at));
    if (!f)
        return NULL;
    f->n = n;
    f->need = (struct baro_need)BARO_NEED_INIT;
    baro_fold_need(fold, &f->need);
    baro_fact_id id = next_figure(0);
    for (size_t i = 0; i < n; i++, id = next_figure(id + 1)) {
        struct baro_value v;
        baro_summary_value(baro_fold_summary(fold), id, 0, &v);
        f->at[i] = (struct figure){baro_fact_real(baro_summary_fact(id), &v), (uint8_t)v.flags};
    }
    return f;
}

struct figures *tape_figures_read(const struct tape_row *row, struct baro_error *err)
{
    struct baro_tape *tape = NULL;
    struct baro_fold *fold = NULL;
    struct figures *f = NULL;
    int code = tape_row_open(row, FIGURES_EACH_MOST, &tape, err);
    if (code >= 0)
        code = baro_fold_of_tape(tape, BARO_FOLD_VERDICTS, &fold, err);
    if (code >= 0 && !(f = figures_of(fold)))
        error_set(err, -ENOMEM, "out of memory");
    baro_fold_free(fold);
    baro_tape_close(tape);
    return f;
}
