/* SPDX-License-Identifier: Apache-2.0 */
/* The private parts of a selection of columns, for the files of this folder. */
#ifndef LIBBARO_COLUMNS_COLUMNS_H
#define LIBBARO_COLUMNS_COLUMNS_H

#include "baro/columns.h"
#include "baro/interval.h"

struct column_name {
    struct column_name *next;
    char text[];
};

struct baro_columns {
    int rows; /* a kind, or BARO_ROWS_... */
    size_t n;
    struct baro_column *at;
    struct column_name *names; /* names of columns of reasons */
    char **made;               /* names for those metrics of the kind that only the tape has */
    int n_made;
};

/* Is it the name of a column that identifies such rows, or its alias? */
bool columns_identity(int rows, const char *name);

#endif
