/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where memory ends. What a reader prints has hundreds of parts, each of them allocated, and one that is left out would
 * be wrong without a mark. Example: with one failed allocation `baro export` wrote a row without `cores`, a report had
 * 118 MB for 136, and a plot lacked a curve's name. So a program that links out_of_memory.c, whose allocator's
 * functions are those of the C library but for that, hears of each failure.
 */
#ifndef PROGRAMS_COMMON_OUT_OF_MEMORY_H
#define PROGRAMS_COMMON_OUT_OF_MEMORY_H

/* The program's: an allocation has failed. If it returns, the caller gets NULL. That of out_of_memory_end.c is
 * memory_end().
 */
void memory_ran_out(void);
/* Ends the program with status 2 and one line. What it has printed so far is complete lines and goes out. It returns
 * where the program is ending already: in an exit handler. */
void memory_end(void);

#endif
