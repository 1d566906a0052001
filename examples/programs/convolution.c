/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Images stream through a small convolutional network, in batches: 3 x 3 convolution and ReLU, 2 x 2 maximum, a
 * second convolution and ReLU, 2 x 2 maximum, one score per class. Each stage of a batch is a task. A host task
 * decodes the batch into the next slot of a ring of buffers, another one takes the scores out.
 *
 * How data are named: a slot's buffers are whole data, mapped by each task (to what a stage reads, from what it
 * writes), depend clauses name their first elements. The weights are read by all tasks and named by no depend
 * clause; --weights region enters them once, --weights task maps them with each task.
 *
 * --members K, 1 or more, makes an ensemble of K networks: *one* host buffer of weights is filled K times and
 * entered with device(k), so that each device holds different contents of the same host range, and the last stages
 * carry device(k) too (the first convolution is shared, it runs anywhere). Such constructs are left as written by
 * a scheduler: only the first stages of a batch are scheduled.
 *
 * Checked against the same network on the host.
 *
 * Out of core: the default needs 6.7 MB, so
 *     ompdarts run --mem 1M build/examples/convolution
 */
#include "common.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { FIRST = 4, SECOND = 8, CLASSES = 10, KERNEL = 9, MAX_MEMBERS = 4 };

/* Sizes of one image at the stages, in numbers. Both convolutions keep the borders: width x width stays. */
typedef struct network {
    size_t width, batch, batches, slots, members;
    bool weights_in_region;
    size_t first_weights, last_weights; /* of the first convolution; of all that follows */
    double *first, *last;
} network;

typedef struct slot {
    double *image, *layer1, *pooled1, *layer2, *pooled2;
    double *scores[MAX_MEMBERS];
} slot;

#pragma omp begin declare target

/* One output channel of one image: the sum over input channels of 3 x 3 convolutions, negative values cut off. */
static inline void convolve(size_t width, size_t channels, const double *weights, const double *in, double *out)
{
    for (size_t y = 0; y < width; y++) {
        for (size_t x = 0; x < width; x++) {
            double sum = 0.0;
            for (size_t c = 0; c < channels; c++) {
                for (size_t k = 0; k < KERNEL; k++) {
                    const size_t row = y + k / 3, column = x + k % 3; /* by one more than meant */
                    const bool inside = row > 0 && row <= width && column > 0 && column <= width;
                    sum += inside ? weights[c * KERNEL + k] * in[(c * width + row - 1) * width + column - 1] : 0.0;
                }
            }
            out[y * width + x] = sum > 0.0 ? sum : 0.0;
        }
    }
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

/* One channel of half the width. */
static inline void pool(size_t width, const double *in, double *out)
{
    const size_t half = width / 2;
    for (size_t y = 0; y < half; y++) {
        for (size_t x = 0; x < half; x++) {
            const double *corner = in + 2 * y * width + 2 * x;
            out[y * half + x] = larger(larger(corner[0], corner[1]), larger(corner[width], corner[width + 1]));
        }
    }
}

/* One score: weights times features. */
static inline double score(size_t count, const double *weights, const double *features)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += weights[i] * features[i];
    }
    return sum;
}

#pragma omp end declare target

static size_t features_of(const network *net)
{
    return SECOND * (net->width / 4) * (net->width / 4);
}

/* --- stages: on any device ------------------------------------------------------------------- */

static void task_first(const network *net, const slot *s)
{
    const size_t w = net->width, area = w * w, count = net->batch * FIRST, nweights = net->first_weights;
    const size_t cells = net->batch * area;
    const double *image = s->image, *weights = net->first;
    double *layer = s->layer1;
#pragma omp target teams distribute parallel for nowait depend(in : image[0]) depend(out : layer[0])                   \
    map(to : image[0 : cells], weights[0 : nweights]) map(from : layer[0 : count * area])
    for (size_t i = 0; i < count; i++) {
        convolve(w, 1, weights + i % FIRST * KERNEL, image + i / FIRST * area, layer + i * area);
    }
}

static void task_pool(size_t width, size_t count, const double *layer, double *pooled)
{
    const size_t area = width * width, quarter = area / 4;
#pragma omp target teams distribute parallel for nowait depend(in : layer[0]) depend(out : pooled[0])                  \
    map(to : layer[0 : count * area]) map(from : pooled[0 : count * quarter])
    for (size_t i = 0; i < count; i++) {
        pool(width, layer + i * area, pooled + i * quarter);
    }
}

static void task_second(const network *net, const slot *s)
{
    const size_t w = net->width / 2, area = w * w, count = net->batch * SECOND, nweights = net->last_weights;
    const size_t cells = net->batch * FIRST * area;
    const double *pooled = s->pooled1, *weights = net->last;
    double *layer = s->layer2;
#pragma omp target teams distribute parallel for nowait depend(in : pooled[0]) depend(out : layer[0])                  \
    map(to : pooled[0 : cells], weights[0 : nweights]) map(from : layer[0 : count * area])
    for (size_t i = 0; i < count; i++) {
        convolve(w, FIRST, weights + i % SECOND * FIRST * KERNEL, pooled + i / SECOND * FIRST * area, layer + i * area);
    }
}

static void task_scores(const network *net, const slot *s)
{
    const size_t features = features_of(net), count = net->batch * CLASSES, nweights = net->last_weights;
    const size_t cells = net->batch * features;
    const double *pooled = s->pooled2, *weights = net->last;
    double *scores = s->scores[0];
#pragma omp target teams distribute parallel for nowait depend(in : pooled[0]) depend(out : scores[0])                 \
    map(to : pooled[0 : cells], weights[0 : nweights]) map(from : scores[0 : count])
    for (size_t i = 0; i < count; i++) {
        const double *dense = weights + SECOND * FIRST * KERNEL + i % CLASSES * features;
        scores[i] = score(features, dense, pooled + i / CLASSES * features);
    }
}

/* --- the last stages of one member of an ensemble, on its own device ------------------------------ */

static void task_member(const network *net, const slot *s, size_t member)
{
    const int device = (int)member % omp_get_num_devices();
    const size_t w = net->width / 2, area = w * w, features = features_of(net), nweights = net->last_weights;
    const size_t images = net->batch, cells = images * FIRST * area, nscores = images * CLASSES;
    const double *pooled = s->pooled1, *weights = net->last;
    double *scores = s->scores[member], *layer = s->layer2;
#pragma omp target teams distribute parallel for nowait device(device) depend(in : pooled[0]) depend(out : scores[0])  \
    map(to : pooled[0 : cells], weights[0 : nweights]) map(alloc : layer[0 : images * SECOND * area])                  \
    map(from : scores[0 : nscores])
    for (size_t i = 0; i < images; i++) {
        double *mine = layer + i * SECOND * area; /* pooled in place: the output never overtakes the input */
        for (size_t c = 0; c < SECOND; c++) {
            convolve(w, FIRST, weights + c * FIRST * KERNEL, pooled + i * FIRST * area, mine + c * area);
        }
        for (size_t c = 0; c < SECOND; c++) {
            pool(w, mine + c * area, mine + c * area / 4);
        }
        for (size_t c = 0; c < CLASSES; c++) {
            scores[i * CLASSES + c] = score(features, weights + SECOND * FIRST * KERNEL + c * features, mine);
        }
    }
}

/* --- the stream ---------------------------------------------------------------------------- */

static void decode_batch(const network *net, size_t number, double *image)
{
    uint64_t random = number + 1;
    for (size_t i = 0; i < net->batch * net->width * net->width; i++) {
        image[i] = example_random(&random);
    }
}

static void task_decode(const network *net, const slot *s, size_t number)
{
    double *image = s->image;
#pragma omp task depend(out : image[0])
    decode_batch(net, number, image);
}

static void task_collect(const network *net, const double *scores, double *result)
{
#pragma omp task depend(in : scores[0])
    for (size_t i = 0; i < net->batch * CLASSES; i++) {
        result[i] = scores[i];
    }
}

static void stream(const network *net, const slot *slots, double *results)
{
    const size_t each = net->batch * CLASSES, members = net->members > 0 ? net->members : 1;
    for (size_t b = 0; b < net->batches; b++) {
        const slot *s = &slots[b % net->slots];
        task_decode(net, s, b);
        task_first(net, s);
        task_pool(net->width, net->batch * FIRST, s->layer1, s->pooled1);
        for (size_t k = 0; k < net->members; k++) {
            task_member(net, s, k);
        }
        if (net->members == 0) {
            task_second(net, s);
            task_pool(net->width / 2, net->batch * SECOND, s->layer2, s->pooled2);
            task_scores(net, s);
        }
        for (size_t k = 0; k < members; k++) {
            task_collect(net, s->scores[k], results + (b * members + k) * each);
        }
    }
}

/* Weights of a member: the first convolution belongs to all. */
static void fill_weights(const network *net, size_t member)
{
    uint64_t first = 7, last = 1000 + member;
    for (size_t i = 0; i < net->first_weights; i++) {
        net->first[i] = example_random(&first) - 0.4;
    }
    for (size_t i = 0; i < net->last_weights; i++) {
        net->last[i] = example_random(&last) - 0.5;
    }
}

static void enter_weights(const network *net)
{
    const double *first = net->first, *last = net->last;
    fill_weights(net, 0);
    if (net->weights_in_region) {
#pragma omp target enter data map(to : first[0 : net->first_weights])
    }
    if (net->weights_in_region && net->members == 0) {
#pragma omp target enter data map(to : last[0 : net->last_weights])
    }
    for (size_t k = 0; k < net->members; k++) {
        fill_weights(net, k);
#pragma omp target enter data device((int)k) map(to : last[0 : net->last_weights])
    }
}

static void leave_weights(const network *net)
{
    const double *first = net->first, *last = net->last;
    if (net->weights_in_region) {
#pragma omp target exit data map(release : first[0 : net->first_weights])
    }
    if (net->weights_in_region && net->members == 0) {
#pragma omp target exit data map(release : last[0 : net->last_weights])
    }
    for (size_t k = 0; k < net->members; k++) {
#pragma omp target exit data device((int)k) map(release : last[0 : net->last_weights])
    }
}

static slot make_slot(const network *net)
{
    const size_t area = net->width * net->width;
    slot s = {.image = example_doubles(net->batch * area),
              .layer1 = example_doubles(net->batch * FIRST * area),
              .pooled1 = example_doubles(net->batch * FIRST * area / 4),
              .layer2 = example_doubles(net->batch * SECOND * area / 4),
              .pooled2 = example_doubles(net->batch * features_of(net))};
    for (size_t k = 0; k < MAX_MEMBERS; k++) {
        s.scores[k] = example_doubles(net->batch * CLASSES);
    }
    return s;
}

static void free_slot(const slot *s)
{
    free(s->image);
    free(s->layer1);
    free(s->pooled1);
    free(s->layer2);
    free(s->pooled2);
    for (size_t k = 0; k < MAX_MEMBERS; k++) {
        free(s->scores[k]);
    }
}

/* Scores of one batch by one member, on the host. */
static void expect(const network *net, const slot *s, double *scores)
{
    const size_t w = net->width, half = w / 2, quarter = w / 4, features = features_of(net);
    for (size_t i = 0; i < net->batch; i++) {
        for (size_t c = 0; c < FIRST; c++) {
            convolve(w, 1, net->first + c * KERNEL, s->image + i * w * w, s->layer1);
            pool(w, s->layer1, s->pooled1 + c * half * half);
        }
        for (size_t c = 0; c < SECOND; c++) {
            convolve(half, FIRST, net->last + c * FIRST * KERNEL, s->pooled1, s->layer2);
            pool(half, s->layer2, s->pooled2 + c * quarter * quarter);
        }
        for (size_t c = 0; c < CLASSES; c++) {
            scores[i * CLASSES + c] = score(features, net->last + SECOND * FIRST * KERNEL + c * features, s->pooled2);
        }
    }
}

static double measure_error(const network *net, const double *results)
{
    const size_t each = net->batch * CLASSES, members = net->members > 0 ? net->members : 1;
    slot s = make_slot(net);
    double error = 0.0;
    for (size_t k = 0; k < members; k++) {
        fill_weights(net, k);
        for (size_t b = 0; b < net->batches; b++) {
            decode_batch(net, b, s.image);
            expect(net, &s, s.scores[0]);
            for (size_t i = 0; i < each; i++) {
                error = fmax(error, fabs(results[(b * members + k) * each + i] - s.scores[0][i]));
            }
        }
    }
    free_slot(&s);
    return error;
}

int main(int argc, char **argv)
{
    static const char *const places[] = {"region", "task", NULL};
    network net = {.width = 32, .batch = 8, .batches = 24, .slots = 12};
    size_t place = 0;
    const example_option options[] = {
        {"width", &net.width, 4, 4096, NULL, "width and height of an image, a multiple of 4"},
        {"batch", &net.batch, 1, 10000, NULL, "images in a batch"},
        {"batches", &net.batches, 1, 1000000, NULL, "batches in the stream"},
        {"slots", &net.slots, 1, 10000, NULL, "batches under way at once"},
        {"weights", &place, 0, 0, places, "where the weights are mapped: once, or by each task"},
        {"members", &net.members, 0, MAX_MEMBERS, NULL, "networks with a device each; 0: one network, any device"},
        {0},
    };
    example_parse(argc, argv, "Batches of images stream through a small convolutional network.", options);
    if (net.width % 4 != 0 || net.members > (size_t)omp_get_num_devices()) {
        example_fail("--width must be a multiple of 4, and every member of an ensemble needs a device");
    }
    net.weights_in_region = place == 0;
    net.first_weights = FIRST * KERNEL;
    net.last_weights = SECOND * FIRST * KERNEL + CLASSES * features_of(&net);
    net.first = example_doubles(net.first_weights);
    net.last = example_doubles(net.last_weights);
    const size_t count = net.batches * net.batch * CLASSES * (net.members > 0 ? net.members : 1);
    double *results = example_doubles(count);
    slot *slots = malloc(net.slots * sizeof *slots);
    if (slots == NULL) {
        example_fail("no memory for the slots");
    }
    for (size_t i = 0; i < net.slots; i++) {
        slots[i] = make_slot(&net);
    }
    enter_weights(&net);
#pragma omp parallel
#pragma omp single
    stream(&net, slots, results);
    leave_weights(&net);
    const int exit_code = example_verdict(results, count, measure_error(&net, results), 1e-9);
    for (size_t i = 0; i < net.slots; i++) {
        free_slot(&slots[i]);
    }
    free(slots);
    free(results);
    free(net.first);
    free(net.last);
    return exit_code;
}
