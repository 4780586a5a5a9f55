/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a job at a moment, each below its parent: tree TAPE SECONDS */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baro/baro.h>

static void print_process(const struct baro_row *p, unsigned depth)
{
    int rss = baro_metric_find(BARO_KIND_PROCESS, "rss_bytes");
    uint64_t bytes;
    char name[64]; /* harmless: a process may choose any bytes as its name */
    baro_text_escape(baro_row_name(p), strlen(baro_row_name(p)), name, sizeof(name));
    printf("%*s%" PRId32 " %s", 2 * (int)depth, "", baro_row_pid(p), name);
    if (baro_row_value(p, rss, &bytes) == BARO_PRESENT)
        printf(" (%.1f MB)", (double)bytes / 1e6);
    printf("\n");
}

static int print_forest(const struct baro_sample *s, struct baro_error *err)
{
    size_t n = baro_sample_rows(s, BARO_KIND_PROCESS);
    size_t *order = calloc(n + 1, sizeof(*order));
    ptrdiff_t *parent = calloc(n + 1, sizeof(*parent));
    unsigned *depth = calloc(n + 1, sizeof(*depth));
    int code = order && parent && depth ? baro_sample_forest(s, order, parent, err) : -ENOMEM;
    for (size_t k = 0; code == 0 && k < n; k++) {
        size_t i = order[k];
        depth[i] = parent[i] < 0 ? 0 : depth[parent[i]] + 1;
        print_process(baro_sample_row(s, BARO_KIND_PROCESS, i), depth[i]);
    }
    free(order);
    free(parent);
    free(depth);
    return code;
}

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_sample *s;

    if (argc != 3) {
        fprintf(stderr, "usage: tree TAPE SECONDS\n");
        return 2;
    }
    if (baro_tape_open(&tape, argv[1], &err) < 0) {
        fprintf(stderr, "tree: %s\n", err.text);
        return 1;
    }
    int found = baro_tape_at(tape, (uint64_t)(strtod(argv[2], NULL) * 1e9), BARO_AT_NEAREST, &s, &err);
    baro_tape_close(tape); /* the sample is ours */
    if (found <= 0) {
        fprintf(stderr, "tree: %s\n", found < 0 ? err.text : "the tape has no sample");
        return 1;
    }
    printf("at %.3f s\n", (double)baro_sample_t_ns(s) / 1e9);
    int code = print_forest(s, &err);
    baro_sample_free(s);
    return code < 0;
}
