/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of records with the same values and other texts. */
#ifndef LIBBARO_WRITER_RENAME_H
#define LIBBARO_WRITER_RENAME_H

#include "baro/writer.h"
#include "libbaro/sample/sample.h"

struct room {
    struct room *before;
    size_t used, cap;
    _Alignas(8) unsigned char at[];
};

/* Memory of one record, freed as a whole. */
struct renamer {
    struct baro_writer_options options;
    struct room *room;
    bool failed; /* no memory */
};

void renamer_clear(struct renamer *r);
void renamer_done(struct renamer *r);

/* Each makes *ret, which is valid until renamer_clear(). Parts that do not change are borrowed from the original.
 * Check r->failed afterwards. */
void rename_header(struct renamer *r, struct baro_header *ret, const struct baro_header *from);
void rename_sample(struct renamer *r, struct baro_sample *ret, const struct baro_sample *from);
void rename_exit(struct renamer *r, struct baro_exit *ret, const struct baro_exit *from);
void rename_event(struct renamer *r, struct baro_event *ret, const struct baro_event *from);
void rename_limits(struct renamer *r, struct baro_limits *ret, const struct baro_limits *from);

#endif
