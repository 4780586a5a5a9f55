/* SPDX-License-Identifier: Apache-2.0 */
/* The style sheet of an SVG file. It has colours and no variables, because many programs that show SVG do not know
 * variables. */
#include "output/chart/canvas.h"

static const struct {
    enum ink_kind ink;
    const char *fills, *strokes; /* selectors of the elements that are filled or drawn with the colour */
} inks[] = {
    {INK_TEXT, ".t", NULL},   {INK_MUTED, ".m", NULL},       {INK_GRID, NULL, ".l.g"},
    {INK_AXIS, NULL, ".l.x"}, {INK_LIMIT, "text.b", ".l.b"}, {INK_GAP, ".f.gap", NULL},
};
#define INKS (sizeof(inks) / sizeof(*inks))

#define BACK_LIGHT 0xffffffu
#define BACK_DARK 0x16181cu

/* Which elements have which colour. */
static void colors(struct buf *b, bool dark)
{
    for (unsigned i = 0; i <= CHART_COLORS; i++) {
        unsigned rgb = chart_palette[dark][i];
        buf_printf(b, ".chart .f.c%u{fill:#%06x}.chart .l.c%u{stroke:#%06x}\n", i, rgb, i, rgb);
    }
    for (size_t i = 0; i < INKS; i++) {
        unsigned rgb = ink_rgb((struct ink){.kind = inks[i].ink}, dark);
        if (inks[i].fills)
            buf_printf(b, ".chart %s{fill:#%06x}", inks[i].fills, rgb);
        if (inks[i].strokes)
            buf_printf(b, ".chart %s{stroke:#%06x}", inks[i].strokes, rgb);
    }
    unsigned back = dark ? BACK_DARK : BACK_LIGHT;
    buf_printf(b, "\n.chart .back{fill:#%06x}.chart text.o{stroke:#%06x}.chart .f.t{fill:#%06x}\n", back, back,
               ink_rgb((struct ink){.kind = INK_TEXT}, dark));
}

static void shapes(struct buf *b)
{
    buf_str(b, ".chart{font:11px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,\"DejaVu "
               "Sans\",sans-serif}\n"
               ".chart path.l{fill:none;stroke-width:1.5;stroke-linejoin:round}"
               ".chart path.n{stroke-width:1;shape-rendering:crispEdges}"
               ".chart path.d{stroke-dasharray:5 3;stroke-width:1.2}\n"
               ".chart .a{opacity:.22}.chart .e{opacity:.3}.chart .s{opacity:.4}"
               ".chart text.h{font-size:13px;font-weight:600}"
               ".chart text.o{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}\n");
}

void svg_style(struct buf *ret)
{
    shapes(ret);
    colors(ret, false);
    buf_str(ret, "@media(prefers-color-scheme:dark){\n");
    colors(ret, true);
    buf_str(ret, "}\n");
}
