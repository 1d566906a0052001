/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What LLVM's plug-ins must find when they open the driver: functions that they do not call, and names without a
 * version.
 */
#include "double.h"

#define ABSENT(name)                                                                                                   \
    CD_EXPORT od_cu_result name(void);                                                                                 \
    od_cu_result name(void)                                                                                            \
    {                                                                                                                  \
        return cd_misuse(CD_NOT_SUPPORTED, #name " is not modelled");                                                  \
    }

CD_ABSENT_CU_FUNCTIONS(ABSENT)

CD_EXPORT od_cu_result cuEventDestroy(od_cu_event event);
od_cu_result cuEventDestroy(od_cu_event event)
{
    return cuEventDestroy_v2(event);
}

CD_EXPORT od_cu_result cuMemGetInfo(size_t *free_bytes, size_t *total_bytes);
od_cu_result cuMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    return cuMemGetInfo_v2(free_bytes, total_bytes);
}
