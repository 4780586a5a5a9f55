/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of whole jobs: what their columns are made of. */
#include "output/rows/fleet_columns.h"

#include <string.h>

#include "unit.h"

/* A fact that has another name now would be a column without values. */
TEST(each_column_is_a_fact_or_computed)
{
    for (int t = 0; t < FLEET_TABLES; t++) {
        const struct fleet_columns *of = fleet_columns((enum fleet_table_id)t);
        assert_true(of->n > 0);
        for (size_t i = 0; i < of->n; i++) {
            enum baro_fact_type type;
            const struct fleet_source *s = &of->at[i];
            int fact = fleet_fact(s, &type);
            if (s->section || (s->fact && strcmp(s->name, s->fact) == 0 && t == FLEET_PHASE))
                assert_true(fact >= 0);
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(of->at[k].name, s->name);
        }
    }
}

/* Text would be read from numbers. */
TEST(columns_of_headers_are_facts)
{
    enum baro_fact_type type;
    const struct fleet_columns *job = fleet_columns(FLEET_JOB);
    size_t found = 0;
    for (size_t i = 0; i < job->n; i++) {
        int fact = fleet_fact(&job->at[i], &type);
        if (strcmp(job->at[i].name, "uid") == 0 || strcmp(job->at[i].name, "machine_memory_bytes") == 0) {
            assert_true(fact >= 0);
            assert_int_equal(type, BARO_FACT_UNSIGNED);
            found++;
        }
        if (strcmp(job->at[i].name, "start") == 0) {
            assert_int_equal(type, BARO_FACT_TIME);
            found++;
        }
    }
    assert_int_equal(found, 3);
}
