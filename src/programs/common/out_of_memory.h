/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles allocations that fail. The output of a reader has hundreds of parts, each of them allocated; if one were left
 * out, the output would be wrong without a mark. Example: with one failed allocation `baro export` wrote a row without
 * `cores`, a report had 118 MB for 136, and a plot lacked a curve's name. So a program that links out_of_memory.c,
 * whose allocator is that of the C library, gets a call for each allocation that fails.
 */
#ifndef PROGRAMS_COMMON_OUT_OF_MEMORY_H
#define PROGRAMS_COMMON_OUT_OF_MEMORY_H

/* The program defines it: it is called when an allocation has failed. If it returns, the caller of malloc() gets
 * NULL. out_of_memory_end.c defines it as memory_end(). */
void memory_ran_out(void);
/* Ends the program with status 2 and one line. Output so far consists of complete lines and is written. It returns
 * only if the program is ending already, in an exit handler. */
void memory_end(void);

#endif
