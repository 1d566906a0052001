/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that uses MPI, as far as can be seen before it initialises it. */
int MPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}
