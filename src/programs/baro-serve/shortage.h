/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did an allocation of this thread fail? What is made of a tape has hundreds of parts, each of them allocated, and one
 * that is left out would be wrong without a mark. So what was made meanwhile is given up.
 */
#ifndef PROGRAMS_BARO_SERVE_SHORTAGE_H
#define PROGRAMS_BARO_SERVE_SHORTAGE_H

/* How many have failed so far in the calling thread; always 0 with a sanitizer, and where glibc is not the library. */
unsigned shortage_count(void);

#endif
