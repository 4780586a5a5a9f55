/* SPDX-License-Identifier: Apache-2.0 */
/* Draws charts as SVG in few bytes: elements have classes instead of colours, and attributes have the numbers for
 * programs. */
#include <math.h>
#include <string.h>

#include "output/chart/canvas.h"

/* ---- the style ---- */

/* The style sheet of an SVG file. It has colours and no variables, because many programs that show SVG do not know
 * variables. */

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

/* Writes the style sheet of an SVG file that stands alone. */
static void svg_style(struct buf *ret)
{
    shapes(ret);
    colors(ret, false);
    buf_str(ret, "@media(prefers-color-scheme:dark){\n");
    colors(ret, true);
    buf_str(ret, "}\n");
}

struct svg {
    struct canvas canvas;
    const struct chart *chart;
    struct buf *out;
    struct buf path;
    long x, y;           /* end of the path so far, in tenths of a pixel */
    long next_x, next_y; /* the next point, which is not written yet: if the one after it lies on the same line, it is
                            left out */
    bool pending;
};

/* Writes tenths as a number, without ".0". */
static void tenths(struct buf *b, long v)
{
    if (v < 0)
        buf_byte(b, '-');
    v = v < 0 ? -v : v;
    buf_u64(b, (uint64_t)v / 10);
    if (v % 10)
        buf_printf(b, ".%ld", v % 10);
}

static long in_tenths(double v)
{
    return lround(v * 10);
}

static void attribute(struct svg *s, const char *name, double value)
{
    buf_printf(s->out, " %s=\"%.17g\"", name, value);
}

static void attribute_ns(struct svg *s, const char *name, uint64_t value)
{
    buf_printf(s->out, " %s=\"%llu\"", name, (unsigned long long)value);
}

static void attribute_text(struct svg *s, const char *name, const char *value)
{
    buf_printf(s->out, " %s=\"", name);
    chart_xml_text(s->out, value, strlen(value));
    buf_byte(s->out, '"');
}

static void title(struct svg *s, const char *text)
{
    buf_str(s->out, "<title>");
    chart_xml_text(s->out, text, strlen(text));
    buf_str(s->out, "</title>");
}

static void begin_curve(struct svg *s, const struct chart_curve *curve)
{
    buf_str(s->out, "<g class=\"curve\"");
    attribute_text(s, "data-curve", curve->name);
    attribute(s, "data-max", curve->max);
    attribute(s, "data-mean", curve->mean);
    attribute(s, "data-last", curve->last);
    if (curve->max_is_bound)
        buf_str(s->out, " data-max-is-lower-bound=\"1\"");
    buf_str(s->out, "><title>");
    chart_xml_text(s->out, curve->name, strlen(curve->name));
    buf_str(s->out, curve->max_is_bound ? ": at its highest " : ": at most ");
    chart_max_text(s->chart->unit, curve, s->out);
    buf_str(s->out, ", on average ");
    chart_value_text(s->chart->unit, curve->mean, s->out);
    buf_str(s->out, "</title>");
}

static void begin_span(struct svg *s, const struct chart_span *span)
{
    static const char *const kinds[] = {
        [CHART_PHASE] = "phase", [CHART_MARK] = "mark", [CHART_EVENT] = "event", [CHART_GAP] = "gap"};
    buf_printf(s->out, "<g data-span=\"%s\"", kinds[span->kind]);
    attribute_ns(s, "data-begin-ns", span->begin_ns);
    attribute_ns(s, "data-end-ns", span->end_ns);
    buf_str(s->out, ">");
    title(s, span->text);
}

static void begin_part(struct canvas *c, enum chart_part part, const void *data)
{
    struct svg *s = (struct svg *)c;
    if (part == CHART_PART_CURVE) {
        begin_curve(s, data);
        return;
    }
    if (part == CHART_PART_SPAN) {
        begin_span(s, data);
        return;
    }
    static const char *const classes[] = {[CHART_PART_GRID] = "grid",
                                          [CHART_PART_LIMIT] = "limit",
                                          [CHART_PART_MARK] = "mark",
                                          [CHART_PART_SPANS] = "spans",
                                          [CHART_PART_LEGEND] = "legend"};
    buf_printf(s->out, "<g class=\"%s\"", classes[part]);
    if (part == CHART_PART_LIMIT) {
        const struct chart_limit *limit = data;
        attribute_text(s, "data-limit", limit->name);
        attribute(s, "data-value", limit->value);
    }
    if (part == CHART_PART_MARK) {
        const struct chart_mark *mark = data;
        attribute(s, "data-value", mark->value);
        attribute_ns(s, "data-t-ns", mark->t_ns);
        buf_str(s->out, ">");
        title(s, mark->text);
        return;
    }
    buf_str(s->out, part == CHART_PART_GRID || part == CHART_PART_LEGEND ? " aria-hidden=\"true\">" : ">");
}

static void end_part(struct canvas *c)
{
    buf_str(((struct svg *)c)->out, "</g>\n");
}

/* ---- paths ---- */

static void write_point(struct svg *s, long x, long y)
{
    long dx = x - s->x, dy = y - s->y;
    if (dx == 0 && dy == 0)
        return;
    buf_byte(&s->path, dy == 0 ? 'h' : dx == 0 ? 'v' : 'l');
    if (dy == 0) {
        tenths(&s->path, dx);
    } else if (dx == 0) {
        tenths(&s->path, dy);
    } else {
        tenths(&s->path, dx);
        if (dy >= 0)
            buf_byte(&s->path, ' ');
        tenths(&s->path, dy);
    }
    s->x = x;
    s->y = y;
}

static void flush_point(struct svg *s)
{
    if (s->pending)
        write_point(s, s->next_x, s->next_y);
    s->pending = false;
}

static void move(struct canvas *c, double x, double y)
{
    struct svg *s = (struct svg *)c;
    flush_point(s);
    s->x = in_tenths(x);
    s->y = in_tenths(y);
    buf_byte(&s->path, 'M');
    tenths(&s->path, s->x);
    buf_byte(&s->path, ' ');
    tenths(&s->path, s->y);
}

static void line_to(struct canvas *c, double x, double y)
{
    struct svg *s = (struct svg *)c;
    long to_x = in_tenths(x), to_y = in_tenths(y);
    /* A point between two others on one line is left out, unless the line turns back there: that is a peak. */
    bool level = s->next_y == s->y && to_y == s->y && (to_x >= s->next_x) == (s->next_x >= s->x);
    bool upright = s->next_x == s->x && to_x == s->x && (to_y >= s->next_y) == (s->next_y >= s->y);
    if (s->pending && !level && !upright)
        flush_point(s);
    s->next_x = to_x;
    s->next_y = to_y;
    s->pending = true;
}

static void ink_class(struct svg *s, struct ink ink)
{
    static const char *const names[] = {[INK_TEXT] = "t",  [INK_MUTED] = "m", [INK_GRID] = "g", [INK_AXIS] = "x",
                                        [INK_LIMIT] = "b", [INK_BAD] = "b",   [INK_GAP] = "gap"};
    if (ink.kind == INK_CURVE || ink.kind == INK_PHASE)
        buf_printf(s->out, "c%u", ink.color < CHART_COLORS ? ink.color : CHART_COLORS);
    else
        buf_str(s->out, names[ink.kind]);
}

static void write_path(struct svg *s, const char *class, struct ink ink, bool close)
{
    flush_point(s);
    if (!s->path.len)
        return;
    buf_printf(s->out, "<path class=\"%s ", class);
    ink_class(s, ink);
    buf_str(s->out, "\" d=\"");
    buf_add(s->out, s->path.at, s->path.len);
    buf_str(s->out, close ? "z\"/>" : "\"/>");
    s->out->failed = s->out->failed || s->path.failed;
    buf_clear(&s->path);
}

static void stroke(struct canvas *c, struct ink ink, enum stroke how)
{
    static const char *const classes[] = {
        [STROKE_LINE] = "l", [STROKE_THIN] = "l n", [STROKE_DASHED] = "l d", [STROKE_GRID] = "l n"};
    write_path((struct svg *)c, classes[how], ink, false);
}

static void fill_path(struct canvas *c, struct ink ink, enum fill how)
{
    static const char *const classes[] = {
        [FILL_SOLID] = "f", [FILL_AREA] = "f a", [FILL_BAND] = "f e", [FILL_SPAN] = "f s"};
    write_path((struct svg *)c, classes[how], ink, true);
}

static void dot(struct canvas *c, double x, double y, double radius, struct ink ink)
{
    struct svg *s = (struct svg *)c;
    buf_str(s->out, "<circle class=\"f ");
    ink_class(s, ink);
    buf_str(s->out, "\" cx=\"");
    tenths(s->out, in_tenths(x));
    buf_str(s->out, "\" cy=\"");
    tenths(s->out, in_tenths(y));
    buf_str(s->out, "\" r=\"");
    tenths(s->out, in_tenths(radius));
    buf_str(s->out, "\"/>");
}

static void text_at(struct canvas *c, double x, double y, enum anchor anchor, struct ink ink, bool bold, bool halo,
                    const char *at, size_t len)
{
    static const char *const anchors[] = {
        [ANCHOR_START] = "", [ANCHOR_MIDDLE] = " text-anchor=\"middle\"", [ANCHOR_END] = " text-anchor=\"end\""};
    struct svg *s = (struct svg *)c;
    buf_str(s->out, "<text class=\"");
    ink_class(s, ink);
    buf_printf(s->out, "%s%s\" x=\"", bold ? " h" : "", halo ? " o" : "");
    tenths(s->out, in_tenths(x));
    buf_str(s->out, "\" y=\"");
    tenths(s->out, in_tenths(y));
    buf_printf(s->out, "\"%s>", anchors[anchor]);
    chart_xml_text(s->out, at, len);
    buf_str(s->out, "</text>");
}

/* ---- the file ---- */

/* "CPU by command. peak 1.97 cores. limit 2.00 cores": for screen readers. */
static void accessible_text(struct svg *s)
{
    const struct chart *c = s->chart;
    chart_xml_text(s->out, c->title, strlen(c->title));
    for (size_t i = 0; i < c->n_marks; i++) {
        buf_str(s->out, ". ");
        chart_xml_text(s->out, c->marks[i].text, strlen(c->marks[i].text));
    }
    for (size_t i = 0; i < c->n_limits; i++) {
        buf_str(s->out, ". ");
        chart_xml_text(s->out, c->limits[i].name, strlen(c->limits[i].name));
        buf_byte(s->out, ' ');
        chart_limit_text(c, &c->limits[i], s->out);
    }
}

static void root(struct svg *s, const struct chart_picture *p, const struct layout *l)
{
    const struct chart *c = s->chart;
    buf_str(s->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" viewBox=\"0 0 ");
    buf_printf(s->out, "%u %u\" width=\"%u\" height=\"%u\"", p->width, p->height, p->width, p->height);
    attribute_text(s, "data-figure", c->id);
    attribute_text(s, "data-unit", chart_unit_name(c->unit));
    attribute_ns(s, "data-from-ns", c->from_ns);
    attribute_ns(s, "data-to-ns", c->to_ns);
    attribute_ns(s, "data-start-ns", c->start_ns);
    attribute(s, "data-axis-end", l->top);
    buf_str(s->out, " data-plot=\"");
    tenths(s->out, in_tenths(l->x));
    buf_byte(s->out, ' ');
    tenths(s->out, in_tenths(l->y));
    buf_byte(s->out, ' ');
    tenths(s->out, in_tenths(l->width));
    buf_byte(s->out, ' ');
    tenths(s->out, in_tenths(l->height));
    buf_str(s->out, "\" aria-label=\"");
    accessible_text(s);
    buf_str(s->out, "\">\n");
}

void chart_svg(const struct chart *c, const struct chart_picture *p, struct buf *ret)
{
    struct layout l;
    struct svg s = {.canvas = {.begin = begin_part,
                               .end = end_part,
                               .move = move,
                               .line = line_to,
                               .stroke = stroke,
                               .fill = fill_path,
                               .dot = dot,
                               .text = text_at},
                    .chart = c,
                    .out = ret};
    chart_lay_out(c, p, &l);
    root(&s, p, &l);
    title(&s, c->title);
    buf_str(ret, "<style>");
    svg_style(ret);
    buf_str(ret, "</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n");
    chart_draw(c, p, &l, &s.canvas);
    buf_str(ret, "</svg>\n");
    buf_done(&s.path);
}
