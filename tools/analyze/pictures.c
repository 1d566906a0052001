/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory over time, and small graphs with their maximum cut (SVG). */
#include "tools/analyze/study.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 960, HEIGHT = 420, LEFT = 84, RIGHT = 24, TOP = 64, BOTTOM = 48 };

static const char *const colors[ANALYZE_ORDERS] = {"#999999", "#c49a6c", "#ff7f0e", "#d62728", "#1f77b4"};

static void begin_picture(FILE *out, int width, int height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            width, height, width, height);
}

/* Bytes of the character of UTF-8 with which the text begins; 0: there is none that XML allows. */
static size_t character(const char *text)
{
    static const uint32_t least[] = {0, 0x20, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)text;
    size_t n = *c < 0x80 ? 1 : *c >> 5 == 6 ? 2 : *c >> 4 == 14 ? 3 : *c >> 3 == 30 ? 4 : 0;
    uint32_t code = n > 1 ? *c & (0x7fu >> n) : *c;
    for (size_t i = 1; i < n; i++) {
        if (c[i] >> 6 != 2)
            return 0;
        code = code << 6 | (c[i] & 0x3f);
    }
    bool wrong = code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code >> 1 == 0x7fff;
    return wrong ? 0 : n;
}

static void text(FILE *out, double x, double y, const char *anchor, const char *color, const char *words)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, color);
    for (size_t n; *words; words += n ? n : 1) {
        n = character(words);
        switch (*words) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fwrite(n ? words : "?", 1, n ? n : 1, out);
        }
    }
    fputs("</text>\n", out);
}

/* --- memory over time ----------------------------------------------------------------------------- */

typedef struct plot {
    double seconds; /* at the right border */
    double most;    /* bytes at the top */
} plot;

static double x_of(const plot *p, double seconds)
{
    return LEFT + seconds / p->seconds * (WIDTH - LEFT - RIGHT);
}

static double y_of(const plot *p, double bytes)
{
    return HEIGHT - BOTTOM - bytes / p->most * (HEIGHT - TOP - BOTTOM);
}

/* Without durations tasks take a second each. */
static double seconds_of(const analyze_study *study, uint32_t task)
{
    return study->work > 0 ? study->dag.tasks[task].seconds : 1;
}

static void draw_axes(FILE *out, const plot *p)
{
    for (int i = 0; i <= 4; i++) {
        char words[32];
        double y = y_of(p, p->most * i / 4), x = x_of(p, p->seconds * i / 4);
        fprintf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", LEFT, y, WIDTH - RIGHT,
                y);
        text(out, LEFT - 6, y + 4, "end", "black", analyze_bytes((int64_t)(p->most * i / 4)));
        snprintf(words, sizeof words, "%.5g s", p->seconds * i / 4);
        text(out, x, HEIGHT - BOTTOM + 18, i < 4 ? "middle" : "end", "black", words);
    }
}

static void draw_level(FILE *out, const plot *p, double bytes, const char *color, const char *words)
{
    if (bytes > p->most)
        return;
    fprintf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-dasharray=\"6 4\"/>\n", LEFT,
            y_of(p, bytes), WIDTH - RIGHT, y_of(p, bytes), color);
    text(out, WIDTH - RIGHT, y_of(p, bytes) - 4, "end", color, words);
}

/* A graph of many tasks is drawn with the highest level of each pixel. */
static void draw_curve(FILE *out, const analyze_study *study, const analyze_order *o, const od_dag_level *levels,
                       const plot *p, const char *color)
{
    double at = 0, column = -1, top = 0;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"M%d %.1f", color, LEFT, y_of(p, 0));
    for (uint32_t i = 0; i < study->dag.ntasks; i++) {
        double from = x_of(p, at), to = x_of(p, at += seconds_of(study, o->order[i]));
        top = fmax(top, (double)levels[i].during);
        if (to - column < 0.5 && i + 1 < study->dag.ntasks)
            continue;
        fprintf(out, "L%.1f %.1fL%.1f %.1f", fmax(from, column), y_of(p, top), to, y_of(p, top));
        top = (double)levels[i].after;
        column = to;
    }
    fputs("\"/>\n", out);
}

static od_status draw_curves(FILE *out, const analyze_study *study, const plot *p)
{
    od_dag_level *levels = malloc(((size_t)study->dag.ntasks + 1) * sizeof *levels);
    for (int kind = 0, n = 0; kind < ANALYZE_ORDERS && levels; kind++) {
        const analyze_order *o = &study->orders[kind];
        char words[96];
        if (!o->order)
            continue;
        od_dag_peak(&study->dag, study->model, o->order, levels);
        draw_curve(out, study, o, levels, p, colors[kind]);
        snprintf(words, sizeof words, "%s: %s", o->name, analyze_bytes(o->peak));
        text(out, LEFT + 180 * n++, 44, "start", colors[kind], words);
    }
    od_status status = levels ? OD_OK : OD_ENOMEM;
    free(levels);
    return status;
}

od_status analyze_draw_memory(const analyze_study *study, FILE *out)
{
    plot p = {study->work > 0 ? study->work : study->dag.ntasks, 1};
    char words[160];
    for (int kind = 0; kind < ANALYZE_ORDERS; kind++)
        if (study->orders[kind].order)
            p.most = fmax(p.most, 1.05 * (double)study->orders[kind].peak);
    if ((double)study->cut.bound < 3 * p.most)
        p.most = fmax(p.most, 1.05 * (double)study->cut.bound);
    begin_picture(out, WIDTH, HEIGHT);
    snprintf(words, sizeof words, "Memory on one processor; any number of processors: at most %s",
             analyze_bytes(study->cut.bound));
    text(out, LEFT, 22, "start", "black", words);
    draw_axes(out, &p);
    od_status status = draw_curves(out, study, &p);
    draw_level(out, &p, (double)study->cut.bound, "#2ca02c", "maximum cut");
    if (study->bound)
        draw_level(out, &p, (double)study->bound, "#9467bd", "bound");
    fputs("</svg>\n", out);
    return status;
}

/* --- the graph -------------------------------------------------------------------------------------- */

enum { COLUMN = 104, ROW = 44, MARGIN = 56, RADIUS = 13 };

/* Tasks in columns by the number of tasks before them, and in rows by where those before them are. */
typedef struct layout {
    uint32_t column[ANALYZE_FEW], row[ANALYZE_FEW];
    double wish[ANALYZE_FEW]; /* mean row of the tasks before */
    uint32_t columns, rows;
} layout;

static uint32_t count_column(const layout *l, uint32_t ntasks, uint32_t column)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < ntasks; t++)
        count += l->column[t] == column;
    return count;
}

static void choose_columns(const od_dag *dag, layout *l)
{
    for (uint32_t i = 0; i < dag->ntasks; i++) {
        uint32_t t = dag->sorted[i];
        l->column[t] = 0;
        for (uint32_t k = dag->before.first[t]; k < dag->before.first[t + 1]; k++) {
            uint32_t other = l->column[dag->before.items[k]] + 1;
            l->column[t] = other > l->column[t] ? other : l->column[t];
        }
        l->columns = l->column[t] + 1 > l->columns ? l->column[t] + 1 : l->columns;
    }
    /* Sources next to those that need them. */
    for (uint32_t i = dag->ntasks; i > 0; i--) {
        uint32_t t = dag->sorted[i - 1], least = UINT32_MAX;
        for (uint32_t k = dag->after.first[t]; k < dag->after.first[t + 1]; k++)
            least = l->column[dag->after.items[k]] < least ? l->column[dag->after.items[k]] : least;
        if (!od_dag_count(&dag->before, t) && least != UINT32_MAX)
            l->column[t] = least - 1;
    }
}

static double mean_row(const layout *l, const od_dag_lists *lists, uint32_t t, double otherwise)
{
    double sum = 0;
    for (uint32_t k = lists->first[t]; k < lists->first[t + 1]; k++)
        sum += l->row[lists->items[k]] - (count_column(l, ANALYZE_FEW, l->column[lists->items[k]]) - 1) / 2.0;
    return od_dag_count(lists, t) ? sum / od_dag_count(lists, t) : otherwise;
}

/* Rows of a column in the order of their wishes. */
static void sort_column(const od_dag *dag, layout *l, uint32_t column, const od_dag_lists *neighbours)
{
    for (uint32_t t = 0; t < dag->ntasks; t++)
        if (l->column[t] == column)
            l->wish[t] = mean_row(l, neighbours, t, l->row[t] - (count_column(l, ANALYZE_FEW, column) - 1) / 2.0);
    for (uint32_t t = 0; t < dag->ntasks; t++) {
        uint32_t row = 0;
        for (uint32_t u = 0; u < dag->ntasks && l->column[t] == column; u++)
            row += l->column[u] == column && (l->wish[u] < l->wish[t] || (l->wish[u] == l->wish[t] && u < t));
        if (l->column[t] == column)
            l->row[t] = row;
    }
}

static void arrange(const od_dag *dag, layout *l)
{
    for (uint32_t t = 0; t < ANALYZE_FEW; t++)
        l->column[t] = UINT32_MAX;
    choose_columns(dag, l);
    for (uint32_t c = 0; c < l->columns; c++) {
        sort_column(dag, l, c, &dag->before);
        uint32_t count = count_column(l, dag->ntasks, c);
        l->rows = count > l->rows ? count : l->rows;
    }
    for (int sweep = 0; sweep < 4; sweep++) {
        for (uint32_t c = l->columns; c > 0; c--)
            sort_column(dag, l, c - 1, &dag->after);
        for (uint32_t c = 0; c < l->columns; c++)
            sort_column(dag, l, c, &dag->before);
    }
}

static double task_x(const layout *l, uint32_t t)
{
    return MARGIN + COLUMN * (double)l->column[t];
}

static double task_y(const layout *l, uint32_t t)
{
    double middle = (l->rows - 1) / 2.0, own = (count_column(l, ANALYZE_FEW, l->column[t]) - 1) / 2.0;
    return MARGIN + 24 + ROW * (middle + l->row[t] - own);
}

static void draw_arrow(FILE *out, const layout *l, uint32_t from, uint32_t to, const char *style)
{
    double x1 = task_x(l, from), y1 = task_y(l, from), x2 = task_x(l, to), y2 = task_y(l, to);
    double length = fmax(hypot(x2 - x1, y2 - y1), 1), dx = (x2 - x1) / length * RADIUS,
           dy = (y2 - y1) / length * RADIUS;
    if (l->column[from] + 1 == l->column[to]) {
        fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1 + dx, y1 + dy, x2 - dx, y2 - dy,
                style);
        return;
    }
    double bend = y1 == y2 ? ROW * 0.6 : 0; /* around the tasks between them */
    fprintf(out, "<path fill=\"none\" d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" %s/>\n", x1 + dx, y1 + dy, (x1 + x2) / 2,
            (y1 + y2) / 2 - bend, x2 - dx, y2 - dy, style);
}

static bool is_alive(const analyze_study *study, const od_dag_datum *d, uint32_t reader)
{
    od_dag_phase phase = study->cut.phase[reader];
    bool freed = phase == OD_DAG_ENDED || (phase == OD_DAG_RUNNING && study->model == OD_DAG_REPLACE);
    return study->cut.phase[d->producer] != OD_DAG_WAITING && !freed;
}

/* Data in memory at the peak are red, and wide according to their size. */
static void draw_data(FILE *out, const analyze_study *study, const layout *l)
{
    int64_t largest = 1;
    for (uint32_t d = 0; d < study->dag.ndata; d++)
        largest = study->dag.data[d].bytes > largest ? study->dag.data[d].bytes : largest;
    for (uint32_t d = 0; d < study->dag.ndata; d++) {
        const od_dag_datum *datum = &study->dag.data[d];
        for (uint32_t i = 0; i < datum->nreaders && datum->producer != OD_DAG_NONE; i++) {
            uint32_t reader = study->dag.readers[datum->first_reader + i];
            char style[128];
            snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"%.1f\" marker-end=\"url(#a)\"",
                     is_alive(study, datum, reader) ? "#d62728" : "#bbbbbb",
                     0.8 + 3.2 * (double)datum->bytes / (double)largest);
            draw_arrow(out, l, datum->producer, reader, style);
        }
    }
}

static void draw_orders(FILE *out, const layout *l, const od_dag_order *orders, uint32_t count, const char *color)
{
    char style[128];
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-dasharray=\"4 3\" marker-end=\"url(#a)\"", color);
    for (uint32_t i = 0; i < count; i++)
        draw_arrow(out, l, orders[i].before, orders[i].after, style);
}

/* The first characters of a name. */
static void draw_name(FILE *out, double x, double y, const char *name)
{
    char shown[15 * 4 + 1];
    size_t length = 0;
    for (int left = 15; left > 0 && name[length]; left--)
        length += character(name + length) ? character(name + length) : 1;
    snprintf(shown, sizeof shown, "%.*s", (int)length, name);
    text(out, x, y, "middle", "#555555", shown);
}

static void draw_tasks(FILE *out, const analyze_study *study, const layout *l)
{
    static const char *const fills[] = {
        [OD_DAG_WAITING] = "white", [OD_DAG_RUNNING] = "#f5b7b1", [OD_DAG_ENDED] = "#c8dcec"};
    for (uint32_t t = 0; t < study->dag.ntasks; t++) {
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\" stroke=\"black\"/>\n", task_x(l, t),
                task_y(l, t), RADIUS, fills[study->cut.phase[t]]);
        draw_name(out, task_x(l, t), task_y(l, t) + RADIUS + 11, od_dag_name(&study->dag, t));
    }
}

od_status analyze_draw_cut(const analyze_study *study, od_dag_rule rule, FILE *out)
{
    layout *l = calloc(1, sizeof *l);
    char words[200];
    if (!l)
        return OD_ENOMEM;
    arrange(&study->dag, l);
    int width = 2 * MARGIN + COLUMN * (int)(l->columns - 1), height = 2 * MARGIN + 24 + ROW * (int)(l->rows - 1);
    begin_picture(out, width > 640 ? width : 640, height);
    fputs("<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
          "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
          "fill=\"context-stroke\"/></marker></defs>\n",
          out);
    snprintf(words, sizeof words, "Maximum cut %s: red data are in memory; blue tasks have ended, red ones run",
             analyze_bytes(study->cut.bound));
    text(out, 16, 20, "start", "black", words);
    if (rule < OD_DAG_RULES) {
        snprintf(words, sizeof words, "dashed: what %s adds for at most %s", od_dag_rule_names[rule],
                 analyze_bytes(study->bound));
        text(out, 16, 36, "start", "#9467bd", words);
    }
    draw_data(out, study, l);
    draw_orders(out, l, study->dag.orders, study->dag.norders, "#bbbbbb");
    if (rule < OD_DAG_RULES)
        draw_orders(out, l, study->rules[rule].added, study->rules[rule].result.added, "#9467bd");
    draw_tasks(out, study, l);
    fputs("</svg>\n", out);
    free(l);
    return OD_OK;
}
