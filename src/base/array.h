/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/* Makes room for one more element after the n existing ones. *cap is the number of elements that fit, 0 at first.
 * Returns the array, which may have moved, or NULL if out of memory: then `at` and *cap are unchanged. */
void *array_room(void *at, size_t n, size_t *cap, size_t element_size);

/* Makes room for n elements. It grows by half at least, so that a steady user allocates nothing. *at is a pointer to
 * the elements, of any type. Returns 0 or -ENOMEM: then *at and *cap are unchanged. */
int array_reserve(void *at, size_t n, size_t *cap, size_t element_size);

#endif
