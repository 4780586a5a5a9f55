/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/route.h"

#include <string.h>

#include "programs/baro-serve/live.h"
#include "programs/baro-serve/server.h"

#define PAGE "columns", "offset", "limit", "from", "to"
#define INSTANT PAGE, "at", "pick", "sort", "order"

const struct route routes[] = {
    {"/", host_page, .cost = ROUTE_SMALL},
    {"/host.css", host_style, .cost = ROUTE_SMALL},
    {"/host.js", host_script, .cost = ROUTE_SMALL},
    {"/shared.js", shared_script, .cost = ROUTE_SMALL},
    {"/job.js", job_script, .cost = ROUTE_SMALL},
    {"/healthz", api_health, .cost = ROUTE_SMALL},
    {"/metrics", exposition, .cost = ROUTE_SMALL},
    {"/jobs/{id}", job_page, .cost = ROUTE_SMALL},
    {"/jobs/{id}/report", report_page, {"from", "to", "by"}, .cost = ROUTE_LARGE},
    {"/jobs/{id}/machine", machine_page, .cost = ROUTE_LARGE},
    {"/jobs/{id}/trend", trend_page, {"fact"}, .cost = ROUTE_LARGE},
    {"/api/v1", api_index, .cost = ROUTE_SMALL},
    {"/api/v1/openapi.json", api_openapi, .cost = ROUTE_SMALL},
    {"/api/v1/metrics", api_metrics, {"kind"}, .cost = ROUTE_SMALL},
    {"/api/v1/host", api_host, .cost = ROUTE_SMALL},
    {"/api/v1/live", live_jobs, .cost = ROUTE_SMALL},
    {"/api/v1/jobs", api_jobs, {"state", "search", "offset", "limit"}, .cost = ROUTE_SMALL},
    {"/api/v1/jobs/{id}", api_job, .cost = ROUTE_TAPE},
    {"/api/v1/jobs/{id}/verdicts", api_verdicts, .cost = ROUTE_TAPE},
    {"/api/v1/jobs/{id}/metrics", api_job_metrics, {"kind"}, .cost = ROUTE_TAPE},
    {"/api/v1/jobs/{id}/sample", api_sample, {"at", "pick"}, .cost = ROUTE_LARGE},
    {"/api/v1/jobs/{id}/rows/{kind}", api_rows, {INSTANT, "kind"}, ROUTE_LARGE, .member = "rows"},
    {"/api/v1/jobs/{id}/tasks", api_rows, {INSTANT}, ROUTE_LARGE, "task", "tasks"},
    {"/api/v1/jobs/{id}/processes", api_rows, {INSTANT}, ROUTE_LARGE, "process", "processes"},
    {"/api/v1/jobs/{id}/entities/{kind}", api_rows, {INSTANT}, ROUTE_LARGE, .member = "entities"},
    {"/api/v1/jobs/{id}/events", api_rows, {PAGE, "kind"}, ROUTE_LARGE, "event", "events"},
    {"/api/v1/jobs/{id}/exits", api_rows, {PAGE}, ROUTE_LARGE, "exit", "exits"},
    {"/api/v1/jobs/{id}/range", api_range, {"metric", "from", "to", "buckets"}, .cost = ROUTE_LARGE},
    {"/api/v1/jobs/{id}/live", live_job, {"exits", "last_event_id"}, .cost = ROUTE_TAPE},
    {NULL, NULL, .cost = ROUTE_SMALL},
};

/* Does an address match the path of a route? Stores the values of its braces. */
static bool matches(struct request *q, const char *path, const char *url)
{
    size_t part = 0;
    while (*path && *url) {
        if (*path == '{') {
            size_t len = strcspn(url, "/");
            if (!len || len >= sizeof(q->part[0]))
                return false;
            memcpy(q->part[part], url, len);
            q->part[part++][len] = 0;
            path = strchr(path, '}') + 1;
            url += len;
        } else if (*path++ != *url++) {
            return false;
        }
    }
    return !*path && !*url;
}

static bool check_params(struct request *q)
{
    for (size_t i = 0; i < q->n_params; i++) {
        bool known = strcmp(q->param[i].name, "token") == 0; /* allowed everywhere */
        for (size_t k = 0; k < ROUTE_PARAMS && q->route->params[k]; k++)
            known = known || strcmp(q->route->params[k], q->param[i].name) == 0;
        if (!known) {
            request_fail(q, 400, "bad_parameter", "%s has no parameter of that name", q->route->path);
            return false;
        }
    }
    return true;
}

bool route_find(struct request *q, const char *url)
{
    for (const struct route *r = routes; r->path && !q->route; r++)
        q->route = matches(q, r->path, url) ? r : NULL;
    if (!q->route) {
        request_fail(q, 404, "not_found", "there is nothing at this address; /api/v1 lists what there is");
        return false;
    }
    if (!check_params(q))
        return false;
    if (!strstr(q->route->path, "{id}"))
        return true;
    q->job = catalogue_find(q->server->catalogue, q->part[0]);
    if (!q->job)
        request_fail(q, 404, "no_job", "there is no such job; /api/v1/jobs lists them");
    return q->job != NULL;
}
