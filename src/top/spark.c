/* SPDX-License-Identifier: Apache-2.0 */
/* A curve in block characters, of one or more rows. */
#include <math.h>

#include "top/view.h"

/* The height in eighths of a row; in ASCII there are eight signs as well. What is not 0 is seen. */
static int height_of(float value, double scale, int rows)
{
    if (isnan(value) || value <= 0 || scale <= 0)
        return 0;
    double eighths = (double)value / scale * 8 * rows;
    return eighths >= 8 * rows ? 8 * rows : eighths < 1 ? 1 : (int)lround(eighths);
}

void view_spark(struct grid *g, struct box box, enum style style, const float *value, int n, double scale)
{
    static const uint32_t blocks[] = {' ', 0x2581, 0x2582, 0x2583, 0x2584, 0x2585, 0x2586, 0x2587, 0x2588};
    static const char ascii[] = " .:-=+*%#";
    for (int i = 0; i < n && box.column + i < box.end; i++) {
        int height = height_of(value[i], scale, box.rows);
        for (int row = 0; row < box.rows; row++) {
            int here = height - 8 * (box.rows - 1 - row);
            here = here < 0 ? 0 : here > 8 ? 8 : here;
            bool is_gap = isnan(value[i]) && row == box.rows - 1;
            grid_point(g, box.row + row, box.column + i, is_gap ? STYLE_FAINT : style,
                       is_gap ? 0xb7 : blocks[here], is_gap ? ' ' : ascii[here]);
        }
    }
}
