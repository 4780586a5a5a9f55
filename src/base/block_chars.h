/* SPDX-License-Identifier: Apache-2.0 */
/* Curves in block characters: a cell of a terminal has eight heights. */
#ifndef BASE_BLOCK_CHARS_H
#define BASE_BLOCK_CHARS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCKS_LEVELS 8u

/* Returns the height of a value in eighths of a cell, where `full` is this many cells high. A value above 0 is at least
 * one eighth; a value above full is drawn as full. Example: 3 of 8 in one cell are 3, 0.01 of 8 is 1. */
unsigned blocks_height(double value, double full, unsigned cells);
/* Returns the character of a cell that is filled to this many eighths, 0 to 8; ASCII has as many. */
uint32_t blocks_point(unsigned eighths, bool utf8);

#endif
