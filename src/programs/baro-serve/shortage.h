/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts failed allocations of this thread. An answer consists of hundreds of allocated parts. If one of them is
 * missing, the answer is wrong without showing it, so an answer during which an allocation failed is given up.
 */
#ifndef PROGRAMS_BARO_SERVE_SHORTAGE_H
#define PROGRAMS_BARO_SERVE_SHORTAGE_H

/* Returns how many allocations of the calling thread have failed so far; always 0 with a sanitizer or without glibc. */
unsigned shortage_count(void);

#endif
