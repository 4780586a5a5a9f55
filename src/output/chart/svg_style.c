/* SPDX-License-Identifier: Apache-2.0 */
/* The style sheet of charts. In a page colours are variables, which it can set for its themes. A file of its own has
 * the colours themselves, because many programs that show SVG know no variables. */
#include <stdio.h>

#include "output/chart/canvas.h"

static const struct {
    const char *name;
    enum ink_kind ink;
    const char *fills, *strokes; /* selectors of what has it */
} inks[] = {
    {"text", INK_TEXT, ".t", NULL},   {"muted", INK_MUTED, ".m", NULL},       {"grid", INK_GRID, NULL, ".l.g"},
    {"axis", INK_AXIS, NULL, ".l.x"}, {"limit", INK_LIMIT, "text.b", ".l.b"}, {"gap", INK_GAP, ".f.gap", NULL},
};
#define INKS (sizeof(inks) / sizeof(*inks))

#define BACK_LIGHT 0xffffffu
#define BACK_DARK 0x16181cu

static void color_name(unsigned i, char ret[16])
{
    if (i < CHART_COLORS)
        snprintf(ret, 16, "%u", i);
    else
        snprintf(ret, 16, "others");
}

static void variables(struct buf *b, bool dark)
{
    char name[16];
    for (unsigned i = 0; i <= CHART_COLORS; i++) {
        color_name(i, name);
        buf_printf(b, "--chart-%s:#%06x;", name, chart_palette[dark][i]);
    }
    for (size_t i = 0; i < INKS; i++)
        buf_printf(b, "--chart-%s:#%06x;", inks[i].name, ink_rgb((struct ink){.kind = inks[i].ink}, dark));
    buf_printf(b, "--chart-back:#%06x", dark ? BACK_DARK : BACK_LIGHT);
}

static void put_color(struct buf *b, bool as_variable, const char *name, unsigned rgb)
{
    if (as_variable)
        buf_printf(b, "var(--chart-%s)", name);
    else
        buf_printf(b, "#%06x", rgb);
}

/* Which elements have which colour. */
static void colors(struct buf *b, bool as_variables, bool dark)
{
    char name[16];
    for (unsigned i = 0; i <= CHART_COLORS; i++) {
        color_name(i, name);
        buf_printf(b, ".chart .f.c%u{fill:", i);
        put_color(b, as_variables, name, chart_palette[dark][i]);
        buf_printf(b, "}.chart .l.c%u{stroke:", i);
        put_color(b, as_variables, name, chart_palette[dark][i]);
        buf_str(b, "}\n");
    }
    for (size_t i = 0; i < INKS; i++) {
        unsigned rgb = ink_rgb((struct ink){.kind = inks[i].ink}, dark);
        if (inks[i].fills) {
            buf_printf(b, ".chart %s{fill:", inks[i].fills);
            put_color(b, as_variables, inks[i].name, rgb);
            buf_str(b, "}");
        }
        if (inks[i].strokes) {
            buf_printf(b, ".chart %s{stroke:", inks[i].strokes);
            put_color(b, as_variables, inks[i].name, rgb);
            buf_str(b, "}");
        }
    }
    buf_str(b, "\n.chart .back{fill:");
    put_color(b, as_variables, "back", dark ? BACK_DARK : BACK_LIGHT);
    buf_str(b, "}.chart text.o{stroke:");
    put_color(b, as_variables, "back", dark ? BACK_DARK : BACK_LIGHT);
    buf_str(b, "}.chart .f.t{fill:");
    put_color(b, as_variables, "text", ink_rgb((struct ink){.kind = INK_TEXT}, dark));
    buf_str(b, "}\n");
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

void chart_svg_style(struct buf *ret)
{
    buf_str(ret, ":root{");
    variables(ret, false);
    buf_str(ret, "}\n@media(prefers-color-scheme:dark){:root{");
    variables(ret, true);
    buf_str(ret, "}}\n");
    shapes(ret);
    colors(ret, true, false);
}

void svg_style_of_file(struct buf *ret)
{
    shapes(ret);
    colors(ret, false, false);
    buf_str(ret, "@media(prefers-color-scheme:dark){\n");
    colors(ret, false, true);
    buf_str(ret, "}\n");
}
