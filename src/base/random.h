/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

/* Fills memory with random bytes and never waits for them: early at boot, when the kernel has none, they are what
 * nobody outside of this process knows exactly. */
void random_fill(void *ret, size_t len);

#endif
