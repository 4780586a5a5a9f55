/* SPDX-License-Identifier: Apache-2.0 */
#include "output/rows/escaped.h"

#include "baro/text.h"

void text_escaped(struct buf *b, const char *at, size_t len)
{
    if (buf_reserve(b, 4 * len + 1))
        b->len += baro_text_escape(at, len, (char *)b->at + b->len, 4 * len + 1);
}
