/* SPDX-License-Identifier: Apache-2.0 */
/* docs/verdicts.md has what the rules say of themselves, and a sentence of each made from typed evidence. */
#include <math.h>
#include <signal.h>

#include "unit.h"
#include "baro/text.h"
#include "baro/verdict.h"
#include "base/buf.h"
#include "base/fmt.h"
#include "libbaro/sample/sample.h"
#include "libbaro/verdict/verdict.h"
#include "libbaro/verdict/verdict_rule.h"
#include "verdict_world.h"

static struct words words_of_threshold(const struct baro_threshold *t)
{
    struct words w;
    switch (t->unit) {
    case BARO_UNIT_NS: return words_duration(t->value, 0);
    case BARO_UNIT_BYTES: return words_bytes(t->value, 0);
    case BARO_UNIT_RATIO: return words_percent(t->value, 0);
    default: snprintf(w.at, sizeof(w.at), "%g", t->value); return w;
    }
}

static void write_rule(struct buf *b, const struct baro_rule *r, const struct made *m)
{
    static struct world w;
    struct finding f = {.end_ns = 100 * SECOND};
    buf_printf(b, "\n### %s\n\n*%s.* %s\n\n", r->name, baro_verdict_weight_name(r->weight), r->help);
    for (size_t i = 0; i < r->threshold_count; i++)
        buf_printf(b, "- %s: **%s**\n", r->thresholds[i].help, words_of_threshold(&r->thresholds[i]).at);
    world_init(&w);
    m->make(&w);
    assert_true(find_rule(r->name)->apply(&w.e, &w.e.job, &f));
    assert_true(f.brief.len > 0);
    buf_printf(b, "%s> **%s**: %.*s", r->threshold_count ? "\n" : "", r->name, (int)f.brief.len,
               (const char *)f.brief.at);
    if (f.hint.len)
        buf_printf(b, " → %.*s", (int)f.hint.len, (const char *)f.hint.at);
    buf_printf(b, "\n>\n> %.*s", (int)f.title.len, (const char *)f.title.at);
    if (f.advice.len)
        buf_printf(b, " %.*s", (int)f.advice.len, (const char *)f.advice.at);
    buf_str(b, "\n");
    finding_done(&f);
}

static void read_document(const char *path, struct buf *b)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        buf_add(b, part, n);
    buf_byte(b, 0);
    fclose(file);
}

TEST(document)
{
    static const char mark[] = "<!-- rules -->\n";
    struct buf text = {0}, made_part = {0};
    char path[4096];
    if (!getenv("BARO_FIXTURES"))
        skip();
    snprintf(path, sizeof(path), "%s/../../docs/verdicts.md", getenv("BARO_FIXTURES"));
    read_document(path, &text);
    char *found = strstr((char *)text.at, mark);
    assert_non_null(found);
    found += sizeof(mark) - 1;
    for (int i = 0; i < MADE; i++)
        write_rule(&made_part, baro_verdict_rule(i), &made[i]);
    buf_byte(&made_part, 0);
    if (getenv("BARO_GOLDEN_WRITE")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "%.*s%s", (int)(found - (char *)text.at), (char *)text.at, (char *)made_part.at);
        fclose(file);
    } else if (strcmp(found, (char *)made_part.at) != 0) {
        fail_msg("docs/verdicts.md is not what the rules are: BARO_GOLDEN_WRITE=1 writes it");
    }
    buf_done(&text);
    buf_done(&made_part);
}
