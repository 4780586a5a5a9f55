/* SPDX-License-Identifier: Apache-2.0 */
/* A pusher that resumes: prints a line for each sample and each exit of a tape, and keeps its position in a file.
 * Started anew it goes on where it was, with nothing twice and nothing missed: push TAPE POSITION-FILE
 * If it is killed before it has saved its position, it prints again what it printed since. A program that can't have
 * that saves the position together with what it makes of each record (baro/tape.h). */
#include <baro/baro.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static void push(const struct baro_tape *tape, const struct baro_record *record)
{
    uint64_t cpu_ns;
    const struct baro_row *row = NULL;
    if (record->kind == BARO_RECORD_SAMPLE)
        row = baro_sample_row(record->u.sample, BARO_KIND_JOB, 0);
    else if (record->kind == BARO_RECORD_EXIT)
        row = record->u.exit;
    int kind = baro_row_kind(row), cpu = baro_tape_metric_find(tape, kind, "cpu_ns");
    if (row && baro_row_value(row, cpu, &cpu_ns) == BARO_PRESENT)
        printf("%" PRIu64 " %s %.9f %s\n", record->t_ns, baro_kind_name(kind),
               (double)cpu_ns / baro_unit_divisor(BARO_UNIT_NS), baro_unit_ucum(BARO_UNIT_NS));
}

/* The file has the old position or the new one at each time. */
static bool save(const char *path, const char *position)
{
    char other[4096];
    snprintf(other, sizeof(other), "%s.new", path);
    FILE *file = fopen(other, "w");
    if (file && fputs(position, file) >= 0 && fclose(file) == 0 && rename(other, path) == 0)
        return true;
    perror(other);
    return false;
}

int main(int argc, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape;
    struct baro_record record;
    char position[BARO_POSITION_SIZE] = "";
    int code;
    if (argc != 3) {
        fprintf(stderr, "usage: push TAPE POSITION-FILE\n");
        return 2;
    }
    FILE *file = fopen(argv[2], "r");
    if (file && !fgets(position, sizeof(position), file))
        position[0] = 0;
    if (file)
        fclose(file);
    if (baro_tape_open_named(&tape, argv[1], &err) < 0) {
        fprintf(stderr, "push: %s\n", err.text);
        return 1;
    }
    code = position[0] ? baro_tape_seek_to(tape, position, &err) : 1;
    if (code == 0)
        fprintf(stderr, "push: records are missing: their segment was removed\n");
    while (code >= 0 && (code = baro_tape_next(tape, &record, &err)) > 0)
        push(tape, &record);
    baro_tape_tell(tape, position);
    baro_tape_close(tape);
    if (code < 0) {
        fprintf(stderr, "push: %s\n", err.text);
        return 1;
    }
    /* Before the position is saved: what was not written is not behind it. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("push");
        return 1;
    }
    return save(argv[2], position) ? 0 : 1;
}
