/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#define LEAST 4u

void *array_room(void *at, size_t n, size_t *cap, size_t element_size)
{
    if (n < *cap)
        return at;
    size_t more = *cap ? 2 * *cap : LEAST;
    void *grown = more > *cap && more <= SIZE_MAX / element_size ? realloc(at, more * element_size) : NULL;
    if (grown)
        *cap = more;
    return grown;
}
