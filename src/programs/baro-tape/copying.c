/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-tape/copying.h"

static int copy_records(struct baro_tape *tape, struct baro_writer *w, copy_choice *choose, void *context,
                        struct baro_error *err)
{
    struct baro_record record;
    int code = baro_tape_rewind(tape, err);
    while (code >= 0 && (code = baro_tape_next(tape, &record, err)) > 0)
        code = !choose || choose(context, &record) ? baro_writer_add(w, &record, err) : 0;
    return code;
}

void copying_notes(const struct cli *cli, const struct baro_tape *tape, const struct baro_writer *w)
{
    if (baro_writer_left_out(w))
        cli_note(cli, "a newer barograph wrote the tape: %zu metrics that this one does not know were left out",
                 baro_writer_left_out(w));
    if (baro_tape_damage(tape))
        cli_note(cli, "%llu bytes of the tape are damaged and were left out",
                 (unsigned long long)baro_tape_damage(tape));
}

int copy_tape(const struct cli *cli, struct baro_tape *tape, const char *path,
              const struct baro_writer_options *options, copy_choice *choose, void *context)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_writer *w;
    if (baro_writer_new(&w, path, tape, options, &err) < 0)
        return cli_fail(cli, &err);
    int code = copy_records(tape, w, choose, context, &err);
    if (code >= 0)
        code = baro_writer_finish(w, &err);
    if (code >= 0)
        copying_notes(cli, tape, w);
    baro_writer_free(w);
    return code < 0 ? cli_fail(cli, &err) : 0;
}
