/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The first words fill the registers of the platform's calling convention, the rest is copied to the stack, from its
 * upper end downwards: so a stack that is too small is noticed on its guard page. C has no way to say this; other
 * processors than these two get as many words as a table of calls holds.
 */
#define _GNU_SOURCE /* memmem */
#include "omp_ext/libomp/call.h"

#include <stdint.h>
#include <string.h>

void *od_forward_fork_call, *od_forward_fork_teams;

#if defined(__x86_64__) && !defined(__ILP32__)

__asm__(".text\n"
        ".globl od_call\n"
        ".hidden od_call\n"
        ".type od_call, @function\n"
        "od_call:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    movq %rdi, %r11\n" /* the function */
        "    movq %rdx, %r10\n" /* the words */
        "    subq $6, %rsi\n"   /* words beyond the registers */
        "    jbe 2f\n"
        "    leaq 1(%rsi), %rax\n" /* the stack stays a multiple of 16 */
        "    andq $-2, %rax\n"
        "    shlq $3, %rax\n"
        "    subq %rax, %rsp\n"
        "1:  movq 40(%r10,%rsi,8), %rax\n"
        "    movq %rax, -8(%rsp,%rsi,8)\n"
        "    decq %rsi\n"
        "    jnz 1b\n"
        "2:  movq (%r10), %rdi\n"
        "    movq 8(%r10), %rsi\n"
        "    movq 16(%r10), %rdx\n"
        "    movq 24(%r10), %rcx\n"
        "    movq 32(%r10), %r8\n"
        "    movq 40(%r10), %r9\n"
        "    xorl %eax, %eax\n" /* a variadic function: no vector registers */
        "    call *%r11\n"
        "    leave\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size od_call, .-od_call\n");

/* All argument registers stay as they are. */
#define FORWARD(entry, forward, ours)                                                                                  \
    __asm__(".text\n"                                                                                                  \
            ".globl " #entry "\n"                                                                                      \
            ".type " #entry ", @function\n" #entry ":\n"                                                               \
            "    .cfi_startproc\n"                                                                                     \
            "    movq " #forward "(%rip), %r11\n"                                                                      \
            "    testq %r11, %r11\n"                                                                                   \
            "    je " #ours "\n"                                                                                       \
            "    jmp *%r11\n"                                                                                          \
            "    .cfi_endproc\n"                                                                                       \
            ".size " #entry ", .-" #entry "\n")

#elif defined(__aarch64__) && defined(__linux__)

__asm__(".text\n"
        ".globl od_call\n"
        ".hidden od_call\n"
        ".type od_call, @function\n"
        "od_call:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset x29, -16\n"
        "    .cfi_offset x30, -8\n"
        "    mov x29, sp\n"
        "    .cfi_def_cfa_register x29\n"
        "    mov x9, x0\n"  /* the function */
        "    mov x10, x2\n" /* the words */
        "    subs x1, x1, #8\n"
        "    b.ls 2f\n"
        "    add x3, x1, #1\n"
        "    and x3, x3, #0xfffffffffffffffe\n"
        "    sub sp, sp, x3, lsl #3\n"
        "1:  sub x1, x1, #1\n"
        "    add x4, x10, x1, lsl #3\n"
        "    ldr x5, [x4, #64]\n"
        "    str x5, [sp, x1, lsl #3]\n"
        "    cbnz x1, 1b\n"
        "2:  ldp x0, x1, [x10]\n"
        "    ldp x2, x3, [x10, #16]\n"
        "    ldp x4, x5, [x10, #32]\n"
        "    ldp x6, x7, [x10, #48]\n"
        "    blr x9\n"
        "    mov sp, x29\n"
        "    .cfi_def_cfa_register sp\n"
        "    ldp x29, x30, [sp], #16\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size od_call, .-od_call\n");

#define FORWARD(entry, forward, ours)                                                                                  \
    __asm__(".text\n"                                                                                                  \
            ".globl " #entry "\n"                                                                                      \
            ".type " #entry ", @function\n" #entry ":\n"                                                               \
            "    .cfi_startproc\n"                                                                                     \
            "    adrp x16, " #forward "\n"                                                                             \
            "    ldr x16, [x16, :lo12:" #forward "]\n"                                                                 \
            "    cbz x16, 1f\n"                                                                                        \
            "    br x16\n"                                                                                             \
            "1:  b " #ours "\n"                                                                                        \
            "    .cfi_endproc\n"                                                                                       \
            ".size " #entry ", .-" #entry "\n")

#else

#include "util/log.h"

#include <stdlib.h>

typedef void (*many)(void *, ...);

#define A8(w, i) w[i], w[i + 1], w[i + 2], w[i + 3], w[i + 4], w[i + 5], w[i + 6], w[i + 7]
#define A32(w, i) A8(w, i), A8(w, i + 8), A8(w, i + 16), A8(w, i + 24)
#define A128(w) A32(w, 0), A32(w, 32), A32(w, 64), A32(w, 96)

enum { MOST = 128 };

void od_call(void (*function)(void), size_t count, void *const *words)
{
    void *copy[MOST] = {0};
    if (count > MOST) {
        od_log(OD_LOG_ERROR, "omp", "a parallel region with more than 123 shared variables is not supported here");
        abort();
    }
    for (size_t i = 0; i < count; i++)
        copy[i] = words[i];
    if (count <= 8)
        ((many)function)(A8(copy, 0));
    else if (count <= 32)
        ((many)function)(A32(copy, 0));
    else
        ((many)function)(A128(copy));
}

#endif

#ifdef FORWARD
FORWARD(__kmpc_fork_call, od_forward_fork_call, od_fork_call);
FORWARD(__kmpc_fork_teams, od_forward_fork_teams, od_fork_teams);
#endif

/* --- results ------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* Others may stand before the instruction that looks at %eax, or copies it. That its bytes may be parts of others does
 * no harm: there is a host version in nearly all programs. */
bool od_call_result_is_used(const void *from)
{
    enum { NEAR = 64, PAGE = 4096, COPY = 0x89 };
    static const unsigned char test[] = {0x85, 0xc0}, compare[] = {0x83, 0xf8, 0x00};
    const unsigned char *code = from;
    size_t left = PAGE - (uintptr_t)from % PAGE; /* what is behind may not be there */
    return !code || left < NEAR || code[0] == COPY || code[1] == COPY || memmem(code, NEAR, test, sizeof test) ||
           memmem(code, NEAR, compare, sizeof compare);
}
#else
bool od_call_result_is_used(const void *from)
{
    (void)from;
    return true;
}
#endif
