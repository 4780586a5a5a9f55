/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-push/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "output/rows/escaped.h"
#include "output/rows/family.h"

#define VALUE_MOST 512

static const struct {
    const char *fact, *label, *attribute;
} facts[] = {
    {"job_id", "job_id", "barograph.job.id"},
    {"step_id", "step", "barograph.job.step"},
    {"rank", "rank", "barograph.job.rank"},
    {"container", "container", "container.name"},
    {"image", "image", "container.image.name"},
    {"pod", "pod", "k8s.pod.name"},
    {"pod_namespace", "pod_namespace", "k8s.namespace.name"},
    {"unit", "unit", "barograph.systemd.unit"},
};

static void add(struct identity *id, const char *label, const char *attribute, const char *value, size_t len,
                bool is_key)
{
    struct buf text = {0};
    if (!len || id->n == IDENTITY_MOST)
        return;
    text_escaped(&text, value, len < VALUE_MOST ? len : VALUE_MOST);
    buf_byte(&text, 0);
    struct called c = {strdup(label), strdup(attribute), text.failed ? NULL : strdup((char *)text.at), is_key};
    buf_done(&text);
    id->failed = id->failed || !c.label || !c.attribute || !c.value;
    id->at[id->n++] = c;
}

/* A tag "gpu.type=a100" is the label tag_gpu_type and the attribute barograph.tag.gpu.type. */
static void add_tag(struct identity *id, const char *tag)
{
    size_t len = strcspn(tag, "=");
    char label[128], attribute[128];
    if (!tag[len] || len > 64)
        return;
    snprintf(label, sizeof(label), "tag_%.*s", (int)len, tag);
    snprintf(attribute, sizeof(attribute), "barograph.tag.%.*s", (int)len, tag);
    for (char *c = label; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    for (size_t i = 0; i < id->n; i++) {
        if (strcmp(id->at[i].label, label) == 0)
            return;
    }
    add(id, label, attribute, tag + len + 1, strlen(tag + len + 1), false);
}

void identity_init(struct identity *ret, struct baro_tape *tape)
{
    const struct baro_header *h = baro_tape_header(tape);
    const char *id = baro_tape_id(tape), *host = baro_header_host(h), *first = baro_header_argv(h)[0];
    const char *command = first ? path_base_name(first) : "", *name = baro_header_name(h);
    const char *service = *name ? name : *command ? command : "machine";
    *ret = (struct identity){0};
    add(ret, FAMILY_JOB, "service.instance.id", id, strlen(id), true);
    add(ret, "instance", "host.name", host, strlen(host), true);
    add(ret, "job", "barograph.source", "barograph", 9, true);
    add(ret, "name", "service.name", service, strlen(service), false);
    add(ret, "command", "process.executable.name", command, strlen(command), false);
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
        struct baro_value v;
        if (baro_header_value(h, baro_header_fact_find(facts[i].fact), 0, &v) == BARO_PRESENT && v.text)
            add(ret, facts[i].label, facts[i].attribute, v.text, strlen(v.text), false);
    }
    for (const char *const *tag = baro_header_tags(h); *tag; tag++)
        add_tag(ret, *tag);
}

void identity_done(struct identity *id)
{
    for (size_t i = 0; i < id->n; i++) {
        free(id->at[i].label);
        free(id->at[i].attribute);
        free(id->at[i].value);
    }
    id->n = 0;
}
