/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a report folder: the facts, and the pictures with descriptions. Only for the files of this folder. */
#ifndef PROGRAMS_BARO_REPORT_FOLDER_PAGE_H
#define PROGRAMS_BARO_REPORT_FOLDER_PAGE_H

#include "output/chart/figure.h"
#include "baro/summary.h"

#define FOLDER_PICTURES 40u

struct folder_picture {
    const struct chart *chart;
    char name[64];
};

struct folder_page {
    size_t number; /* number of the tape in a report of several; 0: a report of one */
    const struct baro_summary *summary;
    const struct chart_set *figures;
    struct folder_picture picture[FOLDER_PICTURES];
    size_t n;
};

void folder_page(const struct folder_page *page, struct buf *ret);

#endif
