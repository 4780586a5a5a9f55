/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "output/rows/escaped.h"
#include "programs/baro/doctor.h"
#include "programs/common/cli.h"

struct doctor_finding *findings_add(struct findings *f, const char *topic, const char *what, enum finding_state state,
                                    const char *grant, const char *format, ...)
{
    struct doctor_finding *one = &f->at[f->n < FINDINGS_MAX ? f->n++ : FINDINGS_MAX - 1];
    va_list arguments;
    *one = (struct doctor_finding){.topic = topic, .what = what, .state = state};
    va_start(arguments, format);
    vsnprintf(one->text, sizeof(one->text), format, arguments);
    va_end(arguments);
    if (grant && state != FOUND_YES)
        snprintf(one->grant, sizeof(one->grant), "%s", grant);
    return one;
}

static const char *const words[] = {
    [FOUND_YES] = "yes", [FOUND_PARTLY] = "partly", [FOUND_NO] = "no", [FOUND_FACT] = ""};

#define WHAT_WIDTH 20

static int topic_width(const struct findings *f)
{
    size_t most = WHAT_WIDTH - 1;
    for (unsigned i = 0; i < f->n; i++)
        most = strlen(f->at[i].what) > most ? strlen(f->at[i].what) : most;
    return (int)most + 1;
}

static void as_text(const struct cli *cli, const struct findings *f, struct buf *out)
{
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m", ""};
    const char *topic = "";
    int width = topic_width(f);
    for (unsigned i = 0; i < f->n; i++) {
        const struct doctor_finding *one = &f->at[i];
        if (strcmp(topic, one->topic) != 0)
            buf_printf(out, "%s%s\n", i ? "\n" : "", one->topic);
        topic = one->topic;
        buf_str(out, "  ");
        buf_str(out, cli->color ? colors[one->state] : "");
        buf_printf(out, "%-6s", words[one->state]);
        buf_str(out, cli->color ? "\033[0m" : "");
        buf_printf(out, "  %-*s", width, one->what);
        text_escaped(out, one->text, strlen(one->text));
        buf_byte(out, '\n');
        bool again = i + 1 < f->n && strcmp(one[1].topic, topic) == 0 &&
                     strcmp(one[1].grant, one->grant) == 0; /* shown once, after the last row with it */
        if (one->grant[0] && !again)
            buf_printf(out, "%*swould be granted by %s\n", width + 10, "", one->grant);
    }
}

static void as_json(const struct findings *f, struct buf *out)
{
    struct json j = {.out = out, .pretty = true};
    json_begin(&j, '[');
    for (unsigned i = 0; i < f->n; i++) {
        const struct doctor_finding *one = &f->at[i];
        json_begin(&j, '{');
        json_key_text(&j, "topic", one->topic);
        json_key_text(&j, "what", one->what);
        json_key_text(&j, "state", one->state == FOUND_FACT ? "fact" : words[one->state]);
        json_key_text(&j, "text", one->text);
        json_key_text(&j, "grant", one->grant[0] ? one->grant : NULL);
        json_end(&j, '}');
    }
    json_end(&j, ']');
}

int cmd_doctor(struct cli *cli, const struct settings *s, char **argv)
{
    struct findings *f = calloc(1, sizeof(*f));
    struct tried *t = f ? doctor_try() : NULL;
    struct buf out = {0};
    (void)argv;
    if (!t) {
        free(f);
        return cli_failf(cli, "out of memory");
    }
    if (s->metrics) {
        doctor_metrics(f, t);
    } else {
        doctor_place(f);
        doctor_sources(f, t, OWN_PROCESSES);
        doctor_others(f, t);
        doctor_sources(f, t, TCP);
        doctor_sockets(f);
        doctor_events(f);
        doctor_sources(f, t, MACHINE);
        doctor_machine(f);
        doctor_sources(f, t, CONTROL_GROUPS);
    }
    doctor_tried_free(t);
    if (s->json)
        as_json(f, &out);
    else
        as_text(cli, f, &out);
    free(f);
    int status = s->json ? cli_out(cli, &out) : cli_out_text(cli, &out);
    buf_done(&out);
    return status;
}
