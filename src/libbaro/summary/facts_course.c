/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the course: a row for each bucket. */
#include "libbaro/summary/facts.h"

static double per_second(const struct course *c, int k, size_t row)
{
    uint64_t begin_ns = row * c->width_ns, length_ns = c->width_ns;
    if (c->end_ns - begin_ns < length_ns && c->end_ns > begin_ns)
        length_ns = c->end_ns - begin_ns; /* the last stretch: nothing grew after the end */
    double rate = c->grown[k][row] * 1e9 / (double)length_ns;
    return rate > 0 ? rate : 0; /* growth that was added and taken back may leave a rest below 0 */
}

void fact_course(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct course *c = &s->course;
    switch (of) {
    case COURSE_BEGIN: ret->u64 = c->origin_ns + row * c->width_ns; break;
    case COURSE_WIDTH: ret->u64 = c->width_ns; break;
    case COURSE_CORES:
        value_real(ret, c->is_known[COURSE_CPU] ? s->rows.job_absent[JOB_cpu] : BARO_ABSENT_UNKNOWN,
                   per_second(c, COURSE_CPU, row) / 1e9);
        break;
    case COURSE_IO_RATE:
        value_real(ret, c->is_known[COURSE_IO] ? s->rows.job_absent[JOB_io_rchar] : BARO_ABSENT_UNKNOWN,
                   per_second(c, COURSE_IO, row));
        break;
    }
}

void fact_course_memory(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    int absent = s->peaks.sum[of == COURSE_RSS ? PEAK_RSS : PEAK_PSS].absent;
    uint64_t most = s->course.most[of][row];
    bool was_read = of == COURSE_RSS || most; /* 0 pss: no sample had a complete sum */
    value_u64(ret, absent || was_read ? absent : BARO_ABSENT_UNKNOWN, most);
}
