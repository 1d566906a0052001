/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A policy that was compiled for the first version of the interface: only its first member may be looked at. */
const unsigned ompdarts_policy = 1;
