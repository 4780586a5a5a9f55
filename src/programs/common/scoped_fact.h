/* SPDX-License-Identifier: Apache-2.0 */
/* A fact of the job, or of a command, phase or task, as users write it: "rss_peak", "phase:link cpu". */
#ifndef PROGRAMS_COMMON_SCOPED_FACT_H
#define PROGRAMS_COMMON_SCOPED_FACT_H

#include "baro/runset.h"

struct scoped_fact {
    int number; /* of its fact among baro_runset_fact() */
    const struct baro_fact *fact;
    const char *scope;
    char *name; /* of the command, phase or task, may have * and ?; "" of the job; escaped; to be freed */
};

/* text: has no blanks at its ends, and is changed. Returns 0, or a negative code with one line in err; name has to be
 * freed in any case. */
int scoped_fact_parse(char *text, struct scoped_fact *ret, struct baro_error *err);
/* Is the row one of these? */
bool scoped_fact_names(const struct scoped_fact *f, const struct baro_runset_row *row);
/* "io_write_bytes" of "written"; NULL if it is no short name. The same names stand for the job's facts everywhere. */
const char *scoped_fact_of_short_name(const char *name);
/* Removes blanks from both ends. */
char *scoped_fact_trimmed(char *text);

#endif
