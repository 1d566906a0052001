/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * See symbols.h. A signal handler may call this anywhere: nothing is allocated, and the symboliser is started by
 * vfork(), which runs no handler of fork() and copies no memory.
 */
#define _GNU_SOURCE
#include "omp_ext/services/check/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, OPTIONS = 5, OFFSET_TEXT = 24 };

typedef struct place { /* where code lies */
    char file[512];
    char offset[OFFSET_TEXT]; /* in the file, as the symboliser wants it */
} place;

static bool find_file(const void *code, place *found)
{
    Dl_info info;
    struct link_map *map;
    if (!dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP))
        return false;
    /* The program itself has no name there, and the name it was called by may be relative to another folder. */
    int length = *map->l_name ? snprintf(found->file, sizeof found->file, "%s", map->l_name)
                              : snprintf(found->file, sizeof found->file, "/proc/%d/exe", (int)getpid());
    snprintf(found->offset, sizeof found->offset, "%#lx", (unsigned long)code - (unsigned long)map->l_addr);
    return length < (int)sizeof found->file;
}

/* Its standard output is `output`. -1: not started. */
static pid_t start(char *const *arguments, int output)
{
    static const char *const names[] = {"addr2line", "llvm-addr2line", "llvm-addr2line-19", "llvm-addr2line-22"};
    static char no_preload[] = "LC_ALL=C";
    char *const environment[] = {no_preload, NULL};
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t child = vfork();
    if (child == 0) {
        dup2(output, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            execvpe(names[i], arguments, environment);
        _exit(127);
    }
    close(nothing);
    return child;
}

/* All that it prints, up to `size`. */
static void read_all(int input, pid_t child, char *text, size_t size)
{
    size_t length = 0;
    struct pollfd ready = {.fd = input, .events = POLLIN};
    while (length + 1 < size) {
        int any = poll(&ready, 1, PATIENCE_MS);
        ssize_t n = any > 0 ? read(input, text + length, size - 1 - length) : any;
        if (n < 0 && errno == EINTR)
            continue;
        if (any <= 0)
            kill(child, SIGKILL);
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    text[length] = '\0';
}

/* Two lines for each address: the function, and file:line, where ?? stands for what is not known. */
static void take_lines(char *at, unsigned n, char (*text)[OD_SYMBOL_TEXT])
{
    for (unsigned i = 0; i < n; i++) {
        char *line[2];
        for (int k = 0; k < 2; k++) {
            line[k] = at;
            at += strcspn(at, "\n");
            if (!*at)
                return;
            *at++ = '\0';
        }
        char *outlined = strstr(line[0], ".omp_outlined"); /* the compiler's part of a function */
        if (outlined)
            *outlined = '\0';
        line[1][strcspn(line[1], " ")] = '\0'; /* "(discriminator 2)" */
        if (line[1][0] != '?' && !strstr(line[1], ":?"))
            snprintf(text[i], OD_SYMBOL_TEXT, "%.100s at %.200s", line[0], line[1]);
    }
}

static void ask(const place *places, unsigned n, char (*text)[OD_SYMBOL_TEXT])
{
    char answer[OD_MOST_SYMBOLS * 512];
    char *arguments[OPTIONS + OD_MOST_SYMBOLS + 1] = {"addr2line", "-C", "-f", "-e", (char *)places->file};
    int ends[2];
    for (unsigned i = 0; i < n; i++)
        arguments[OPTIONS + i] = (char *)places[i].offset;
    if (pipe2(ends, O_CLOEXEC))
        return;
    pid_t child = start(arguments, ends[1]);
    close(ends[1]);
    if (child > 0) {
        read_all(ends[0], child, answer, sizeof answer);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        take_lines(answer, n, text);
    }
    close(ends[0]);
}

void od_symbols_find(const void *const *code, unsigned n, char (*text)[OD_SYMBOL_TEXT])
{
    place places[OD_MOST_SYMBOLS];
    for (unsigned i = 0; i < n; i++) {
        text[i][0] = '\0';
        if (!find_file(code[i], &places[i]))
            places[i].file[0] = '\0';
    }
    for (unsigned i = 0, next; i < n; i = next) { /* what lies in one file is asked at once */
        for (next = i + 1; next < n && strcmp(places[next].file, places[i].file) == 0; next++)
            ;
        if (places[i].file[0])
            ask(&places[i], next - i, &text[i]);
    }
}
