/* SPDX-License-Identifier: Apache-2.0 */
/* What people call a control group: by its path, and by the files of engines. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "files.h"
#include "recorder/collectors/cgroups/names.h"
#include "recorder/collectors/cgroups/slurm_job.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
#define PODMAN "var/lib/containers/storage/overlay-containers/"
#define CRI "run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"

static void expect(const char *dir, const char *path, bool files, const struct header_place *is)
{
    struct header_place p;
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    group_names_read(fd, path, files, &p);
    assert_string_equal(p.container, is->container);
    assert_string_equal(p.image, is->image);
    assert_string_equal(p.pod, is->pod);
    assert_string_equal(p.pod_namespace, is->pod_namespace);
    assert_string_equal(p.unit, is->unit);
    close(fd);
}

TEST(by_the_path_alone)
{
    static const struct {
        const char *path;
        struct header_place is;
    } cases[] = {
        {"/system.slice/nginx.service", {.unit = "nginx.service"}},
        {"/user.slice/user-1.slice/session-3.scope", {.unit = "session-3.scope"}},
        {"/libpod_parent/libpod-" ID, {.container = "0123456789ab"}},
        {"/machine.slice/libpod-" ID ".scope/container", {.container = "0123456789ab"}},
        {"/system.slice/docker-" ID ".scope", {.container = "0123456789ab"}},
        {"/kubepods/burstable/pod" UID "/" ID, {.container = "0123456789ab", .pod = UID}},
        {"/kubepods.slice/kubepods-podaaaaaaaa_bbbb_cccc_dddd_eeeeeeeeeeee.slice/crio-" ID ".scope",
         {.container = "0123456789ab", .pod = UID}},
        {"/docker/" ID, {.container = "0123456789ab"}},
        {"/x" ID, {.unit = ""}},
        {"/libpod-" ID "0", {.unit = ""}},
        {"/", {.unit = ""}},
        {"/token=secret.service", {.unit = "token=***"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        expect("/proc/self", cases[i].path, true, &cases[i].is);
        expect("/", cases[i].path, false, &cases[i].is);
    }
}

TEST(by_the_files_of_engines)
{
    static const struct {
        const char *path, *file, *text;
        struct header_place is;
    } cases[] = {
        {"/libpod_parent/libpod-" ID,
         PODMAN "containers.json",
         "[{\"id\":\"ff\",\"metadata\":\"{}\"}, {\"names\":[\"web\"], \"id\":\"" ID
         "\",\"metadata\":\"{\\\"image-name\\\":\\\"localhost/a:1\\\",\\\"name\\\":\\\"web\\\"}\"}]",
         {.container = "web", .image = "localhost/a:1"}},
        {"/docker/" ID,
         "var/lib/docker/containers/" ID "/config.v2.json",
         "{\"State\":{\"Pid\":1},\"Config\":{\"Env\":[\"A=1\"],\"Image\":\"nginx:1\"},\"Name\":\"/front\"}",
         {.container = "front", .image = "nginx:1"}},
        {"/kubepods/pod" UID "/" ID,
         CRI,
         "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.image-name\":\"i:2\","
         "\"io.kubernetes.cri.sandbox-name\":\"app-1\",\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}",
         {.container = "app", .image = "i:2", .pod = "app-1", .pod_namespace = "prod"}},
        {"/kubepods.slice/crio-" ID ".scope",
         PODMAN ID "/userdata/config.json",
         "{\"annotations\":{\"io.kubernetes.cri-o.ImageName\":\"i:3\",\"io.kubernetes.cri-o.Labels\":"
         "\"{\\\"io.kubernetes.container.name\\\":\\\"db\\\",\\\"io.kubernetes.pod.name\\\":\\\"db-0\\\","
         "\\\"io.kubernetes.pod.namespace\\\":\\\"data\\\"}\"}}",
         {.container = "db", .image = "i:3", .pod = "db-0", .pod_namespace = "data"}},
        {"/kubepods/pod" UID "/" ID,
         "var/log/containers/job-7_batch_main-" ID ".log",
         "",
         {.container = "main", .pod = "job-7", .pod_namespace = "batch"}},
        {"/docker/" ID, "var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":", {.container = "0123456789ab"}},
        {"/docker/" ID, "var/lib/docker/containers/" ID "/config.v2.json", "[[[[", {.container = "0123456789ab"}},
        {"/docker/" ID,
         "var/lib/docker/containers/" ID "/config.v2.json",
         "{\"Name\":7,\"Config\":{}}",
         {.container = "0123456789ab"}},
        {"/docker/" ID, "var/lib/docker/containers/" ID "/other", "", {.container = "0123456789ab"}},
    };
    char dir[sizeof(FILES_NAME)];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        files_make(dir);
        files_put(dir, cases[i].file, cases[i].text);
        expect(dir, cases[i].path, true, &cases[i].is);
        files_remove(dir);
    }
}

/* A link, a file that is too large, and each beginning of a file. */
TEST(hostile_files)
{
    static const struct header_place unknown = {.container = "0123456789ab"};
    static const char text[] = "{\"Name\":\"/a\",\"Config\":{\"Image\":\"b\",\"x\":[1,{\"y\":\"\\u0041\"}]}}";
    static const char file[] = "var/lib/docker/containers/" ID "/config.v2.json";
    char dir[sizeof(FILES_NAME)], path[512], part[sizeof(text)], *large = calloc(1, (1 << 20) + 1);
    struct header_place p;
    files_make(dir);
    files_put(dir, "secret", text);
    files_put(dir, "var/lib/docker/containers/" ID "/x", "");
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    assert_int_equal(symlink("../../../../../secret", path), 0);
    expect(dir, "/docker/" ID, true, &unknown);
    assert_int_equal(unlink(path), 0);
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t n = 0; n < sizeof(text); n++) {
        snprintf(part, n + 1, "%s", text);
        files_put(dir, file, part);
        group_names_read(fd, "/docker/" ID, true, &p);
        assert_true(strcmp(p.container, "a") == 0 || strcmp(p.container, "0123456789ab") == 0);
    }
    memset(large, ' ', 1 << 20);
    memcpy(large, text, sizeof(text) - 1);
    files_put(dir, file, large);
    expect(dir, "/docker/" ID, true, &unknown);
    close(fd);
    free(large);
    files_remove(dir);
}

TEST(jobs_of_slurm)
{
    static const struct {
        const char *path, *id, *step, *title;
    } cases[] = {
        {"/slurm/uid_1000/job_4711", "4711", "", "job 4711 of alice in main"},
        {"/slurm_n1/uid_1000/job_4711/step_batch", "4711", "batch", "job 4711 step batch of alice in main"},
        {"/system.slice/slurmstepd.scope/job_4711", "4711", "", "job 4711 of alice in main"},
        {"/system.slice/n1_slurmstepd.scope/job_4711/step_0/user/task_0", "4711", "0",
         "job 4711 step 0 of alice in main"},
        {"/slurm/uid_7/job_12", "12", "", "job 12"},
        {"/slurm/uid_7/job_..", "", "", ""},
        {"/jobs/job_4711", "", "", ""},
        {"/slurm/uid_7/job_", "", "", ""},
    };
    char dir[sizeof(FILES_NAME)];
    struct slurm_job job;
    files_make(dir);
    files_put(dir, "run/barograph/slurm/4711", "user=alice\npartition=main\n=x\nno line\nb d=1\narray=4700_11\n");
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(slurm_job_read(fd, cases[i].path, true, &job), *cases[i].id != 0);
        assert_string_equal(job.id, cases[i].id);
        assert_string_equal(job.step, cases[i].step);
        assert_string_equal(job.title, cases[i].title);
    }
    slurm_job_read(fd, cases[0].path, true, &job);
    assert_int_equal(job.n_tags, 3);
    assert_string_equal(job.tag[2], "array=4700_11");
    slurm_job_read(fd, cases[0].path, false, &job);
    assert_int_equal(job.n_tags, 1);
    assert_string_equal(job.tag[0], "uid=1000");
    close(fd);
    files_remove(dir);
}
