/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/* Makes room for one more element behind the n that there are; *cap is the number that has room, 0 at first. Returns
 * the array, which may have moved, or NULL if out of memory: then `at` stays valid, and *cap as it is. */
void *array_room(void *at, size_t n, size_t *cap, size_t element_size);

#endif
