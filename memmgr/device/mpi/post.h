/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The post of a rank: it sends and receives without blocking, many messages and moves at once, and calls the rank back
 * with what has arrived. One thread at a time has the turn to call MPI: the post's own, which sees to it that all goes
 * on, one that has something to send, or one that waits and looks for the answer itself, so that a message needs no
 * other thread to wake up. Without the turn a message or a move is handed in, and whoever has it sends it.
 */
#ifndef OD_MEMMGR_DEVICE_MPI_POST_H
#define OD_MEMMGR_DEVICE_MPI_POST_H

#include "memmgr/device/mpi/protocol.h"
#include "util/container/list.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct od_post od_post;
typedef struct od_move od_move;

enum { OD_MOVE_PIECES = 4 }; /* of one move, under way */

/* The bytes of a copy, in pieces. They and the move stay where they are until `done`. */
struct od_move {
    od_node node;
    bool sends;
    int rank, tag;
    char *at;
    size_t bytes;
    void (*done)(od_move *move);
    bool failed; /* set before that: the other rank is lost */
    void *arg;
    /* The post's: */
    size_t begun, ended; /* bytes */
    MPI_Request request[OD_MOVE_PIECES];
};

typedef struct od_post_counts {
    uint64_t messages, pieces;  /* sent */
    uint64_t bytes, data_bytes; /* of both; of copies alone */
} od_post_counts;

/* Called with the turn, by any thread that has it: they wait for nothing. */
typedef struct od_post_ops {
    /* A message, with what is behind it. */
    void (*receive)(void *arg, int rank, const od_mpi_message *message, const char *behind);
    /* NULL, or what else there is to do, again and again. True: something has happened. */
    bool (*work)(void *arg);
    /* Some times per second, by the post's thread. False: the post's work is done. */
    bool (*tick)(void *arg, uint64_t now_ns);
    /* NULL, or whether others still have something to say when it is. */
    bool (*expects)(void *arg);
} od_post_ops;

od_post *od_post_create(MPI_Comm comm, const od_post_ops *ops, void *arg);
/* The thread's work, until tick() says that it is done, all is sent, and nothing expected. */
void od_post_run(od_post *post);
void od_post_free(od_post *post);

/* From any thread. The message is copied, with `behind`. */
void od_post_send(od_post *post, int rank, const od_mpi_message *message, const void *behind);
void od_post_move(od_post *post, od_move *move);
/* For a thread that waits for what is to arrive: looks once, unless another one does. */
void od_post_poll(od_post *post);
/* Likewise for a while, until *until is set. */
void od_post_linger(od_post *post, const atomic_bool *until);
/* A tag that no other move of the rank has for a long time. */
int od_post_tag(od_post *post);

/* With the turn: the rank is lost. Messages and moves to and from it are dropped; these have failed. False:
 * bytes may still arrive in the memory of one of them. */
bool od_post_drop(od_post *post, int rank);
/* Likewise: the time at which a rank was heard of last, or to which it was last sent something. */
uint64_t od_post_heard_ns(const od_post *post, int rank);
uint64_t od_post_sent_ns(const od_post *post, int rank);
od_post_counts od_post_counted(const od_post *post); /* after od_post_run() */

#endif
