/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Function, file and line of the program's code, where it was compiled with -g and the system has a symboliser
 * (binutils' or LLVM's addr2line), which runs as a separate process.
 */
#ifndef OD_OMP_EXT_CHECK_SYMBOLS_H
#define OD_OMP_EXT_CHECK_SYMBOLS_H

enum { OD_SYMBOL_TEXT = 320, OD_MOST_SYMBOLS = 8 };

/* Of n (at most OD_MOST_SYMBOLS) addresses: "function at file:line", or "" where that is not known. May be called in a
 * signal handler. */
void od_symbols_find(const void *const *code, unsigned n, char (*text)[OD_SYMBOL_TEXT]);

#endif
