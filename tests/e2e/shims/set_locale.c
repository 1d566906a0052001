/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that takes its user's locale, as most with a surface do: preloaded, setlocale() comes before main(). Where
 * the locale has no decimal comma the program ends with 98. */
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

enum { EXIT_NO_COMMA = 98 };

__attribute__((constructor)) static void take_locale(void)
{
    if (setlocale(LC_ALL, "") && *localeconv()->decimal_point == ',')
        return;
    fputs("set_locale: no locale with a decimal comma\n", stderr);
    _exit(EXIT_NO_COMMA);
}
