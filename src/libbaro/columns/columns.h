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
    int rows; /* a kind, or BARO_ROWS_EVENT */
    size_t n;
    struct baro_column *at;
    struct column_name *names; /* names of columns that neither the library nor the tape owns */
};

#endif
