/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* See recognise.h. */
#include "tools/report/trace/recognise.h"

#include <string.h>

static const struct {
    const char *begin, *contains, *what;
} files[] = {
    {"{", "\"ompdarts_version\"",
     "statistics of a run (--stats), which know no single tasks; wanted is a trace: ompdarts run --trace FILE.json"},
    {"%EventDef", "", "a trace for ViTE; wanted is one in JSON: ompdarts run --trace FILE.json"},
    {"ompdarts-graph", "",
     "a recorded run (--record); `ompdarts sim --graph FILE --trace FILE.json` replays it and writes a trace"},
    {"<!DOCTYPE html>", "ompdarts report",
     "a page of `ompdarts report`, which a browser shows; wanted is a trace: ompdarts run --trace FILE.json"},
    {"\177ELF", "", "a program; `ompdarts run --trace FILE.json PROGRAM` writes a trace of it"},
    {"ompdarts history", "", "a history of kernel times; wanted is a trace: ompdarts run --trace FILE.json"},
};

const char *report_recognise(FILE *file)
{
    char text[4096];
    if (fseek(file, 0, SEEK_SET))
        return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strncmp(text, files[i].begin, strlen(files[i].begin)) == 0 && strstr(text, files[i].contains))
            return files[i].what;
    return NULL;
}
