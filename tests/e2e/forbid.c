/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbid NUMBER COMMAND...: executes COMMAND under a seccomp(2) filter that kills the process at this system call.
 * NUMBER is this architecture's; calls of other architectures are allowed. With +NUMBER, or with +4.18, all calls with
 * larger numbers, or those that came after this version, fail with ENOSYS instead: as on an old kernel. With
 * NUMBER=ERRNO the call fails with that number. Needs Linux 4.14, nothing else.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define LAST_OF_4_18 334u /* rseq */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define LAST_OF_4_18 293u
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#define LAST_OF_4_18 293u
#endif

int main(int argc, char **argv)
{
#ifdef ARCH
    if (argc < 3)
        return 2;
    const bool is_all = argv[1][0] == '+';
    const unsigned number = strcmp(argv[1], "+4.18") == 0 ? LAST_OF_4_18 : (unsigned)atoi(argv[1]);
    const char *equals = strchr(argv[1], '=');
    const unsigned fails = equals ? SECCOMP_RET_ERRNO | (unsigned)atoi(equals + 1) : SECCOMP_RET_KILL_PROCESS;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | (is_all ? BPF_JGT : BPF_JEQ) | BPF_K, number, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, is_all ? SECCOMP_RET_ERRNO | ENOSYS : fails),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("forbid");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
#else
    (void)argc, (void)argv;
    return 77;
#endif
}
