/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/family.h"

#include <stdio.h>
#include <string.h>

static void name_family(struct family *f, const char *kind_name, const char *stem, size_t len, enum baro_unit unit)
{
    f->unit = baro_unit_base(unit);
    f->divisor = baro_unit_divisor(unit);
    snprintf(f->name, sizeof(f->name), "baro_%s_%.*s%s%s", kind_name, (int)len, stem, *f->unit ? "_" : "", f->unit);
}

bool family_of_metric(struct family *ret, const char *kind_name, int kind, int id)
{
    const struct baro_metric *m = baro_metric_get(kind, id);
    if (!m)
        return false;
    *ret = (struct family){.help = m->help, .is_counter = m->semantics == BARO_SEM_COUNTER};
    name_family(ret, kind_name, m->stem, strlen(m->stem), m->unit);
    return m->unit != BARO_UNIT_CHAR && m->unit != BARO_UNIT_ENTITY;
}

bool family_of_fact(struct family *ret, const char *kind_name, const struct baro_fact *fact)
{
    /* The name of a fact ends with its unit: "cpu_ns". */
    const char *unit = baro_unit_name(fact->unit);
    size_t len = strlen(fact->name), tail = strlen(unit) ? strlen(unit) + 1 : 0;
    *ret = (struct family){.help = fact->help, .is_counter = fact->semantics == BARO_FACT_SUM};
    name_family(ret, kind_name, fact->name, len > tail ? len - tail : len, fact->unit);
    return fact->type != BARO_FACT_TEXT && fact->type != BARO_FACT_TIME;
}

bool family_group_is_job(const struct baro_header *h)
{
    struct baro_value v;
    const char *mode =
        baro_header_value(h, baro_header_fact_find("cgroup_mode"), 0, &v) == BARO_PRESENT && v.text ? v.text : "";
    return (strcmp(mode, "target") == 0 || strcmp(mode, "members") == 0 || strcmp(mode, "own") == 0);
}
