/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/formats.h"

#include "output/page/page.h"

/* The names are those of report_format_names (programs/common/reader_options.c), in the same order. */
const struct report_format report_formats[] = {
    {"html", ".html", report_html, NULL},
    {"markdown", ".md", report_markdown, several_markdown},
    {"json", ".json", report_json, several_json},
    {.name = NULL},
};

int report_html(const struct report_input *in, baro_sink *sink, void *context, struct baro_error *err)
{
    struct page_options options = {.tape_name = in->name, .zone = in->zone};
    return page_write(in->tape, &options, sink, context, err);
}
