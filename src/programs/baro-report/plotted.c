/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/plotted.h"
#include "output/text/read_fact.h"

int plotted_open(struct plotted *p, const struct cli *cli, const char *name)
{
    struct baro_error err = BARO_ERROR_INIT;
    uint64_t first, last = 0;
    *p = (struct plotted){0};
    int status = reader_open(cli, name, &p->tape, &p->path);
    if (status)
        return status;
    if (baro_fold_of_tape(p->tape, BARO_FOLD_TIMELINE, &p->fold, &err) < 0 ||
        baro_tape_range(p->tape, &first, &last, &err) < 0)
        return cli_fail(cli, &err);
    p->summary = baro_fold_summary(p->fold);
    p->start_ns = report_u64(p->summary, "", "start_ns");
    p->end_ns = p->start_ns + report_u64(p->summary, "", "wall_ns");
    p->end_ns = last > p->end_ns ? last : p->end_ns;
    return 0;
}

void plotted_done(struct plotted *p)
{
    figures_free(p->figures);
    baro_fold_free(p->fold);
    baro_tape_close(p->tape);
}

const struct chart_curve *plotted_main_curve(const struct chart *c)
{
    for (size_t i = 0; i < c->n_curves; i++) {
        if (c->curves[i].shape == CHART_TOTAL)
            return &c->curves[i];
    }
    return c->n_curves ? &c->curves[0] : NULL;
}
