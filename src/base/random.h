/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

/* Fills memory with random bytes and never waits for them. Early at boot, before the kernel has any, they are
 * computed from the clocks and an address, which nobody outside of this process knows exactly. */
void random_fill(void *ret, size_t len);

#endif
