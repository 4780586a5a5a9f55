/* SPDX-License-Identifier: Apache-2.0 */
/* Colours. The first ones are Paul Tol's "bright" scheme, which all usual kinds of colour blindness tell apart. */
#include "output/chart/canvas.h"

const unsigned chart_palette[2][CHART_COLORS + 1] = {
    {0x4477aa, 0xee6677, 0x228833, 0xccbb44, 0x66ccee, 0xaa3377, 0xee7733, 0x009988, 0x5544aa, 0x999933, 0xb4b8bf},
    {0x6b9fd6, 0xf28b98, 0x4fb562, 0xd9cb66, 0x7ed6f2, 0xd070a4, 0xf59a63, 0x3cb9a9, 0x9f91ec, 0xb9b95c, 0x6c727c},
};

unsigned ink_rgb(struct ink ink, bool dark)
{
    static const unsigned light_inks[] = {
        [INK_TEXT] = 0x24292f,  [INK_MUTED] = 0x6b7280, [INK_GRID] = 0xe5e7eb, [INK_AXIS] = 0x9ca3af,
        [INK_LIMIT] = 0xb42318, [INK_BAD] = 0xb42318,   [INK_GAP] = 0xd1d5db};
    static const unsigned dark_inks[] = {
        [INK_TEXT] = 0xe6e8eb,  [INK_MUTED] = 0x9aa2ad, [INK_GRID] = 0x2f343b, [INK_AXIS] = 0x5b626c,
        [INK_LIMIT] = 0xff8a7a, [INK_BAD] = 0xff8a7a,   [INK_GAP] = 0x3a4048};
    if (ink.kind == INK_CURVE || ink.kind == INK_PHASE)
        return chart_palette[dark][ink.color <= CHART_COLORS ? ink.color : CHART_COLORS];
    return (dark ? dark_inks : light_inks)[ink.kind];
}

unsigned chart_phase_color(struct chart_phase_colors *known, const char *name)
{
    static const unsigned colors[] = {0, 2, 6, 4, 5, 3, 7, 8, 9};
    uint64_t hash = 14695981039346656037u;
    unsigned i = 0, most = sizeof known->kind / sizeof *known->kind;
    for (; *name; name++) {
        if (*name < '0' || *name > '9')
            hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    }
    while (i < known->n && known->kind[i] != hash)
        i++;
    if (i == known->n && known->n < most)
        known->kind[known->n++] = hash;
    return colors[i % (sizeof colors / sizeof *colors)];
}
