# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# od_add_fortran_program(NAME OUTPUT_DIRECTORY DEVICE_OBJECT SOURCE...)
#
# Builds an OpenMP offload program for LLVM's host devices with flang: the target NAME-program, part of `all`. DEVICE_OBJECT
# is linked into its device image. Such programs need the libomptarget of flang's own version.
#
# Sets OMPDARTS_FLANG (LLVM's flang, 22 or later), empty where there is none that can build them; OD_NO_FLANG says why.
# Uses OMPDARTS_LIBOMP (LLVMOffload.cmake) and OD_HOST_OFFLOAD_TRIPLE (OffloadProgram.cmake).

find_program(OMPDARTS_FLANG NAMES flang-22 flang DOC "LLVM's flang, 22 or later, for the Fortran tests; none: skipped")

set(OD_NO_FLANG "")
if(OMPDARTS_FLANG)
    execute_process(COMMAND ${OMPDARTS_FLANG} --version OUTPUT_VARIABLE flang_version ERROR_QUIET)
    string(REGEX MATCH "flang[^ ]* version ([0-9]+)" flang_version "${flang_version}")
    set(flang_version ${CMAKE_MATCH_1})
    file(REAL_PATH ${OMPDARTS_FLANG} flang_file)
    cmake_path(SET OD_FLANG_ROOT NORMALIZE ${flang_file}/../..)
    if(NOT flang_version GREATER_EQUAL 22)
        set(OD_NO_FLANG "${OMPDARTS_FLANG} is not LLVM's flang 22 or later")
    endif()
    foreach(file bin/clang-linker-wrapper lib/libomptarget.so)
        if(NOT OD_NO_FLANG AND NOT EXISTS ${OD_FLANG_ROOT}/${file})
            set(OD_NO_FLANG "${OMPDARTS_FLANG} has no ${file} (Debian: clang-tools-22, liboffload-22-dev)")
        endif()
    endforeach()
else()
    set(OD_NO_FLANG "no flang 22 or later (Debian: flang-22 clang-tools-22 liboffload-22-dev)")
endif()
if(OD_NO_FLANG)
    message(STATUS "Fortran tests: skipped, ${OD_NO_FLANG}")
endif()

function(od_add_fortran_program NAME OUTPUT_DIRECTORY DEVICE_OBJECT)
    set(modules ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${NAME}.modules)
    file(MAKE_DIRECTORY ${modules} ${OUTPUT_DIRECTORY})
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
    cmake_path(GET OMPDARTS_LIBOMP PARENT_PATH libomp_dir)
    set(program ${OUTPUT_DIRECTORY}/${NAME})
    add_custom_command(
        OUTPUT ${program}
        COMMAND ${OMPDARTS_FLANG} -O2 -fopenmp -fopenmp-targets=${OD_HOST_OFFLOAD_TRIPLE} -J ${modules} ${sources}
                -o ${program} -Xoffload-linker ${DEVICE_OBJECT} -L${OD_FLANG_ROOT}/lib -L${libomp_dir}
                -Wl,-rpath,${OD_FLANG_ROOT}/lib -Wl,-rpath,${libomp_dir}
        DEPENDS ${sources} ${DEVICE_OBJECT}
        COMMENT "Building Fortran program ${NAME}"
        VERBATIM)
    add_custom_target(${NAME}-program ALL DEPENDS ${program})
endfunction()
