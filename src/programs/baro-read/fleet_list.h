/* SPDX-License-Identifier: Apache-2.0 */
/* baro export --fleet: which tapes, and where in the folder their rows belong. */
#ifndef PROGRAMS_BARO_READ_FLEET_LIST_H
#define PROGRAMS_BARO_READ_FLEET_LIST_H

#include "programs/common/cli.h"
#include "programs/common/tape_list.h"

struct fleet_tape {
    const char *path; /* of the list */
    char *id, *place; /* place: date=2026-11-29/host=node1 */
    uint64_t bytes;   /* its size: a tape that was continued has another */
};

struct fleet_list {
    struct tape_list named;
    struct fleet_tape *at; /* by place */
    size_t n;
    size_t running, unread, earlier, doubled; /* tapes that are not in `at` */
};

/* Finds the tapes that a user named (none: all kept runs), and says which can't be read. Returns 0 or a negative code;
 * to be freed in both cases. */
int fleet_list_read(struct fleet_list *ret, const struct cli *cli, const struct settings *s, char **operands,
                    struct baro_error *err);
void fleet_list_done(struct fleet_list *l);

/* What DIR/.tapes/PLACE says is in the tables already: a line "ID BYTES" for each tape. */
struct fleet_index {
    struct buf text;
};
int fleet_index_read(struct fleet_index *ret, const char *folder, const char *place, struct baro_error *err);
bool fleet_index_has(const struct fleet_index *index, const struct fleet_tape *t);
void fleet_index_done(struct fleet_index *index);

#endif
