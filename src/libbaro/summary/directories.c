/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of directories whose size was recorded (--du), as the last sample has them. */
#include "libbaro/summary/facts.h"

void fact_directory(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_cell *cell = s->fold.directories.at[row].cell;
    bool is_short = !cell[DIRECTORY_unread].absent_now && cell[DIRECTORY_unread].last > 0;
    value_u64(ret, cell[of].absent_now, cell[of].last);
    value_flag(ret, BARO_VALUE_LOWER_BOUND,
               is_short && of != DIRECTORY_unread && of != DIRECTORY_walk && of != DIRECTORY_read_at);
    if (of == DIRECTORY_read_at && !ret->absent) /* since the start of the command */
        ret->u64 = ret->u64 > s->life.start_ns ? ret->u64 - s->life.start_ns : 0;
}

void fact_directory_path(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    (void)of;
    ret->text = s->fold.directories.at[row].name;
}

void fact_directory_task(const struct baro_summary *s, int of, size_t row, struct baro_value *ret)
{
    const struct fold_entity *task = fold_entity_find(&s->fold.tasks, s->fold.directories.at[row].owner);
    (void)of;
    value_text(ret, task ? BARO_PRESENT : BARO_ABSENT_NONE, task ? task->name : NULL);
}
