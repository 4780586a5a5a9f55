/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "programs/baro-push/encode.h"

static int by_series(const void *a, const void *b, void *batch)
{
    const struct point *at = ((const struct batch *)batch)->at;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    if (at[i].series != at[k].series)
        return at[i].series < at[k].series ? -1 : 1;
    return (i > k) - (i < k);
}

size_t *batch_by_series(const struct batch *batch)
{
    size_t *order = calloc(batch->n + 1, sizeof(*order));
    for (size_t i = 0; order && i < batch->n; i++)
        order[i] = i;
    if (order)
        qsort_r(order, batch->n, sizeof(*order), by_series, (void *)batch);
    return order;
}
