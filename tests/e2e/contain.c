/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contain [OPTION...] COMMAND...: for tests. Executes the command as an engine starts a container by default: with the
 * namespaces, mounts, capabilities and refused system calls of podman 4.3 and Docker, on the root that is there. The
 * command is process 1. Needs root; 77 where that is not possible.
 *
 *   -v FROM:TO   a volume: FROM is to be seen in TO, and can be written to
 *   -u UID       the user
 *   -r           restricted, as a cluster may demand: read-only root, no capabilities, no new privileges
 *   -p           perf_event_open(2) is not refused
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0u
#endif
#define LAST_KNOWN 448u /* process_mrelease, of 5.15: newer calls than the engine knows fail with ENOSYS */
#define SHUT (MS_NOSUID | MS_NODEV | MS_NOEXEC)

enum { VOLUMES = 4 };

static struct {
    char *volume[VOLUMES];
    int volumes;
    uid_t uid;
    bool restricted, perf;
} options;

/* What is allowed to root in a container by default. */
static const int kept[] = {CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID, CAP_KILL,      CAP_NET_BIND_SERVICE,
                           CAP_SETFCAP, CAP_SETGID,       CAP_SETPCAP, CAP_SETUID, CAP_SYS_CHROOT};

/* Refused without the capabilities that the list above lacks. */
static const struct {
    unsigned number;
    unsigned error;
} refused[] = {
    {SYS_perf_event_open, EPERM},
    {SYS_bpf, EPERM},
    {SYS_setns, EPERM},
    {SYS_kcmp, EPERM},
    {SYS_acct, EPERM},
    {SYS_fanotify_init, EPERM},
    {SYS_open_by_handle_at, EPERM},
    {SYS_quotactl, EPERM},
    {SYS_sethostname, EPERM},
    {SYS_setdomainname, EPERM},
    {SYS_settimeofday, EPERM},
    {SYS_clock_settime, EPERM},
    {SYS_init_module, EPERM},
    {SYS_finit_module, EPERM},
    {SYS_delete_module, EPERM},
    {SYS_kexec_load, EPERM},
    {SYS_swapon, EPERM},
    {SYS_swapoff, EPERM},
    {SYS_vhangup, EPERM},
    {SYS_vmsplice, EPERM},
    {SYS_migrate_pages, EPERM},
    {SYS_move_pages, EPERM},
    {SYS_userfaultfd, EPERM},
    {SYS_add_key, ENOSYS},
    {SYS_request_key, ENOSYS},
    {425, ENOSYS}, /* io_uring_setup */
    {426, ENOSYS},
    {427, ENOSYS},
    {435, ENOSYS}, /* clone3: Docker's filter can't see its flags */
};

/* Nothing is read there, or nothing is written. */
static const char *const hidden_files[] = {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug"};
static const char *const hidden_folders[] = {"/proc/acpi", "/proc/scsi", "/sys/firmware"};
static const char *const shielded[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};

static void need(int code, const char *what)
{
    if (code >= 0)
        return;
    fprintf(stderr, "contain: %s: %s\n", what, strerror(errno));
    exit(77);
}

static void shield(const char *path)
{
    if (mount(path, path, NULL, MS_BIND, NULL) == 0)
        need(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), path);
}

static void mount_volumes(void)
{
    for (int i = 0; i < options.volumes; i++) {
        char *to = strchr(options.volume[i], ':');
        if (to)
            *to++ = 0;
        to = to ? to : options.volume[i];
        need(mount(options.volume[i], to, NULL, MS_BIND, NULL), options.volume[i]);
        need(mount(NULL, to, NULL, MS_REMOUNT | MS_BIND, NULL), to);
    }
}

/* Mounts each hierarchy anew, so that the container's own group is its root. Its own options are the last ones:
 * "rw,relatime,cpu,cpuacct". */
static void mount_groups(void)
{
    static char text[1 << 16];
    char path[1024], type[64], of[1024];
    FILE *mounts = fopen("/proc/self/mounts", "re"); /* all of it now: it has those made below as well */
    text[mounts ? fread(text, 1, sizeof(text) - 1, mounts) : 0] = 0;
    bool is_first = true;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (sscanf(line, "%*s %1023s %63s %1023s", path, type, of) != 3 || strncmp(type, "cgroup", 6) != 0 ||
            strncmp(path, "/sys/fs/cgroup", 14) != 0)
            continue;
        bool is_v2 = strcmp(path, "/sys/fs/cgroup") == 0;
        if (!is_v2 && is_first)
            need(mount("tmpfs", "/sys/fs/cgroup", "tmpfs", SHUT, "mode=755"), "/sys/fs/cgroup");
        if (!is_v2)
            mkdir(path, 0755);
        is_first = false;
        const char *own = strcmp(type, "cgroup") == 0 ? strstr(of, "relatime,") : NULL;
        need(mount("cgroup", path, type, SHUT, own ? own + strlen("relatime,") : NULL), path);
        need(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | SHUT, NULL), path);
    }
}

static void make_devices(void)
{
    static const struct {
        const char *path;
        unsigned major, minor;
    } nodes[] = {{"/dev/null", 1, 3},   {"/dev/zero", 1, 5},    {"/dev/full", 1, 7},
                 {"/dev/random", 1, 8}, {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0}};
    need(mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755"), "/dev");
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
        need(mknod(nodes[i].path, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)), nodes[i].path);
        chmod(nodes[i].path, 0666);
    }
    need(symlink("/proc/self/fd", "/dev/fd") | mkdir("/dev/shm", 0755) | mkdir("/dev/pts", 0755), "/dev");
    need(mount("shm", "/dev/shm", "tmpfs", SHUT, "mode=1777,size=64m"), "/dev/shm");
    need(mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666"), "/dev/pts");
    need(symlink("pts/ptmx", "/dev/ptmx"), "/dev/ptmx");
}

static void make_root(void)
{
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "/");
    if (options.restricted) {
        shield("/tmp");
        shield("/var/tmp");
        need(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), "/");
    }
    mount_volumes();
    need(mount("proc", "/proc", "proc", SHUT, NULL), "/proc");
    need(mount("sysfs", "/sys", "sysfs", MS_RDONLY | SHUT, NULL), "/sys");
    mount_groups();
    for (size_t i = 0; i < sizeof(hidden_files) / sizeof(*hidden_files); i++)
        mount("/dev/null", hidden_files[i], NULL, MS_BIND, NULL);
    for (size_t i = 0; i < sizeof(hidden_folders) / sizeof(*hidden_folders); i++)
        mount("tmpfs", hidden_folders[i], "tmpfs", MS_RDONLY, NULL);
    for (size_t i = 0; i < sizeof(shielded) / sizeof(*shielded); i++)
        shield(shielded[i]);
    need(mount("tmpfs", "/run", "tmpfs", options.restricted ? MS_RDONLY : 0, "mode=755"), "/run");
    make_devices();
}

/* Refuses what the table has, and what the engine does not know. */
static void refuse_calls(void)
{
    enum { CALLS = sizeof(refused) / sizeof(*refused) };
    struct sock_filter code[6 + 2 * CALLS] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short n = 4;
    for (size_t i = options.perf ? 1 : 0; i < CALLS; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i].number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refused[i].error);
    }
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {n, code};
    need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

static void drop_privileges(void)
{
    uint64_t left = 0;
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept) && !options.restricted; i++)
        left |= UINT64_C(1) << kept[i];
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
        if (!(left >> cap & 1))
            need(prctl(PR_CAPBSET_DROP, cap), "capabilities");
    }
    need(setgroups(0, NULL) | setresgid(options.uid, options.uid, options.uid) |
             setresuid(options.uid, options.uid, options.uid),
         "user");
    left = options.uid ? 0 : left;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {
        {(uint32_t)left, (uint32_t)left, 0},
        {(uint32_t)(left >> 32), (uint32_t)(left >> 32), 0},
    };
    need((int)syscall(SYS_capset, &header, data), "capabilities");
}

static int run(char **command)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    need(sethostname("container", 9), "host name");
    make_root();
    if (options.restricted)
        need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    refuse_calls();
    drop_privileges();
    execvp(command[0], command);
    perror(command[0]);
    return 127;
}

int main(int argc, char **argv)
{
    for (int o; (o = getopt(argc, argv, "+v:u:rp")) != -1;) {
        if (o == 'v' && options.volumes < VOLUMES)
            options.volume[options.volumes++] = optarg;
        else if (o == 'u')
            options.uid = (uid_t)atoi(optarg);
        else if (o == 'r')
            options.restricted = true;
        else if (o == 'p')
            options.perf = true;
        else
            return 2;
    }
    if (optind == argc)
        return 2;
    need(ARCH ? 0 : (errno = ENOTSUP, -1), "architecture");
    need(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP), "unshare");
    pid_t child = fork();
    if (child == 0)
        return run(argv + optind);
    int status = 0;
    need(child < 0 || waitpid(child, &status, 0) < 0 ? -1 : 0, "wait");
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
