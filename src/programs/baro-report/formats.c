/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/formats.h"

/* The names are those of report_format_names (programs/common/reader_options.c), in the same order. */
const struct report_format report_formats[] = {
    {"html", ".html", NULL, NULL},
    {"markdown", ".md", document_markdown, several_markdown},
    {"json", ".json", document_json, several_json},
    {.name = NULL},
};
