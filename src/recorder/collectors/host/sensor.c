/* SPDX-License-Identifier: Apache-2.0 */
/* Temperatures. Sensors are listed again when a chip was added or removed. Their values are read over a bus, which
 * takes time, so the helper reads them. */
#include <stdio.h>
#include <string.h>

#include "kernel/sys/sysfs.h"
#include "recorder/collectors/host/state.h"

#define SENSORS_MOST 512u

/* Adds the hash of a name: the sum changes with the set of names, whatever their order. */
static bool add_name(void *context, const char *name, size_t len)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
    *(uint64_t *)context += hash;
    return true;
}

static unsigned same_names(const struct host *h, const char *name)
{
    const struct entity_table *t = &h->table[BARO_KIND_SENSOR];
    size_t len = strlen(name);
    unsigned n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += strncmp(t->at[i]->name, name, len) == 0 && (t->at[i]->name[len] == 0 || t->at[i]->name[len] == '#');
    return n;
}

/* Two disks have the same chip and label: the second one is named nvme/Composite#2. */
static void on_sensor(void *context, const struct sys_sensor *s)
{
    struct host *h = context;
    char name[80];
    for (size_t i = 0; i < h->n_sensors; i++) {
        if (strcmp(h->sensor[i].path, s->path) == 0) {
            h->sensor[i].seen = true;
            return;
        }
    }
    if (h->n_sensors == SENSORS_MOST ||
        !host_grow((void **)&h->sensor, &h->cap_sensors, h->n_sensors, sizeof(*h->sensor)))
        return;
    unsigned same = same_names(h, s->name);
    snprintf(name, sizeof(name), same ? "%s#%u" : "%s", s->name, same + 1);
    struct baro_entity *e = entity_add(&h->table[BARO_KIND_SENSOR], h->o.entity_ids, name, "");
    if (!e)
        return;
    struct sensor *new = &h->sensor[h->n_sensors++];
    *new = (struct sensor){.entity = e, .seen = true};
    memcpy(new->path, s->path, sizeof(new->path));
}

void host_sensors(struct host *h)
{
    uint64_t names = 1;
    if (h->o.sys_fd >= 0) {
        sys_each(h->o.sys_fd, "class/hwmon", add_name, &names);
        sys_each(h->o.sys_fd, "class/thermal", add_name, &names);
    }
    if (names == h->chips)
        return;
    h->chips = names;
    for (size_t i = 0; i < h->n_sensors; i++)
        h->sensor[i].seen = false;
    if (h->o.sys_fd >= 0)
        sys_sensors(h->o.sys_fd, on_sensor, h);
    size_t kept = 0;
    for (size_t i = 0; i < h->n_sensors; i++) {
        if (h->sensor[i].seen)
            h->sensor[kept++] = h->sensor[i];
        else
            entity_remove(&h->table[BARO_KIND_SENSOR], h->sensor[i].entity);
    }
    h->n_sensors = kept;
    if (!kept)
        host_lack(h, HOST_temperature, BARO_ABSENT_UNSUPPORTED);
}

void sensors_request(struct host *h)
{
    for (size_t i = 0; i < h->n_sensors; i++) {
        const struct sensor *s = &h->sensor[i];
        if (!s->barred)
            host_ask(h, (struct helper_request){.key = {(int32_t)s->entity->id, UINT64_C(1) << 32},
                                                .what = HELPER_SENSOR,
                                                .path = s->path});
    }
}

static void hottest(struct host *h)
{
    int64_t most = INT64_MIN;
    uint8_t why = BARO_ABSENT_UNSUPPORTED;
    for (size_t i = 0; i < h->n_sensors; i++) {
        const struct baro_entity *e = h->sensor[i].entity;
        if (e->absent[SENSOR_temperature])
            why = e->absent[SENSOR_temperature];
        else if ((int64_t)e->value[SENSOR_temperature] > most)
            most = (int64_t)e->value[SENSOR_temperature];
    }
    if (most == INT64_MIN)
        host_lack(h, HOST_temperature, why);
    else
        host_put(h, HOST_temperature, (uint64_t)most);
}

void sensor_reply(struct host *h, const struct helper_reply *reply)
{
    for (size_t i = 0; i < h->n_sensors; i++) {
        struct sensor *s = &h->sensor[i];
        if (s->entity->id != (uint32_t)reply->key.pid)
            continue;
        s->barred = reply->host_absent == BARO_ABSENT_TIMEOUT || reply->host_absent == BARO_ABSENT_DENIED;
        if (reply->host_absent)
            entity_lack(s->entity, SENSOR_temperature, reply->host_absent);
        else
            entity_put(s->entity, SENSOR_temperature, reply->host[HELPER_SENSOR_NOW]);
        if (!reply->host_absent && reply->host[HELPER_SENSOR_HAS_CRITICAL])
            entity_put(s->entity, SENSOR_critical, reply->host[HELPER_SENSOR_CRITICAL]);
        else
            entity_lack(s->entity, SENSOR_critical, reply->host_absent ? reply->host_absent : BARO_ABSENT_UNSUPPORTED);
        if (reply->host_absent)
            entity_lack(s->entity, SENSOR_read_at, reply->host_absent);
        else
            entity_put(s->entity, SENSOR_read_at, h->now_ns);
        break;
    }
    hottest(h);
}
