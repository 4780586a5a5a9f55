/* SPDX-License-Identifier: Apache-2.0 */
/* A file as a YAML document, and errors with their place in it. */
#ifndef PROGRAMS_BARO_TASKS_YAML_DOCUMENT_H
#define PROGRAMS_BARO_TASKS_YAML_DOCUMENT_H

#include <stdbool.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

#define DOCUMENT_MOST (1u << 20) /* bytes */
#define DOCUMENT_DEPTH 16u       /* lists and maps within each other; a task file has four */
#define DOCUMENT_ANCHORS 256u    /* and aliases */

struct document {
    const char *path;
    struct buf text;
    yaml_document_t yaml;
    bool loaded;
    struct baro_error *err;
};

/* Returns 0 or a negative code, with one line in err: "FILE:LINE:COLUMN: what; what to do". document_parse(): the
 * same for text that was read already; path: what it is called. in_folder: other users may write into its folder,
 * and could make a link to a file that they can't read. So no link is followed, and the file has to belong to root
 * or to the owner of the folder. */
int document_read(struct document *d, const char *path, bool in_folder, struct baro_error *err);
int document_parse(struct document *d, const char *path, struct span text, struct baro_error *err);
void document_done(struct document *d);

/* Sets the error at this node. Returns a negative code. */
__attribute__((format(printf, 3, 4))) int document_error(const struct document *d, const yaml_node_t *at,
                                                         const char *format, ...);
/* The same for an error about the content of the node, which is escaped already, and what to do. */
int document_error_why(const struct document *d, const yaml_node_t *at, const struct baro_error *why,
                       const char *advice);
unsigned document_line(const yaml_node_t *at);
unsigned document_column(const yaml_node_t *at);

/* Returns what people call it: "a list", "text". */
const char *document_type(const yaml_node_t *at);
/* Is it a scalar without quotes? Only such a scalar can be a number, true or false. */
bool document_is_bare(const yaml_node_t *at);
const char *document_text(const yaml_node_t *at);

#endif
