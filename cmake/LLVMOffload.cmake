# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds the LLVM under OMPDARTS_LLVM_ROOT whose clang compiles offload programs and whose runtimes run them.
# Sets OMPDARTS_CLANG (path of clang) and OMPDARTS_LLVM_LIBDIR (folder of libomptarget.so, and mostly of libomp.so).
# Programs of the tests are also built with other versions, those that are there: OMPDARTS_OTHER_LLVMS lists them.

set(llvm_version 19)
if(OMPDARTS_LLVM_ROOT MATCHES "llvm-([0-9]+)")
    set(llvm_version ${CMAKE_MATCH_1})
endif()
# The Debian packages that hold each file.
set(llvm_programs clang clang-offload-packager clang-linker-wrapper ld.lld)
set(llvm_program_packages
    clang-${llvm_version} clang-tools-${llvm_version} clang-tools-${llvm_version} lld-${llvm_version})
if(llvm_version LESS 20)
    set(llvm_runtime_package libomp-${llvm_version}-dev)
else()
    set(llvm_runtime_package liboffload-${llvm_version}-dev)
endif()

set(llvm_missing "")
foreach(program package IN ZIP_LISTS llvm_programs llvm_program_packages)
    if(NOT EXISTS ${OMPDARTS_LLVM_ROOT}/bin/${program})
        list(APPEND llvm_missing "bin/${program} (Debian: ${package})")
    endif()
endforeach()

set(OMPDARTS_LLVM_LIBDIR "")
foreach(dir lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
    if(NOT OMPDARTS_LLVM_LIBDIR AND EXISTS ${OMPDARTS_LLVM_ROOT}/${dir}/libomptarget.so)
        set(OMPDARTS_LLVM_LIBDIR ${OMPDARTS_LLVM_ROOT}/${dir})
    endif()
endforeach()
if(NOT OMPDARTS_LLVM_LIBDIR)
    list(APPEND llvm_missing "lib/libomptarget.so (Debian: ${llvm_runtime_package})")
endif()
# One libomp serves several versions of libomptarget, so it may be another LLVM's.
find_library(OMPDARTS_LIBOMP NAMES omp libomp.so.5 HINTS ${OMPDARTS_LLVM_LIBDIR} NO_CACHE)
if(NOT OMPDARTS_LIBOMP)
    list(APPEND llvm_missing "lib/libomp.so (Debian: libomp-${llvm_version}-dev)")
endif()

if(llvm_missing)
    list(JOIN llvm_missing "\n  " llvm_missing)
    message(FATAL_ERROR
        "OMPDARTS_LLVM_ROOT=${OMPDARTS_LLVM_ROOT} lacks what OpenMP offloading needs:\n  ${llvm_missing}\n"
        "On Debian: apt-get install clang-${llvm_version} clang-tools-${llvm_version} llvm-${llvm_version} "
        "lld-${llvm_version} ${llvm_runtime_package}\n"
        "Another LLVM: -DOMPDARTS_LLVM_ROOT=/path/to/llvm")
endif()

set(OMPDARTS_CLANG ${OMPDARTS_LLVM_ROOT}/bin/clang)
message(STATUS "Offload programs: ${OMPDARTS_CLANG}, runtimes in ${OMPDARTS_LLVM_LIBDIR}")

set(OMPDARTS_OTHER_LLVMS "")
foreach(version 16 22)
    set(OMPDARTS_LLVM${version}_ROOT ${PROJECT_BINARY_DIR}/llvm-${version}/usr/lib/llvm-${version}
        CACHE PATH "LLVM ${version} of the tests with that version (scripts/fetch-llvm.sh)")
    set(root ${OMPDARTS_LLVM${version}_ROOT})
    if(NOT BUILD_TESTING)
        continue()
    endif()
    if(EXISTS ${root}/bin/clang-linker-wrapper AND EXISTS ${root}/lib/libomptarget.so)
        list(APPEND OMPDARTS_OTHER_LLVMS ${version})
        message(STATUS "Tests also with LLVM ${version}: ${root}")
    else()
        message(STATUS "Tests with LLVM ${version} will be skipped: ${root} is not there")
    endif()
endforeach()
