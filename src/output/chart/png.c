/* SPDX-License-Identifier: Apache-2.0 */
/* PNG with cairo. */
#include <errno.h>

#include "base/error.h"
#include "output/chart/canvas.h"
#include "output/rows/escaped.h"

#ifndef HAVE_CAIRO

bool chart_has_png(void)
{
    return false;
}

int chart_png(const struct chart *c, const struct chart_picture *p, struct buf *ret, struct baro_error *err)
{
    (void)c;
    (void)p;
    (void)ret;
    return error_set(err, -ENOTSUP, "this baro was built without cairo and can't write PNG");
}

#else

#include <cairo.h>

#ifdef __SANITIZE_ADDRESS__
/* fontconfig keeps what it has read of fonts until the process ends. The run-time library finds these functions only
 * where they are visible. */
#define VISIBLE __attribute__((visibility("default")))
VISIBLE const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}
VISIBLE const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#endif

struct png {
    struct canvas canvas;
    cairo_t *cr;
    bool dark;
};

static cairo_t *cr_of(struct canvas *c)
{
    return ((struct png *)c)->cr;
}

static void set_ink(struct canvas *c, struct ink ink, double alpha)
{
    unsigned rgb = ink_rgb(ink, ((struct png *)c)->dark);
    cairo_set_source_rgba(cr_of(c), (rgb >> 16 & 0xff) / 255.0, (rgb >> 8 & 0xff) / 255.0, (rgb & 0xff) / 255.0, alpha);
}

static void set_back(struct canvas *c)
{
    double v = 1;
    if (((struct png *)c)->dark)
        cairo_set_source_rgb(cr_of(c), 0x16 / 255.0, 0x18 / 255.0, 0x1c / 255.0);
    else
        cairo_set_source_rgb(cr_of(c), v, v, v);
}

static void begin_part(struct canvas *c, enum chart_part part, const void *data)
{
    (void)c;
    (void)part;
    (void)data;
}

static void end_part(struct canvas *c)
{
    (void)c;
}

static void move(struct canvas *c, double x, double y)
{
    cairo_move_to(cr_of(c), x, y);
}

static void line_to(struct canvas *c, double x, double y)
{
    cairo_line_to(cr_of(c), x, y);
}

static void stroke(struct canvas *c, struct ink ink, enum stroke how)
{
    static const double dashes[] = {5, 3};
    cairo_t *cr = cr_of(c);
    set_ink(c, ink, 1);
    cairo_set_line_width(cr, how == STROKE_LINE ? 1.5 : how == STROKE_DASHED ? 1.2 : 1);
    cairo_set_dash(cr, dashes, how == STROKE_DASHED ? 2 : 0, 0);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    cairo_stroke(cr);
}

static void fill_path(struct canvas *c, struct ink ink, enum fill how)
{
    static const double alphas[] = {[FILL_SOLID] = 1, [FILL_AREA] = 0.22, [FILL_BAND] = 0.3, [FILL_SPAN] = 0.4};
    set_ink(c, ink, alphas[how]);
    cairo_fill(cr_of(c));
}

static void dot(struct canvas *c, double x, double y, double radius, struct ink ink)
{
    set_ink(c, ink, 1);
    cairo_new_path(cr_of(c));
    cairo_arc(cr_of(c), x, y, radius, 0, 6.283185307179586);
    cairo_fill(cr_of(c));
}

static void text_at(struct canvas *c, double x, double y, enum anchor anchor, struct ink ink, bool bold, bool halo,
                    const char *at, size_t len)
{
    cairo_t *cr = cr_of(c);
    struct buf b = {0};
    text_escaped(&b, at, len);
    buf_byte(&b, 0);
    if (b.failed)
        return;
    cairo_text_extents_t size;
    cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, bold ? TITLE_SIZE : TEXT_SIZE);
    cairo_text_extents(cr, (const char *)b.at, &size);
    x -= anchor == ANCHOR_END ? size.x_advance : anchor == ANCHOR_MIDDLE ? size.x_advance / 2 : 0;
    cairo_move_to(cr, x, y);
    cairo_text_path(cr, (const char *)b.at);
    if (halo) {
        set_back(c);
        cairo_set_dash(cr, NULL, 0, 0);
        cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
        cairo_set_line_width(cr, 3);
        cairo_stroke_preserve(cr);
    }
    set_ink(c, ink, 1);
    cairo_fill(cr);
    buf_done(&b);
}

static cairo_status_t take_png_bytes(void *context, const unsigned char *at, unsigned len)
{
    buf_add(context, at, len);
    return CAIRO_STATUS_SUCCESS;
}

bool chart_has_png(void)
{
    return true;
}

int chart_png(const struct chart *c, const struct chart_picture *p, struct buf *ret, struct baro_error *err)
{
    double scale = p->scale > 0 ? p->scale : 1;
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(p->width * scale + 0.5), (int)(p->height * scale + 0.5));
    struct png png = {.canvas = {.begin = begin_part,
                                 .end = end_part,
                                 .move = move,
                                 .line = line_to,
                                 .stroke = stroke,
                                 .fill = fill_path,
                                 .dot = dot,
                                 .text = text_at},
                      .cr = cairo_create(surface),
                      .dark = p->dark};
    struct layout l;
    cairo_scale(png.cr, scale, scale);
    set_back(&png.canvas);
    cairo_paint(png.cr);
    chart_lay_out(c, p, &l);
    chart_draw(c, p, &l, &png.canvas);
    cairo_status_t status = cairo_status(png.cr);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(surface, take_png_bytes, ret);
    cairo_destroy(png.cr);
    cairo_surface_destroy(surface);
    if (status != CAIRO_STATUS_SUCCESS || ret->failed)
        return error_set(err, -ENOMEM, "can't draw a PNG: %s", cairo_status_to_string(status));
    return 0;
}

#endif
