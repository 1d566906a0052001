/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A host version that a CPU worker runs may crash where the same code on a device would not, as on a pointer that only
 * a device has. It is the program's crash and ends it as ever; a line before says which kernel and task it was.
 */
#ifndef OD_OMP_EXT_CPU_CRASH_H
#define OD_OMP_EXT_CPU_CRASH_H

/* From now on, for those of the signals that nobody handles. */
void od_crash_start(void);

#endif
