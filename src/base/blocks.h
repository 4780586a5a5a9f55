/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in block characters: a cell of a terminal has eight heights. */
#ifndef BASE_BLOCKS_H
#define BASE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCKS_LEVELS 8u

/* The height of a value in eighths of a cell, of so many cells that stand for `full`. What is more than nothing is one
 * eighth at least, and what is more than full is full. Example: 3 of 8 in one cell are 3, 0.01 of 8 is 1. */
unsigned blocks_height(double value, double full, unsigned cells);
/* The character of a cell that is filled to so many eighths, 0 to 8. In ASCII there are eight signs as well. */
uint32_t blocks_point(unsigned eighths, bool utf8);

#endif
