/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tape's schema as C source, with maximal compression, because it is done once, by the build. */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "libbaro/tape/schema.h"

int main(int argc, char **argv)
{
    struct buf schema = {0};
    schema_write(&schema);
    size_t cap = ZSTD_compressBound(schema.len);
    unsigned char *packed = malloc(cap);
    FILE *out = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (schema.failed || !packed || !out)
        return 1;
    size_t n = ZSTD_compress(packed, cap, schema.at, schema.len, 19);
    if (ZSTD_isError(n))
        return 1;
    fprintf(out,
            "#include \"libbaro/tape/schema.h\"\n\nconst size_t schema_packed_len = %zu;\nconst uint8_t "
            "schema_packed[] = {",
            n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%u,", i % 24 ? "" : "\n", packed[i]);
    fprintf(out, "\n};\n");
    buf_done(&schema);
    free(packed);
    return ferror(out) | (fclose(out) != 0);
}
