/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sim/platform.h"

#include "sim/graph/graph.h"
#include "util/nearest.h"
#include "util/options.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <simgrid/engine.h>
#include <simgrid/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/dynar.h>

/* --- finding the file ------------------------------------------------------------ */

static const char suffix[] = ".xml";

/* The folder with the platforms: beside this program in the build tree, else where they are installed. */
static const char *platform_folder(void)
{
    static const char *const folders[] = {"platforms", OMPDARTS_SIM_PLATFORM_SUBDIR};
    static char path[2 * PATH_MAX];
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash && i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - program), program, folders[i]);
        if (access(path, R_OK) == 0)
            break;
    }
    return path;
}

static int is_platform(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > strlen(suffix) && strcmp(entry->d_name + length - strlen(suffix), suffix) == 0;
}

const char *const *sim_platform_names(void)
{
    enum { MOST = 64 };
    static char *names[MOST + 1];
    struct dirent **entries;
    int count = names[0] ? 0 : scandir(platform_folder(), &entries, is_platform, alphasort);
    for (int i = 0; i < count; i++) {
        if (i < MOST)
            names[i] = strndup(entries[i]->d_name, strlen(entries[i]->d_name) - strlen(suffix));
        free(entries[i]);
    }
    if (count > 0)
        free(entries);
    return (const char *const *)names;
}

static od_status find_file(const char *name, char *path, size_t path_size, char *error, size_t size)
{
    if (!strchr(name, '/') && !strchr(name, '.'))
        snprintf(path, path_size, "%s/%s%s", platform_folder(), name, suffix);
    else
        snprintf(path, path_size, "%s", name);
    if (access(path, R_OK) == 0)
        return OD_OK;
    const char *nearest = od_nearest_name(name, sim_platform_names());
    if (nearest) {
        snprintf(error, size, "unknown platform '%s', did you mean '%s'?", name, nearest);
        return OD_EINVAL;
    }
    int length = snprintf(error, size, "platform '%s': no such file (%s); platforms by name:", name, path);
    for (const char *const *known = sim_platform_names(); *known && length > 0 && (size_t)length < size; known++)
        length += snprintf(error + length, size - (size_t)length, " %s", *known);
    return OD_EINVAL;
}

/* --- kernel times ------------------------------------------------------------------- */

/* False: it is not such a line. */
static bool parse_time(const char *line, bool of_cores, sim_kernel_time *time)
{
    unsigned tile, cores = 1;
    int used = 0, found = sscanf(line, "%63s %u %lf%n", time->name, &tile, &time->seconds, &used);
    if (found != 3 || (of_cores && sscanf(line + used, "%u", &cores) == 0))
        return false;
    time->tile = tile;
    time->cores = cores;
    return tile > 0 && cores > 0 && time->seconds > 0;
}

static od_status read_times(const char *path, bool of_cores, sim_times *times, char *error, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(error, size, "kernel times %s: %s", path, strerror(errno));
        return OD_EINVAL;
    }
    od_status status = OD_OK;
    for (int number = 1; !status && fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        sim_kernel_time *items = realloc(times->items, (times->count + 1) * sizeof *items);
        if (items)
            times->items = items;
        if (!items || !parse_time(line, of_cores, &items[times->count])) {
            snprintf(error, size, "kernel times %s, line %d: not \"NAME TILE SECONDS%s\"", path, number,
                     of_cores ? " [CORES]" : "");
            status = OD_EINVAL;
        } else {
            times->count++;
        }
    }
    fclose(file);
    return status;
}

static double apart(uint32_t a, uint32_t b)
{
    return fabs(log((double)a / b));
}

static double seconds_of(const sim_times *times, const char *kernel, uint32_t tile, uint32_t cores)
{
    const sim_kernel_time *nearest = NULL;
    for (size_t i = 0; i < times->count; i++) {
        const sim_kernel_time *time = &times->items[i];
        double more = nearest ? apart(time->cores, cores) - apart(nearest->cores, cores) : -1;
        if (strcmp(time->name, kernel) == 0 &&
            (more < 0 || (more <= 0 && apart(time->tile, tile) < apart(nearest->tile, tile))))
            nearest = time;
    }
    return nearest ? nearest->seconds * pow((double)tile / nearest->tile, 3) * nearest->cores / cores : 0;
}

double sim_platform_seconds(const sim_platform *platform, const char *kernel, uint32_t tile)
{
    return seconds_of(&platform->times, kernel, tile, 1);
}

double sim_platform_core_seconds(const sim_platform *platform, const char *kernel, uint32_t tile, unsigned cores)
{
    return seconds_of(&platform->core_times, kernel, tile, cores);
}

/* --- the platform ---------------------------------------------------------------------- */

/* Links share their bandwidth in equal parts, without what belongs to TCP. SimGrid 3.32's default, lazy updates, ends
 * transfers at once that share no link but the latency with others that start at the same moment. */
static void start_simgrid(void)
{
    char *arguments[] = {"ompdarts-sim",
                         "--cfg=network/model:CM02",
                         "--cfg=network/optim:Full",
                         "--cfg=network/crosstraffic:no",
                         "--cfg=network/TCP-gamma:0",
                         "--cfg=network/weight-S:0",
                         "--cfg=network/latency-factor:1",
                         "--cfg=network/bandwidth-factor:1",
                         "--cfg=contexts/stack-size:512",
                         "--log=root.thresh:warning",
                         "--log=xbt_cfg.thresh:error",
                         NULL};
    int count = sizeof arguments / sizeof *arguments - 1;
    simgrid_init(&count, arguments);
}

static const char *property(const sim_platform *platform, const char *name)
{
    return sg_host_get_property_value(platform->memory, name);
}

static double number_of_property(const sim_platform *platform, const char *name)
{
    const char *text = property(platform, name);
    return text ? strtod(text, NULL) : 0;
}

static bool is_yes(const sim_platform *platform, const char *name)
{
    const char *text = property(platform, name);
    return text && strcmp(text, "yes") == 0;
}

/* The file is beside the platform's. */
static od_status read_times_beside(const char *path, const char *name, bool of_cores, sim_times *times, char *error,
                                   size_t size)
{
    char copy[PATH_MAX], file[2 * PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    snprintf(file, sizeof file, "%s/%s", dirname(copy), name);
    return read_times(file, of_cores, times, error, size);
}

static od_status read_cores(sim_platform *platform, const char *path, char *error, size_t size)
{
    double cores = number_of_property(platform, "cores");
    if (!property(platform, "cores"))
        return OD_OK;
    platform->core_peak = number_of_property(platform, "core-peak") * 1e9;
    if (!property(platform, "core-kernels") || platform->core_peak <= 0 || !(cores >= 1 && cores <= 1e6)) {
        snprintf(error, size,
                 "platform %s: the property cores of the host ram is not a number from 1 to 1000000 beside the "
                 "properties core-kernels and core-peak",
                 path);
        return OD_EINVAL;
    }
    platform->cores = (unsigned)cores;
    return OD_OK;
}

static od_status read_properties(sim_platform *platform, const char *path, char *error, size_t size)
{
    const char *kernels = property(platform, "kernels"), *slots = property(platform, "slots");
    platform->peak = number_of_property(platform, "peak") * 1e9;
    if (!kernels || platform->peak <= 0) {
        snprintf(error, size, "platform %s: the host ram lacks the property %s", path, kernels ? "peak" : "kernels");
        return OD_EINVAL;
    }
    platform->peer = is_yes(platform, "peer");
    platform->turns = is_yes(platform, "turns");
    platform->slots = slots ? (unsigned)strtoul(slots, NULL, 10) : 1;
    if (platform->slots == 0) {
        snprintf(error, size, "platform %s: the property slots is not a number above 0", path);
        return OD_EINVAL;
    }
    od_status status = read_cores(platform, path, error, size);
    if (!status)
        status = read_times_beside(path, kernels, false, &platform->times, error, size);
    if (!status && platform->cores)
        status = read_times_beside(path, property(platform, "core-kernels"), true, &platform->core_times, error, size);
    return status;
}

static void load(const char *path, sim_platform *platform)
{
    char device[16];
    start_simgrid();
    simgrid_load_platform(path);
    platform->memory = sg_host_by_name("ram");
    for (sg_host_t host;; platform->total++) {
        snprintf(device, sizeof device, "gpu%u", platform->total);
        host = sg_host_by_name(device);
        if (!host)
            break;
        if (platform->total < OD_MAX_DEVICES)
            platform->device[platform->ndevices++] = host;
    }
}

sg_host_t sim_platform_place(const sim_platform *platform, int place)
{
    return place >= OD_SPILL ? platform->memory : platform->device[place];
}

unsigned sim_platform_node(const sim_platform *platform, int place)
{
    return place >= OD_SPILL ? 0 : (unsigned)place / (platform->total / platform->nodes.count);
}

/* --- its topology ------------------------------------------------------------------------ */

enum { MOST_LINKS = 256 }; /* of a way */

static size_t links_between(sg_host_t from, sg_host_t to, sg_link_t *links)
{
    xbt_dynar_t found = xbt_dynar_new(sizeof(sg_link_t), NULL);
    sg_host_get_route(from, to, found);
    size_t count = 0;
    while (count < xbt_dynar_length(found) && count < MOST_LINKS) {
        links[count] = xbt_dynar_get_as(found, count, sg_link_t);
        count++;
    }
    xbt_dynar_free(&found);
    return count;
}

/* In the order in which the ways into and out of the devices use them; the link keeps it, and one more. */
static uint32_t number_of(od_topology *topology, sg_link_t link)
{
    if (!sg_link_get_data(link)) {
        uint32_t number = od_topology_add_link(topology, sg_link_get_bandwidth(link));
        if (number == UINT32_MAX)
            sim_checked(NULL);
        sg_link_set_data(link, (void *)((uintptr_t)number + 1));
    }
    return (uint32_t)((uintptr_t)sg_link_get_data(link) - 1);
}

/* Links that each transfer has for itself limit it alone. */
static void add_way(sim_platform *platform, int from, int to)
{
    sg_link_t links[MOST_LINKS];
    uint32_t shared[MOST_LINKS], nshared = 0;
    sg_host_t source = sim_platform_place(platform, from), target = sim_platform_place(platform, to);
    od_link own = {.bandwidth = (double)INFINITY, .latency = sg_host_get_route_latency(source, target)};
    size_t count = links_between(source, target, links);
    for (size_t i = 0; i < count; i++) {
        if (sg_link_is_shared(links[i]))
            shared[nshared++] = number_of(platform->topology, links[i]);
        else
            own.bandwidth = fmin(own.bandwidth, sg_link_get_bandwidth(links[i]));
    }
    if (od_topology_set_way(platform->topology, from, to, own, shared, nshared))
        sim_checked(NULL);
}

static const double usual_speed = 1e9; /* of a device for which kernel times are as they stand */

static void make_topology(sim_platform *platform)
{
    int n = (int)platform->ndevices;
    platform->topology = sim_checked(od_topology_create(platform->ndevices));
    platform->topology->turns = platform->turns;
    platform->topology->by_latency = true;
    platform->topology->nnodes = platform->nodes.count;
    for (int k = 0; k < n; k++)
        platform->topology->node[k] = sim_platform_node(platform, k);
    for (int k = 0; k < n; k++)
        platform->topology->slowness.times[OD_SPEED_GENERAL][k] = usual_speed / sg_host_get_speed(platform->device[k]);
    for (int k = 0; k < n; k++)
        add_way(platform, OD_HOST, k);
    for (int k = 0; k < n; k++)
        add_way(platform, k, OD_HOST);
    for (int from = 0; platform->peer && from < n; from++)
        for (int to = 0; to < n; to++)
            if (from != to)
                add_way(platform, from, to);
}

/* --- devices that are faster or slower at some kernels -------------------------------------- */

unsigned sim_platform_speed_class(const sim_platform *platform, const char *kernel)
{
    for (unsigned c = 1; c < platform->topology->slowness.classes; c++)
        if (strcmp(platform->kernel[c], kernel) == 0)
            return c;
    return OD_SPEED_GENERAL;
}

/* A word KERNEL:TIMES of device k. False: it is none, or there are too many kernels. */
static bool take_times(sim_platform *platform, unsigned k, const char *word)
{
    od_slowness *slowness = &platform->topology->slowness;
    const char *colon = strrchr(word, ':');
    char kernel[sizeof platform->kernel[0]], *end = NULL;
    double times = colon ? strtod(colon + 1, &end) : 0;
    if (!(times > 0 && times < 1e6) || *end || colon == word || (size_t)(colon - word) >= sizeof kernel)
        return false;
    snprintf(kernel, sizeof kernel, "%.*s", (int)(colon - word), word);
    unsigned speed_class = sim_platform_speed_class(platform, kernel);
    if (speed_class == OD_SPEED_GENERAL) {
        speed_class = od_slowness_add(slowness);
        memcpy(platform->kernel[speed_class], kernel, sizeof kernel);
    }
    slowness->times[speed_class][k] = slowness->times[OD_SPEED_GENERAL][k] * times;
    return speed_class != OD_SPEED_GENERAL;
}

static od_status read_times_of(sim_platform *platform, unsigned k, const char *path, char *error, size_t size)
{
    const char *text = sg_host_get_property_value(platform->device[k], "times");
    char *words = text ? sim_checked(strdup(text)) : NULL, *rest = NULL;
    od_status status = OD_OK;
    for (char *word = words ? strtok_r(words, " ", &rest) : NULL; word && !status; word = strtok_r(NULL, " ", &rest))
        if (!take_times(platform, k, word)) {
            snprintf(error, size,
                     "platform %s: '%s' in the property times of the host gpu%u is not KERNEL:TIMES, or there are more "
                     "than %d kernels in such",
                     path, word, k, OD_SPEED_CLASSES - 1);
            status = OD_EINVAL;
        }
    free(words);
    return status;
}

/* --- trying it ---------------------------------------------------------------------------- */

/* SimGrid ends the process over what it cannot load or route, so that is tried in a child first. There the file for
 * several nodes is written, too. */
static _Noreturn void try_and_exit(const char *path, const sim_nodes *nodes, FILE *all, int output)
{
    sim_platform trial = {.nodes = sim_one_node};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    load(path, &trial);
    trial.peer = trial.memory && is_yes(&trial, "peer");
    if (trial.memory)
        make_topology(&trial);
    for (unsigned k = 0; trial.memory && k < trial.ndevices; k++)
        if (isinf(sim_platform_link(&trial, OD_HOST, (int)k, 1).bandwidth) ||
            isinf(sim_platform_link(&trial, (int)k, OD_HOST, 1).bandwidth)) {
            printf("no route between ram and gpu%u\n", k);
            fflush(stdout);
            _exit(1);
        }
    bool turns = trial.memory && is_yes(&trial, "turns");
    if (all && (turns || trial.total > OD_MAX_DEVICES)) {
        printf(turns ? "several nodes do not take turns" : "a node has more than %d devices", OD_MAX_DEVICES);
        fflush(stdout);
        _exit(1);
    }
    if (all && trial.memory) {
        sim_nodes_write(&(sim_node_model){trial.memory, trial.device, trial.ndevices, trial.peer}, nodes, all);
        fflush(all);
    }
    _exit(0);
}

/* Keeps the first line and reads the rest. */
static void read_first_line(int input, char *line, size_t size)
{
    char rest[512];
    size_t used = 0;
    for (ssize_t n; used + 1 < size && (n = read(input, line + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    while (read(input, rest, sizeof rest) > 0)
        continue;
}

/* SimGrid's lines begin with the time, its own source, and [CHANNEL/LEVEL]. */
static const char *without_prefix(const char *line)
{
    static const char *const levels[] = {"/ERROR] ", "/CRITICAL] "};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const char *level = strstr(line, levels[i]);
        if (level)
            return level + strlen(levels[i]);
    }
    return line;
}

static od_status try_to_load(const char *path, const sim_nodes *nodes, FILE *all, char *error, size_t size)
{
    char line[400];
    int ends[2], status = 0;
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0) {
        snprintf(error, size, "platform %s: %s", path, strerror(errno));
        return OD_EIO;
    }
    if (child == 0)
        try_and_exit(path, nodes, all, ends[1]);
    close(ends[1]);
    read_first_line(ends[0], line, sizeof line);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status == 0)
        return OD_OK;
    snprintf(error, size, "platform %s: not a platform that SimGrid can use: %s", path,
             *line ? without_prefix(line) : "it crashes");
    return OD_EINVAL;
}

/* Loads it, and removes the file of several nodes, whose name is `all`. */
static od_status load_nodes(const char *path, sim_platform *platform, char *all, char *error, size_t size)
{
    const sim_nodes *nodes = &platform->nodes;
    int descriptor = nodes->count > 1 ? mkstemp(all) : -1;
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (nodes->count > 1 && !file) {
        snprintf(error, size, "platform %s: a file for its nodes, %s: %s", path, all, strerror(errno));
        return OD_EIO;
    }
    od_status status = try_to_load(path, nodes, file, error, size);
    if (file)
        fclose(file);
    if (!status)
        load(file ? all : path, platform);
    if (file)
        unlink(all);
    return status;
}

static od_status read_loaded(sim_platform *platform, const char *path, char *error, size_t size)
{
    if (!platform->memory || !platform->ndevices) {
        snprintf(error, size, "platform %s: there is no host %s", path, platform->memory ? "gpu0" : "ram");
        return OD_EINVAL;
    }
    od_status status = read_properties(platform, path, error, size);
    if (!status)
        make_topology(platform);
    for (unsigned k = 0; !status && k < platform->ndevices; k++)
        status = read_times_of(platform, k, path, error, size);
    return status;
}

od_status sim_platform_load(const char *name, const sim_nodes *nodes, sim_platform *platform, char *error, size_t size)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX], copy[PATH_MAX], all[PATH_MAX], times[16] = "";
    *platform = (sim_platform){.nodes = *nodes};
    od_status status = find_file(name, path, sizeof path, error, size);
    snprintf(all, sizeof all, "%s/ompdarts-nodes-XXXXXX", folder ? folder : P_tmpdir);
    if (!status)
        status = load_nodes(path, platform, all, error, size);
    if (status)
        return status;
    snprintf(copy, sizeof copy, "%s", path);
    if (nodes->count > 1)
        snprintf(times, sizeof times, "%u*", nodes->count);
    snprintf(platform->name, sizeof platform->name, "%s%.*s", times, (int)strcspn(basename(copy), "."), basename(copy));
    return read_loaded(platform, path, error, size);
}

void sim_platform_free(sim_platform *platform)
{
    od_topology_destroy(platform->topology);
    free(platform->times.items);
    free(platform->core_times.items);
    *platform = (sim_platform){0};
}

od_link sim_platform_link(const sim_platform *platform, int from, int to, unsigned ndevices)
{
    return od_topology_link(platform->topology, from, to, ndevices);
}

double sim_platform_speed(const sim_platform *platform, unsigned ndevices)
{
    double speed = 0;
    for (unsigned k = 0; k < ndevices; k++)
        speed += 1 / od_slowness_least(&platform->topology->slowness, k);
    return speed;
}

double sim_platform_inbound(const sim_platform *platform, unsigned ndevices)
{
    return od_topology_inbound(platform->topology, ndevices);
}
