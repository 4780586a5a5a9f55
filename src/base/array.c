/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

int array_reserve(void *at, size_t n, size_t *cap, size_t element_size)
{
    void *now;
    if (n <= *cap)
        return 0;
    size_t more = n + n / 2 + LEAST * LEAST;
    memcpy(&now, at, sizeof(now)); /* a pointer of another type: no access through a void ** */
    void *grown = more > n && more <= SIZE_MAX / element_size ? realloc(now, more * element_size) : NULL;
    if (!grown)
        return -ENOMEM;
    memcpy(at, &grown, sizeof(grown));
    *cap = more;
    return 0;
}
