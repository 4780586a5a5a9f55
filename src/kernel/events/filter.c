/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs are written as instructions, because there is no compiler or loader library where baro runs. Offsets
 * are those in the messages: a netlink header of 16 bytes; then, for the connector, struct cn_msg (20 bytes, its
 * sequence number at 8) and struct proc_event (connector_parse.c); for taskstats, a generic netlink header (4 bytes)
 * and attributes (taskstats_parse.c).
 */
#include "kernel/events/filter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/cn_proc.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/events/source.h"

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF 50
#endif

#define SLOTS 65536u
#define CPUS 1024u

/* State shared by the programs and this process: the value of a map with one element, mapped into memory. */
struct filter_state {
    uint32_t hold_back, gaps;
    uint32_t next[CPUS];  /* expected sequence number of each CPU; 0: no event came yet */
    uint8_t slots[SLOTS]; /* 1: a member has this slot */
};

struct exits_filter {
    int map;
    struct filter_state *state;
};

/* ---- instructions ---- */

#define INSN(c, d, s, o, i) ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_I(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV32_I(d, i) INSN(BPF_ALU | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD(d, s) INSN(BPF_ALU64 | BPF_ADD | BPF_X, d, s, 0, 0)
#define ADD_I(d, i) INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define AND_I(d, i) INSN(BPF_ALU64 | BPF_AND | BPF_K, d, 0, 0, i)
#define LSH_I(d, i) INSN(BPF_ALU64 | BPF_LSH | BPF_K, d, 0, 0, i)
#define LOAD(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STORE(size, d, o, s) INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define STORE_I(size, d, o, i) INSN(BPF_ST | BPF_MEM | (size), d, 0, o, i)
#define JUMP(where) INSN(BPF_JMP | BPF_JA, 0, 0, 0, where)
#define JEQ(d, s, where) INSN(BPF_JMP | BPF_JEQ | BPF_X, d, s, 0, where)
#define JNE(d, s, where) INSN(BPF_JMP | BPF_JNE | BPF_X, d, s, 0, where)
#define JEQ_I(d, i, where) JUMP_I(BPF_JEQ, d, i, where)
#define JNE_I(d, i, where) JUMP_I(BPF_JNE, d, i, where)
#define JGT_I(d, i, where) JUMP_I(BPF_JGT, d, i, where)
#define JUMP_I(op, d, i, where) INSN(BPF_JMP | (op) | BPF_K, d, 0, where, i)
#define CALL(f) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LABEL(n) INSN(0xff, 0, 0, 0, n) /* removed by resolve() */

enum label { L_PASS = 1, L_FOREIGN, L_KINDS, L_FORK, L_THREAD, L_ONE, L_STATS, L_PADDED };

/* Removes the labels and turns the label of each jump into a distance. A jump that compares with a register has its
 * label in imm, one that compares with a constant has it in off. */
static size_t resolve(const struct bpf_insn *from, size_t n, struct bpf_insn *to)
{
    size_t at[16] = {0}, len = 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i].code == 0xff)
            at[from[i].imm] = len;
        else
            to[len++] = from[i];
    }
    for (size_t i = 0; i < len; i++) {
        unsigned op = BPF_OP(to[i].code);
        if (BPF_CLASS(to[i].code) != BPF_JMP || op == BPF_CALL || op == BPF_EXIT)
            continue;
        bool named_by_imm = op == BPF_JA || BPF_SRC(to[i].code) == BPF_X;
        size_t label = named_by_imm ? (size_t)to[i].imm : (size_t)to[i].off;
        to[i].off = (int16_t)((int64_t)at[label] - (int64_t)i - 1);
        if (named_by_imm)
            to[i].imm = 0;
    }
    return len;
}

#define R0 BPF_REG_0
#define R1 BPF_REG_1
#define R2 BPF_REG_2
#define R3 BPF_REG_3
#define R4 BPF_REG_4
#define R6 BPF_REG_6 /* the message */
#define R7 BPF_REG_7 /* the state */
#define R8 BPF_REG_8
#define FP BPF_REG_10
#define SLOT_AT ((int)offsetof(struct filter_state, slots))
#define NEXT_AT ((int)offsetof(struct filter_state, next))

/* Sets R6 and R7. */
#define BEGIN(map)                                                                                                     \
    MOV(R6, R1), STORE_I(BPF_W, FP, -4, 0), MOV(R2, FP), ADD_I(R2, -4),                                                \
        INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map), INSN(0, 0, 0, 0, 0),                           \
        CALL(BPF_FUNC_map_lookup_elem), JEQ_I(R0, 0, L_PASS), MOV(R7, R0)
/* Copies len bytes of the message from offset R8 + from to the stack at to. */
#define COPY(from, to, len)                                                                                            \
    MOV(R1, R6), MOV(R2, R8), ADD_I(R2, from), MOV(R3, FP), ADD_I(R3, to), MOV_I(R4, len),                             \
        CALL(BPF_FUNC_skb_load_bytes), JNE_I(R0, 0, L_PASS)
/* Sets R2 to the address of the slot of the pid in r, minus SLOT_AT. */
#define SLOT_OF(r) AND_I(r, SLOTS - 1), MOV(R2, R7), ADD(R2, r)
#define ASK_SLOT(r) SLOT_OF(r), LOAD(BPF_B, R3, R2, SLOT_AT), JEQ_I(R3, 0, L_FOREIGN)
#define END                                                                                                            \
    LABEL(L_PASS), MOV32_I(R0, -1), EXIT, LABEL(L_FOREIGN), LOAD(BPF_W, R1, R7, 0), JEQ_I(R1, 0, L_PASS),              \
        MOV_I(R0, 0), EXIT

/* The message on the stack, from HEAD on: sequence number, two unused words, kind, CPU, time (two words), and four
 * words of the event. */
#define HEAD (-56)
#define WORD(n) (HEAD + 4 * (n))

static size_t connector_program(int map, struct bpf_insn *ret)
{
    const struct bpf_insn p[] = {
        /* clang-format off: a line for each step */
        BEGIN(map), MOV_I(R8, 0), COPY(24, HEAD, 44),
        /* Each CPU numbers its events: compare with the expected number. */
        LOAD(BPF_W, R1, FP, WORD(4)), JGT_I(R1, CPUS - 1, L_KINDS), LSH_I(R1, 2), MOV(R2, R7), ADD(R2, R1),
        LOAD(BPF_W, R3, FP, WORD(0)), LOAD(BPF_W, R4, R2, NEXT_AT), MOV(R1, R3), ADD_I(R1, 1),
        STORE(BPF_W, R2, NEXT_AT, R1), JEQ_I(R4, 0, L_KINDS), JEQ(R4, R3, L_KINDS), LOAD(BPF_W, R1, R7, 4),
        ADD_I(R1, 1), STORE(BPF_W, R7, 4, R1), LABEL(L_KINDS), LOAD(BPF_W, R1, FP, WORD(3)),
        MOV32_I(R2, (int)PROC_EVENT_EXIT), JEQ(R1, R2, L_ONE), JEQ_I(R1, PROC_EVENT_FORK, L_FORK),
        JEQ_I(R1, PROC_EVENT_EXEC, L_ONE), JEQ_I(R1, PROC_EVENT_COMM, L_ONE), JEQ_I(R1, PROC_EVENT_NONE, L_PASS),
        JUMP(L_FOREIGN), LABEL(L_ONE), LOAD(BPF_W, R1, FP, WORD(8)), /* the process */
        ASK_SLOT(R1), JUMP(L_PASS),
        /* Fork: thread and process of the parent, thread and process of the child. A new thread's "parent" in the event
         * is the parent of its process, so threads are looked up by their own process. */
        LABEL(L_FORK), LOAD(BPF_W, R1, FP, WORD(9)), LOAD(BPF_W, R4, FP, WORD(10)), JNE(R1, R4, L_THREAD),
        LOAD(BPF_W, R1, FP, WORD(8)), ASK_SLOT(R1), SLOT_OF(R4), STORE_I(BPF_B, R2, SLOT_AT, 1), JUMP(L_PASS),
        LABEL(L_THREAD), ASK_SLOT(R4), JUMP(L_PASS), END,
        /* clang-format on */
    };
    return resolve(p, sizeof(p) / sizeof(*p), ret);
}

#define STATS_PID 128 /* offsets of ac_pid and ac_tgid in struct taskstats, except in version 15 */
#define STATS_TGID 368

/* The type of the aggregate is at 22 and the pid at 28. struct taskstats follows the header of its attribute; padding
 * may come before it (since 6.12). */
static size_t taskstats_program(int map, struct bpf_insn *ret)
{
    const struct bpf_insn p[] = {
        BEGIN(map),
        MOV_I(R8, 0),
        COPY(20, -24, 20),
        LOAD(BPF_H, R1, FP, -22),
        JNE_I(R1, TASKSTATS_TYPE_AGGR_PID, L_PASS),
        LOAD(BPF_H, R1, FP, -10),
        JNE_I(R1, TASKSTATS_TYPE_STATS, L_PADDED),
        MOV_I(R8, 36),
        JUMP(L_STATS),
        LABEL(L_PADDED),
        JNE_I(R1, TASKSTATS_TYPE_NULL, L_PASS),
        LOAD(BPF_H, R1, FP, -6),
        JNE_I(R1, TASKSTATS_TYPE_STATS, L_PASS),
        MOV_I(R8, 40),
        LABEL(L_STATS),
        COPY(0, -32, 2),
        LOAD(BPF_H, R1, FP, -32),
        JUMP_I(BPF_JLT, R1, 12, L_PASS),
        JEQ_I(R1, 15, L_PASS),
        COPY(STATS_PID, -32, 4),
        LOAD(BPF_W, R1, FP, -32),
        LOAD(BPF_W, R2, FP, -16),
        JNE(R1, R2, L_PASS),
        COPY(STATS_TGID, -32, 4),
        LOAD(BPF_W, R1, FP, -32),
        ASK_SLOT(R1),
        JUMP(L_PASS),
        END,
    };
    return resolve(p, sizeof(p) / sizeof(*p), ret);
}

/* ---- the kernel ---- */

static int bpf_call(int command, union bpf_attr *a)
{
    int r = (int)syscall(SYS_bpf, command, a, sizeof(*a));
    return r < 0 ? -errno : r;
}

int exits_filter_open(struct exits_filter **ret, struct baro_error *err)
{
    union bpf_attr a;
    struct exits_filter *f = calloc(1, sizeof(*f));
    if (!f)
        return error_set(err, -ENOMEM, "out of memory");
    memset(&a, 0, sizeof(a));
    a.map_type = BPF_MAP_TYPE_ARRAY;
    a.key_size = sizeof(uint32_t);
    a.value_size = sizeof(struct filter_state);
    a.max_entries = 1;
    a.map_flags = BPF_F_MMAPABLE;
    f->map = bpf_call(BPF_MAP_CREATE, &a);
    int code = f->map < 0 ? f->map : 0;
    f->state = f->map < 0 ? MAP_FAILED : mmap(NULL, sizeof(*f->state), PROT_READ | PROT_WRITE, MAP_SHARED, f->map, 0);
    if (f->state == MAP_FAILED) {
        code = code ? code : -errno;
        fd_close(f->map);
        free(f);
        return error_set(err, code, "events can't be filtered by the kernel: %s", strerror(-code));
    }
    *ret = f;
    return 0;
}

void exits_filter_close(struct exits_filter *f)
{
    if (!f)
        return;
    munmap(f->state, sizeof(*f->state));
    fd_close(f->map);
    free(f);
}

int exits_filter_attach(struct exits_filter *f, struct exits_source *s)
{
    struct bpf_insn program[256];
    union bpf_attr a;
    size_t n = s->kind == EXITS_CONNECTOR ? connector_program(f->map, program) : taskstats_program(f->map, program);
    memset(&a, 0, sizeof(a));
    a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    a.insns = (uint64_t)(uintptr_t)program;
    a.insn_cnt = (uint32_t)n;
    a.license = (uint64_t)(uintptr_t) "Apache-2.0";
    int fd = bpf_call(BPF_PROG_LOAD, &a);
    if (fd < 0)
        return fd;
    int code = setsockopt(s->fd, SOL_SOCKET, SO_ATTACH_BPF, &fd, sizeof(fd)) < 0 ? -errno : 0;
    s->filtered |= code == 0;
    close(fd);
    return code;
}

/* ---- members ---- */

void exits_filter_add(struct exits_filter *f, int32_t pid)
{
    __atomic_store_n(&f->state->slots[(uint32_t)pid % SLOTS], 1, __ATOMIC_SEQ_CST);
}

bool exits_filter_has(const struct exits_filter *f, int32_t pid)
{
    return __atomic_load_n(&f->state->slots[(uint32_t)pid % SLOTS], __ATOMIC_SEQ_CST);
}

void exits_filter_clear(struct exits_filter *f)
{
    memset(f->state->slots, 0, sizeof(f->state->slots));
}

void exits_filter_hold_back(struct exits_filter *f, bool foreign)
{
    __atomic_store_n(&f->state->hold_back, foreign, __ATOMIC_SEQ_CST);
}

uint32_t exits_filter_gaps(const struct exits_filter *f)
{
    return __atomic_load_n(&f->state->gaps, __ATOMIC_RELAXED);
}
