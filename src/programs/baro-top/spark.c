/* SPDX-License-Identifier: Apache-2.0 */
/* A curve in block characters, of one or more rows. */
#include <math.h>

#include "base/block_chars.h"
#include "programs/baro-top/view.h"

void view_spark(struct grid *g, struct box box, enum style style, const float *value, int n, double scale)
{
    const int levels = (int)BLOCKS_LEVELS;
    for (int i = 0; i < n && box.column + i < box.end; i++) {
        int height = (int)blocks_height((double)value[i], scale, (unsigned)box.rows);
        for (int row = 0; row < box.rows; row++) {
            int here = height - levels * (box.rows - 1 - row);
            here = here < 0 ? 0 : here > levels ? levels : here;
            bool is_gap = isnan(value[i]) && row == box.rows - 1;
            grid_point(g, box.row + row, box.column + i, is_gap ? STYLE_FAINT : style,
                       is_gap ? 0xb7 : blocks_point((unsigned)here, true),
                       is_gap ? ' ' : (char)blocks_point((unsigned)here, false));
        }
    }
}
