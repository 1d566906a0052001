/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* `ompdarts info --svg`: the machine in a box, below it a row for each kind of devices, and the links as lines with
 * their bandwidth. */
#include "tools/info/machine.h"

#include <stdio.h>

enum { BOX = 190, BOX_HEIGHT = 58, GAP = 16, MARGIN = 16, LINK = 54, PER_ROW = 8, LINE = 16, CELL = 76 };

typedef struct group { /* devices of one kind */
    unsigned count;
    const info_gpu *gpu; /* NULL: LLVM's host devices */
    info_links links;
} group;

static unsigned columns(const group *g)
{
    return g->count < PER_ROW ? g->count : PER_ROW;
}

static unsigned rows(const group *g)
{
    return (g->count + PER_ROW - 1) / PER_ROW;
}

static bool has_peers(const group *g)
{
    for (unsigned from = 0; from < g->links.devices; from++)
        for (unsigned to = 0; to < g->links.devices; to++)
            if (g->links.rate[from][to] > 0)
                return true;
    return false;
}

static int height_of(const group *g)
{
    return (int)rows(g) * (LINK + BOX_HEIGHT) + (has_peers(g) ? (int)(g->links.devices + 2) * LINE + GAP : 0) + GAP;
}

static int width_of(const group *g)
{
    int boxes = (int)columns(g) * (BOX + GAP) - GAP, matrix = has_peers(g) ? ((int)g->links.devices + 1) * CELL : 0;
    return boxes > matrix ? boxes : matrix;
}

static void put_text(int x, int y, const char *style, const char *text)
{
    printf("<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, style);
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", stdout);
        else
            putchar(*text);
    puts("</text>");
}

static void put_box(int x, int y, int width, int height, const char *style)
{
    printf("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" class=\"%s\"/>\n", x, y, width, height, style);
}

static void draw_device(const group *g, unsigned k, int x, int y)
{
    char title[180], memory[100] = "in the machine's memory", bytes[32], left[32], rate[32];
    double link = g->links.devices ? g->links.rate[g->links.devices][k] : 0;
    printf("<path d=\"M%d %d v-%d\" class=\"link\"/>\n", x + BOX / 2, y, LINK);
    if (link > 0)
        put_text(x + BOX / 2 + 6, y - LINK / 2 + 4, "rate", info_rate(link, rate));
    snprintf(title, sizeof title, "%u: %.60s", k, g->gpu ? g->gpu[k].name : "host device");
    if (g->gpu && g->gpu[k].free_bytes)
        snprintf(memory, sizeof memory, "%s, %s free", info_bytes(g->gpu[k].bytes, bytes),
                 info_bytes(g->gpu[k].free_bytes, left));
    else if (g->gpu)
        snprintf(memory, sizeof memory, "%s", info_bytes(g->gpu[k].bytes, bytes));
    put_box(x, y, BOX, BOX_HEIGHT, "device");
    put_text(x + 10, y + 24, "name", title);
    put_text(x + 10, y + 44, "small", memory);
}

/* Bandwidths between devices, from row to column. */
static void draw_peers(const group *g, int x, int y)
{
    char text[32];
    put_text(x, y, "small", "between devices, from row to column:");
    for (unsigned from = 0; from <= g->links.devices; from++)
        for (unsigned to = 0; to <= g->links.devices; to++) {
            if (!from && !to)
                continue;
            double rate = from && to ? g->links.rate[from - 1][to - 1] : 0;
            snprintf(text, sizeof text, "%u", from ? from - 1 : to - 1);
            if (from && to)
                snprintf(text, sizeof text, "-");
            put_text(x + (int)to * CELL, y + (int)(from + 1) * LINE, from && to ? "rate" : "small",
                     rate > 0 ? info_rate(rate, text) : text);
        }
}

static int draw_group(const group *g, int y)
{
    for (unsigned k = 0; k < g->count; k++)
        draw_device(g, k, MARGIN + (int)(k % PER_ROW) * (BOX + GAP),
                    y + LINK + (int)(k / PER_ROW) * (LINK + BOX_HEIGHT));
    if (has_peers(g))
        draw_peers(g, MARGIN, y + (int)rows(g) * (LINK + BOX_HEIGHT) + GAP + LINE / 2);
    return y + height_of(g);
}

static void draw_machine(const info_machine *m, int width)
{
    char text[200], memory[32], left[32];
    snprintf(text, sizeof text, "%d cores, %d hardware threads, %d NUMA node%s; %s memory, %s free", m->cores,
             m->threads, m->nodes, m->nodes == 1 ? "" : "s", info_bytes(m->memory, memory),
             info_bytes(m->available, left));
    put_box(MARGIN, MARGIN, width - 2 * MARGIN, BOX_HEIGHT, "machine");
    put_text(MARGIN + 10, MARGIN + 24, "name", "Machine");
    put_text(MARGIN + 10, MARGIN + 44, "small", text);
}

void info_print_picture(const info_devices *devices)
{
    group groups[INFO_KINDS] = {
        {devices->host_devices > 0 ? (unsigned)devices->host_devices : 0, NULL, {0}},
        {(unsigned)devices->gpus, devices->gpu, {0}}};
    info_machine machine;
    int width = 560, height = 2 * MARGIN + BOX_HEIGHT;
    info_find_machine(&machine);
    for (unsigned i = 0; i < INFO_KINDS; i++) {
        info_find_links((info_kind)i, (int)groups[i].count, &groups[i].links);
        width = width_of(&groups[i]) + 2 * MARGIN > width ? width_of(&groups[i]) + 2 * MARGIN : width;
        height += groups[i].count ? height_of(&groups[i]) : 0;
    }
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n", width,
           height, width, height);
    puts("<style>\n"
         "svg { background: #fff; } text { font: 12px system-ui, sans-serif; fill: #1d2430; } "
         ".name { font-weight: 600; }\n"
         ".small { fill: #5d6778; } .rate { fill: #0b62c4; } rect { stroke: #9aa5b5; } .machine { fill: #eef1f5; }\n"
         ".device { fill: #e3efff; } .link { stroke: #5d6778; stroke-width: 2; fill: none; }\n"
         "@media (prefers-color-scheme: dark) { svg { background: #14181f; } text { fill: #e6e9ee; } "
         ".small { fill: #9aa5b5; }\n"
         ".rate { fill: #6cb0ff; } .machine { fill: #1d232d; } .device { fill: #1c2f4a; } }\n"
         "</style>");
    draw_machine(&machine, width);
    for (unsigned i = 0, y = MARGIN + BOX_HEIGHT; i < INFO_KINDS; i++)
        if (groups[i].count)
            y = (unsigned)draw_group(&groups[i], (int)y);
    puts("</svg>");
}
