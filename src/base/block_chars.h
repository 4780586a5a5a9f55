/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in block characters: a cell of a terminal has eight heights. */
#ifndef BASE_BLOCK_CHARS_H
#define BASE_BLOCK_CHARS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCKS_LEVELS 8u

/* Returns the height of a value in eighths of a cell. A value of `full` is `cells` cells high, and a larger one no
 * higher. A value above 0 has a height of at least 1. Example: in one cell, 3 of 8 has the height 3, and 0.01 of 8
 * has the height 1. */
unsigned blocks_height(double value, double full, unsigned cells);
/* Returns the character for a cell of which 0 to 8 eighths are filled: a block character, or an ASCII character of
 * about that density. */
uint32_t blocks_point(unsigned eighths, bool utf8);

#endif
