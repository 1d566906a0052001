/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Schedules as pictures (SVG), in the manner of the thesis's figures 6.3, 6.5 and 6.7. */
#include "tools/batch/schedules.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 960, HEIGHT = 480, LEFT = 64, RIGHT = 24, TOP = 40, BOTTOM = 64, POINTS = 1000 };

static const char *const colors[] = {"#444444", "#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                     "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#bcbd22"};

/* A value's place between the borders of the picture; the scale is logarithmic from `low` on, or linear. */
typedef struct axis {
    double low, high;
    bool logarithmic;
    int from, to; /* pixels */
} axis;

static double at(const axis *a, double value)
{
    double share = a->logarithmic ? log(value / a->low) / log(a->high / a->low) : (value - a->low) / (a->high - a->low);
    return a->from + fmin(fmax(share, 0), 1) * (a->to - a->from);
}

static const char *color(int i)
{
    return colors[(size_t)i % (sizeof colors / sizeof *colors)];
}

static void begin_picture(FILE *out, const char *title)
{
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n<text x=\"%d\" y=\"24\" font-size=\"15\">%s</text>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, title);
}

static void line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

static void label(FILE *out, double x, double y, const char *anchor, const char *format, double value)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    fprintf(out, format, value);
    fputs("</text>\n", out);
}

/* 1, 2 or 5 times a power of ten, not below the value. */
static double round_up(double value)
{
    double power = pow(10, floor(log10(value))), digit = value / power;
    return digit <= 1 ? power : digit <= 2 ? 2 * power : digit <= 5 ? 5 * power : 10 * power;
}

/* From the lowest whisker to the highest, or mean, and from a half to 2 at least. */
static axis ratio_axis(const batch_study *study, int from, int to)
{
    double low = 0.5, high = 2;
    for (int i = 0; i < study->count; i++) {
        const od_batch_improvement *better = &study->schedules[i].improvement;
        if (!better->changed)
            continue;
        low = fmin(low, better->quantile[OD_BATCH_WHISKER_LOW]);
        high = fmax(high, fmax(better->mean, better->quantile[OD_BATCH_WHISKER_HIGH]));
    }
    return (axis){fmax(1 / round_up(1 / low), 1e-3), fmin(round_up(high), 1e3), true, from, to};
}

static const char *dashes(const batch_schedule *s)
{
    return s->settings.backfill ? " stroke-dasharray=\"6 3\"" : "";
}

static void draw_ratios(FILE *out, const axis *y)
{
    static const double ticks[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
                                   2,     5,     10,    20,   50,   100,  200, 500, 1000};
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        if (ticks[i] < y->low * 0.999 || ticks[i] > y->high * 1.001)
            continue;
        bool vertical = y->to < y->from;
        double p = at(y, ticks[i]);
        const char *style =
            ticks[i] < 1 || ticks[i] > 1 ? "stroke=\"#ddd\"" : "stroke=\"black\" stroke-dasharray=\"4\"";
        if (vertical) {
            line(out, LEFT, p, WIDTH - RIGHT, p, style);
            label(out, LEFT - 8, p + 4, "end", "%g", ticks[i]);
        } else {
            line(out, p, TOP, p, HEIGHT - BOTTOM, style);
            label(out, p, HEIGHT - BOTTOM + 18, "middle", "%g", ticks[i]);
        }
    }
}

/* --- boxes -------------------------------------------------------------------------- */

static void draw_box(FILE *out, const batch_schedule *s, int i, double x, double width, const axis *y)
{
    const double *q = s->improvement.quantile;
    double low = at(y, q[OD_BATCH_QUARTILE_LOW]), high = at(y, q[OD_BATCH_QUARTILE_HIGH]), middle = x + width / 2;
    line(out, middle, at(y, q[OD_BATCH_WHISKER_LOW]), middle, low, "stroke=\"#444\"");
    line(out, middle, high, middle, at(y, q[OD_BATCH_WHISKER_HIGH]), "stroke=\"#444\"");
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" fill-opacity=\"0.4\" "
            "stroke=\"#444\"/>\n",
            x, high, width, low - high, color(i));
    line(out, x, at(y, q[OD_BATCH_MEDIAN]), x + width, at(y, q[OD_BATCH_MEDIAN]),
         "stroke=\"black\" stroke-width=\"2\"");
    double mean = at(y, s->improvement.mean);
    fprintf(out, "<path d=\"M%.1f %.1f l5 9 h-10 z\" fill=\"#2ca02c\"/>\n", middle, mean - 5);
}

void batch_draw_boxes(const batch_study *study, FILE *out)
{
    char title[160];
    axis y = ratio_axis(study, HEIGHT - BOTTOM, TOP);
    double step = (double)(WIDTH - LEFT - RIGHT) / study->count;
    snprintf(title, sizeof title,
             "Stretch of changed sessions: improvement over %s (box: 25 to 75 %%, whiskers: 12.5 to 87.5 %%, "
             "triangle: mean)",
             study->schedules[0].name);
    begin_picture(out, title);
    draw_ratios(out, &y);
    for (int i = 0; i < study->count; i++) {
        const batch_schedule *s = &study->schedules[i];
        double x = LEFT + i * step + step * 0.2;
        if (s->improvement.changed)
            draw_box(out, s, i, x, step * 0.6, &y);
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x + step * 0.3,
                HEIGHT - BOTTOM + 20, s->name);
        label(out, x + step * 0.3, HEIGHT - BOTTOM + 38, "middle", "%.1f %%",
              s->improvement.sessions ? 100.0 * s->improvement.changed / s->improvement.sessions : 0);
    }
    fputs("</svg>\n", out);
}

/* --- shares of sessions ------------------------------------------------------------------ */

static void draw_share(FILE *out, const batch_schedule *s, int i, const axis *x, const axis *y)
{
    const od_batch_improvement *better = &s->improvement;
    uint32_t step = better->changed / POINTS + 1;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", color(i), dashes(s));
    for (uint32_t n = 0; n < better->changed; n += step)
        fprintf(out, "%.1f,%.1f ", at(x, better->ratios[n]), at(y, (double)(n + 1) / better->changed));
    fputs("\"/>\n", out);
    fprintf(out, "<path d=\"M%d %d h24\" stroke=\"%s\" stroke-width=\"4\"%s/><text x=\"%d\" y=\"%d\">%s</text>\n",
            LEFT + 12, TOP + 12 + 18 * i, color(i), dashes(s), LEFT + 42, TOP + 16 + 18 * i, s->name);
}

void batch_draw_shares(const batch_study *study, FILE *out)
{
    char title[160];
    axis x = ratio_axis(study, LEFT, WIDTH - RIGHT), y = {0, 1, false, HEIGHT - BOTTOM, TOP};
    snprintf(title, sizeof title, "Stretch of sessions: share of the changed ones up to an improvement over %s",
             study->schedules[0].name);
    begin_picture(out, title);
    draw_ratios(out, &x);
    for (int i = 0; i <= 4; i++)
        label(out, LEFT - 8, at(&y, i / 4.0) + 4, "end", "%g", i / 4.0);
    for (int i = 0; i < study->count; i++)
        if (study->schedules[i].improvement.changed)
            draw_share(out, &study->schedules[i], i, &x, &y);
    fputs("</svg>\n", out);
}

/* --- use over time -------------------------------------------------------------------------- */

typedef double (*level_value)(const od_batch_level *level);

static double used(const od_batch_level *level)
{
    return level->used;
}

static double loading(const od_batch_level *level)
{
    return level->loading;
}

static double queued(const od_batch_level *level)
{
    return level->queued;
}

static double used_counted(const od_batch_level *level)
{
    return level->used_counted;
}

static double queued_counted(const od_batch_level *level)
{
    return level->queued_counted;
}

/* Steps; where there are more levels than pixels, the highest of each pixel. */
static void draw_levels(FILE *out, const od_batch_level *levels, uint64_t count, level_value value, const axis *x,
                        const axis *y, const char *stroke)
{
    double last = 0;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" points=\"", stroke);
    for (uint64_t i = 0; i < count;) {
        double pixel = floor(at(x, levels[i].time)), highest = 0;
        fprintf(out, "%.0f,%.1f ", pixel, at(y, last));
        for (; i < count && floor(at(x, levels[i].time)) <= pixel; i++)
            highest = fmax(highest, last = value(&levels[i]));
        fprintf(out, "%.0f,%.1f %.0f,%.1f ", pixel, at(y, highest), pixel, at(y, last));
    }
    fputs("\"/>\n", out);
}

static void draw_times(FILE *out, const axis *x)
{
    double span = x->high - x->low, unit = span > 3 * 86400 ? 86400 : span > 3 * 3600 ? 3600 : 60;
    double step = unit * fmax(round_up(span / unit / 12), unit < 86400 ? 0 : 1);
    for (double time = ceil(x->low / step) * step; time <= x->high; time += step) {
        line(out, at(x, time), TOP, at(x, time), HEIGHT - BOTTOM, "stroke=\"#eee\"");
        label(out, at(x, time), HEIGHT - BOTTOM + 18, "middle", "%g", time / unit);
    }
    label(out, WIDTH / 2.0, HEIGHT - BOTTOM + 40, "middle", unit > 3600 ? "days" : unit > 60 ? "hours" : "minutes", 0);
}

static void draw_window(FILE *out, const od_batch_window *window, const axis *x)
{
    double times[] = {window->from, window->to};
    for (int i = 0; i < 2; i++)
        if (times[i] > x->low && times[i] < x->high)
            line(out, at(x, times[i]), TOP, at(x, times[i]), HEIGHT - BOTTOM,
                 "stroke=\"#ff7f0e\" stroke-dasharray=\"3\"");
}

static double longest_queue(const od_batch_level *levels, uint64_t count)
{
    double longest = 1;
    for (uint64_t i = 0; i < count; i++)
        longest = fmax(longest, levels[i].queued);
    return round_up(longest);
}

od_status batch_draw_use(const batch_study *study, const batch_schedule *s, FILE *out)
{
    uint64_t count;
    char title[160];
    od_batch_level *levels = od_batch_levels(&study->log, &study->window, s->outcomes, &count);
    if (!levels)
        return OD_ENOMEM;
    int middle = (TOP + HEIGHT - BOTTOM) / 2;
    axis x = {levels[0].time, fmax(levels[count - 1].time, levels[0].time + 1), false, LEFT, WIDTH - RIGHT};
    axis running = {0, study->cores, false, HEIGHT - BOTTOM, middle};
    axis queue = {0, longest_queue(levels, count), false, middle, TOP};
    bool counted = study->window.from > levels[0].time || study->window.to < levels[count - 1].time;
    snprintf(title, sizeof title, "%s: cores running (below) and in the queue (above); gray: loading%s", s->name,
             counted ? "; red: counted jobs" : "");
    begin_picture(out, title);
    draw_times(out, &x);
    draw_window(out, &study->window, &x);
    line(out, LEFT, middle, WIDTH - RIGHT, middle, "stroke=\"black\"");
    label(out, LEFT - 8, middle + 4, "end", "%g", study->cores);
    label(out, LEFT - 8, HEIGHT - BOTTOM + 4, "end", "%g", 0);
    label(out, LEFT - 8, TOP + 4, "end", "%g", queue.high);
    draw_levels(out, levels, count, used, &x, &running, "#1f77b4");
    draw_levels(out, levels, count, loading, &x, &running, "#888888");
    draw_levels(out, levels, count, queued, &x, &queue, "#1f77b4");
    if (counted) {
        draw_levels(out, levels, count, used_counted, &x, &running, "#d62728");
        draw_levels(out, levels, count, queued_counted, &x, &queue, "#d62728");
    }
    fputs("</svg>\n", out);
    free(levels);
    return OD_OK;
}
