/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A process as a rank: before main(), with all constructors done, MPI is initialised and the ranks find out whether
 * they belong together. Rank 0 then runs main(), the others serve.
 *
 * A program may use MPI itself. It finds MPI initialised, on all ranks, and its own communicators untouched: MPI_Init()
 * does nothing more, and MPI_Finalize() waits until the last construct has ended.
 */
#define _GNU_SOURCE
#include "memmgr/device/mpi/mpi.h"

#include "util/clock.h"
#include "util/memory.h"
#include "util/options.h"
#include "util/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_REFUSED = 2 };

static od_rank self;
static pid_t process;      /* that is the rank: 0 where none is */
static bool runs;          /* it is rank 0 */
static int thread_level;   /* of MPI */
static atomic_bool ended;
static atomic_bool joined; /* all ranks have come */
static bool is_finalized;  /* by the program, as far as that can see */

/* MPI's own, or that of a tool that counts or traces. */
static void *next(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) {
        fprintf(stderr, "ompdarts: mpi: there is no %s\n", name);
        abort();
    }
    return symbol;
}

#define NEXT(function) ((__typeof__(&function))next(#function))

/* --- what goes wrong ------------------------------------------------------------------- */

/* A rank that is missing keeps MPI_Init() waiting for ever, and one that is lost MPI_Finalize(). */
static void *watch(void *arg)
{
    enum { SAY_S = 20, INIT_S = 300, FINALIZE_S = 30 };
    const atomic_bool *done = arg;
    const unsigned limit = done == &joined ? INIT_S : FINALIZE_S;
    for (unsigned s = 0; s < limit && !atomic_load(done); s++) {
        if (s == SAY_S && done == &joined)
            fprintf(stderr, "ompdarts: mpi: still waiting for other ranks: one must run `ompdarts run --backend=mpi "
                            "PROGRAM`, all others `ompdarts serve PROGRAM`\n");
        sleep(1);
    }
    if (atomic_load(done))
        return NULL;
    fprintf(stderr, "ompdarts: mpi: other ranks do not respond: the job ends\n");
    _exit(1);
}

static void end_mpi(void)
{
    static atomic_bool finalized;
    od_thread_start(NULL, "od-waits", watch, &finalized);
    NEXT(MPI_Finalize)();
    atomic_store(&finalized, true);
}

/* All ranks find the same; one of them says so. */
static _Noreturn void refuse(const char *why, bool says)
{
    if (says)
        fprintf(stderr, "ompdarts: %s\n", why);
    fflush(NULL);
    end_mpi();
    _exit(EXIT_REFUSED);
}

/* --- the ranks come together -------------------------------------------------------------- */

static void init_mpi(void)
{
    int initialised;
    od_thread_start(NULL, "od-waits", watch, &joined);
    MPI_Initialized(&initialised);
    setenv("OMPI_MCA_opal_signal", "", 0); /* the program's signals are its own */
    if (initialised)
        MPI_Query_thread(&thread_level);
    else
        NEXT(MPI_Init_thread)(NULL, NULL, MPI_THREAD_MULTIPLE, &thread_level);
    MPI_Comm_dup(MPI_COMM_WORLD, &self.comm);
    MPI_Comm_rank(self.comm, &self.rank);
    MPI_Comm_size(self.comm, &self.ranks);
}

static void check_roles(const od_mpi_role *roles)
{
    char text[256];
    bool says = self.rank == 0;
    if (self.ranks < 2)
        refuse(runs ? "--backend=mpi: there is one rank only; start others beside it: mpirun -n 1 ompdarts run "
                      "--backend=mpi PROGRAM : -n 3 ompdarts serve PROGRAM"
                    : "serve: this is the only rank; mpirun starts it beside a rank that runs the program: mpirun -n 1 "
                      "ompdarts run --backend=mpi PROGRAM : -n 3 ompdarts serve PROGRAM",
               true);
    for (int rank = 0; rank < self.ranks; rank++) {
        if (roles[rank].protocol != OD_MPI_PROTOCOL || strcmp(roles[rank].version, OMPDARTS_VERSION) != 0) {
            snprintf(text, sizeof text, "mpi: rank %d has ompdarts %.20s, rank %d has %s: all must have the same", rank,
                     roles[rank].version, self.rank, OMPDARTS_VERSION);
            refuse(text, says);
        }
        if (roles[rank].serves != (rank > 0)) {
            snprintf(text, sizeof text, "mpi: rank %d is `ompdarts %s`: rank 0 must be `ompdarts run`, all others "
                                        "`ompdarts serve`",
                     rank, roles[rank].serves ? "serve" : "run");
            refuse(text, says);
        }
    }
    if (thread_level < MPI_THREAD_SERIALIZED)
        refuse("mpi: this MPI admits calls of one thread only (MPI_THREAD_SERIALIZED is needed)", says);
}

static void come_together(void)
{
    od_mpi_role own = {.protocol = OD_MPI_PROTOCOL, .serves = !runs, .version = OMPDARTS_VERSION};
    init_mpi();
    od_mpi_role *roles = od_calloc((size_t)self.ranks, sizeof *roles);
    if (!roles)
        od_mpi_give_up("is out of memory", self.rank);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, roles, sizeof own, MPI_BYTE, self.comm);
    check_roles(roles);
    free(roles);
}

/* Devices take their time to open, on some nodes more than half a minute: until all have, nobody takes silence for an
 * end. */
static void await_all(void)
{
    MPI_Barrier(self.comm);
    atomic_store(&joined, true);
}

/* --- rank 0 ------------------------------------------------------------------------------- */

static void receive_offer(int rank)
{
    od_mpi_hello *hello = &self.hello[rank];
    MPI_Recv(hello, sizeof *hello, MPI_BYTE, rank, OD_MPI_TAG_HELLO, self.comm, MPI_STATUS_IGNORE);
    self.kernels[rank] = od_malloc((hello->nkernels + 1) * sizeof **self.kernels);
    if (!self.kernels[rank])
        od_mpi_give_up("is out of memory", 0);
    MPI_Recv(self.kernels[rank], (int)(hello->nkernels * sizeof **self.kernels), MPI_BYTE, rank, OD_MPI_TAG_HELLO,
              self.comm, MPI_STATUS_IGNORE);
}

static int ranks_beside(int rank)
{
    int count = 0;
    for (int other = 1; other < self.ranks; other++)
        count += strcmp(self.hello[other].machine, self.hello[rank].machine) == 0;
    return count;
}

/* By the hosts' names: MPI_Comm_split_type() is collective, and takes MPICH half as long as MPI_Init() where ranks are
 * more than processors. */
static void share_memory(void)
{
    for (int rank = 1; rank < self.ranks; rank++)
        if (self.hello[rank].shared)
            self.hello[rank].memory /= (uint64_t)ranks_beside(rank);
}

static void start_to_run(void)
{
    self.hello = od_calloc((size_t)self.ranks, sizeof *self.hello);
    self.kernels = od_calloc((size_t)self.ranks, sizeof *self.kernels);
    if (!self.hello || !self.kernels)
        od_mpi_give_up("is out of memory", 0);
    for (int rank = 1; rank < self.ranks; rank++)
        receive_offer(rank);
    share_memory();
    await_all();
    if (od_client_start(&self))
        od_mpi_give_up("is out of memory or threads", 0);
}

void ompdarts_mpi_v1_end(void)
{
    if (!runs || getpid() != process || atomic_exchange(&ended, true))
        return;
    if (od_client_end())
        end_mpi();
}

static pid_t loaded;

__attribute__((constructor)) static void begin_to_load(void)
{
    loaded = getpid();
}

/* A program that has offloaded nothing, or ends in a constructor. */
__attribute__((destructor)) static void end_at_last(void)
{
    if (!process && getpid() == loaded && od_environment(OD_MPI_ROLE))
        od_mpi_end_job(EXIT_FAILURE);
    ompdarts_mpi_v1_end();
}

/* --- ranks that serve ------------------------------------------------------------------------ */

static int serve(void)
{
    od_mpi_offer offer = {0};
    od_mpi_offer_fn *make;
    void *symbol = dlsym(RTLD_DEFAULT, OD_MPI_OFFER);
    memcpy(&make, &symbol, sizeof make);
    if (!make) {
        fprintf(stderr, "ompdarts: serve: libompdarts.so is not loaded, or of another version\n");
        od_mpi_give_up("serves nothing", self.rank);
    }
    if (make(&offer))
        od_mpi_give_up("serves nothing", self.rank);
    od_log_set_level(offer.log);
    od_mpi_hello hello = {.memory = offer.memory,
                          .ndevices = offer.ndevices,
                          .nkernels = offer.nkernels,
                          .staged = offer.local != NULL,
                          .shared = offer.shared};
    gethostname(hello.machine, sizeof hello.machine - 1);
    MPI_Send(&hello, sizeof hello, MPI_BYTE, 0, OD_MPI_TAG_HELLO, self.comm);
    MPI_Send(offer.kernels, (int)(offer.nkernels * sizeof *offer.kernels), MPI_BYTE, 0, OD_MPI_TAG_HELLO, self.comm);
    await_all();
    if (od_serve(&self, &offer))
        end_mpi();
    fflush(NULL);
    _exit(0);
}

/* --- before main() ----------------------------------------------------------------------------- */

typedef int main_fn(int argc, char **argv, char **environment);

static main_fn *program;

static int begin(int argc, char **argv, char **environment)
{
    const char *role = od_environment(OD_MPI_ROLE);
    if (!role)
        return program(argc, argv, environment);
    runs = strcmp(role, "run") == 0;
    process = getpid();
    unsetenv(OD_MPI_ROLE); /* what the program starts is no rank */
    come_together();
    if (!runs)
        return serve();
    start_to_run();
    return program(argc, argv, environment);
}

__attribute__((visibility("default"))) int __libc_start_main(main_fn *main, int argc, char **argv,
                                                             void (*init)(void), void (*fini)(void),
                                                             void (*loader_fini)(void), void *stack_end);
int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end)
{
    program = main;
    return NEXT(__libc_start_main)(begin, argc, argv, init, fini, loader_fini, stack_end);
}

/* --- MPI, as the program sees it ------------------------------------------------------------------ */

/* Not all of MPI's headers make its functions visible where others are not. */
#define VISIBLE __attribute__((visibility("default")))

VISIBLE int MPI_Init(int *argc, char ***argv);
VISIBLE int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
VISIBLE int MPI_Finalize(void);
VISIBLE int MPI_Finalized(int *flag);

static bool is_rank(void)
{
    return process && process == getpid();
}

int MPI_Init(int *argc, char ***argv)
{
    return is_rank() ? MPI_SUCCESS : NEXT(MPI_Init)(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    if (!is_rank())
        return NEXT(MPI_Init_thread)(argc, argv, required, provided);
    *provided = thread_level;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    if (!is_rank())
        return NEXT(MPI_Finalize)();
    is_finalized = true;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    if (!is_rank())
        return NEXT(MPI_Finalized)(flag);
    *flag = is_finalized;
    return MPI_SUCCESS;
}
