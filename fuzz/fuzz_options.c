/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: the first byte chooses a command, the words after it are separated by NUL. Also all parsers of words
 * that users type: times, sizes, shares, lists of metrics. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "programs/common/opt.h"
#include "programs/common/options.h"
#include "programs/common/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct opt *const tables[] = {options_run,  options_record,  options_summary,
                                               options_show, options_export,  options_ls,
                                               options_rm,   options_metrics, options_doctor};
    struct settings settings;
    struct baro_error err = BARO_ERROR_INIT;
    char *words[WORDS_MAX + 1], *text;
    size_t n = 0, operands;
    bool help;
    if (size < 2)
        return 0;
    const struct opt *table = tables[data[0] % (sizeof(tables) / sizeof(*tables))];
    text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    for (char *at = text; at < text + size && n < WORDS_MAX; at += strlen(at) + 1)
        words[n++] = at;
    words[n] = NULL;
    settings_init(&settings);
    int r = opt_parse(table, words, data[0] & 128, &settings, &help, &err);
    for (operands = 0; r >= 0 && words[operands]; operands++)
        ;
    /* Options that are reported must be the ones that are left, and an error has a message of one line. */
    if ((r >= 0 && !help && (size_t)r != operands) || (r < 0 && (!err.text[0] || strchr(err.text, '\n'))))
        abort();
    free(text);
    return 0;
}
