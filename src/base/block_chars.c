/* SPDX-License-Identifier: Apache-2.0 */
#include "base/block_chars.h"

unsigned blocks_height(double value, double full, unsigned cells)
{
    const unsigned most = BLOCKS_LEVELS * cells;
    if (!(value > 0) || !(full > 0))
        return 0;
    double height = value / full * most + 0.5;
    return height < 1 ? 1 : height >= most ? most : (unsigned)height;
}

uint32_t blocks_point(unsigned eighths, bool utf8)
{
    static const char ascii[] = " .:-=+*%#";
    eighths = eighths < BLOCKS_LEVELS ? eighths : BLOCKS_LEVELS;
    if (!utf8)
        return (unsigned char)ascii[eighths];
    return eighths ? 0x2580 + eighths : ' ';
}
