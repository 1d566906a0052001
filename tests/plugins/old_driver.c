/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A libcuda.so.1, and a libcublas.so.13, without what the CUDA back-end calls. */
int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    return flags ? 1 : 0;
}
