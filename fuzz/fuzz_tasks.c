/* SPDX-License-Identifier: Apache-2.0 */
/* '0': a task file, as baro-tasks reads it, and then its lines as the recorder does. '1': these lines alone. */
#include <stdio.h>

#include "input.h"
#include "programs/baro-tasks/json_lines.h"
#include "libbaro/rules/task_lines.h"

#define PATH "/" /* relative paths start at its folder */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t rules_of(const struct job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_items; i++)
        n += job->items[i].kind == ITEM_MATCH || job->items[i].kind == ITEM_EXACT;
    return n;
}

static size_t sandboxes_of(const struct job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_items; i++)
        n += job->items[i].kind == ITEM_SANDBOX;
    return n;
}

static size_t steps_of(const struct job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_items; i++) {
        struct regex *regex = NULL;
        if (job->items[i].kind != ITEM_MATCH || regex_make(&regex, job->items[i].text, 0, NULL) < 0)
            continue;
        n += regex_size(regex);
        regex_free(regex);
    }
    return n;
}

/* What was found good is read as the same. Too many sandboxes, and too large rules, are found late. */
static void read_lines(const struct job *job, struct task_file *file)
{
    struct buf lines = {0};
    job_lines(job, &lines);
    int code = task_file_parse(file, PATH, span_of((const char *)lines.at, lines.len), NULL);
    size_t boxes = sandboxes_of(job), rules = rules_of(job);
    if (code < 0 && boxes <= SANDBOXES_MOST && steps_of(job) <= RULES_STEPS_MOST)
        abort();
    if (code == 0 && (file->rules.n_tasks != job->n_tasks || file->rules.n != rules || file->n_sandboxes != boxes ||
                      file->n_pins != job->n_items - rules - boxes))
        abort();
    task_file_done(file);
    buf_done(&lines);
}

static void read_document(struct span text, struct task_file *file)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct document d;
    struct job job = {0};
    int code = document_parse(&d, PATH, text, &err);
    if (code == 0)
        code = job_check(&d, &job);
    if (code == 0)
        read_lines(&job, file);
    else if (strncmp(err.text, PATH ":", 2) != 0) /* an error says where it is */
        abort();
    job_done(&job);
    document_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct task_file file;
    struct fuzz_input in;
    if (!fuzz_input(data, size, 2, &in))
        return 0;
    if (in.which == 0) {
        read_document(in.text, &file);
    } else {
        task_file_parse(&file, PATH, in.text, NULL);
        task_file_done(&file);
    }
    fuzz_done(&in);
    return 0;
}
