# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# od_add_offload_program(NAME
#     SOURCES a.c ...          relative to the current source folder
#     [LIBRARIES openblas ...] names, or full paths of files
#     [DEFINITIONS X=1 ...] [INCLUDE_DIRECTORIES dir ...]
#     [OPTIONS ...]            for compiling and linking
#     [OUTPUT_DIRECTORY dir]   default: the current binary folder
#     [NO_DEVICES]             OpenMP alone, no offloading
#     [NVPTX]                  build for OMPDARTS_NVPTX_ARCH instead of LLVM's host devices
#     [LLVMS version ...])     also build it with those that are in OMPDARTS_OTHER_LLVMS, into the same place of
#                              with-llvm-VERSION/
#
# Builds an OpenMP offload program with clang, whatever CMAKE_C_COMPILER is: the project itself may be compiled by
# another compiler. The target is NAME-program, part of `all`; its property OD_PROGRAM_PATH is the program's path.
# (A custom target of the program's own name would be the same file to Ninja.)
# Uses OMPDARTS_CLANG, OMPDARTS_LLVM_LIBDIR, OMPDARTS_LIBOMP and OMPDARTS_OTHER_LLVMS (LLVMOffload.cmake).

if(NOT OMPDARTS_CLANG)
    find_program(OMPDARTS_CLANG NAMES clang-19 clang REQUIRED)
endif()
if(NOT OMPDARTS_LLVM_LIBDIR)
    file(REAL_PATH ${OMPDARTS_CLANG} clang_file)
    cmake_path(SET OMPDARTS_LLVM_LIBDIR NORMALIZE ${clang_file}/../../lib)
endif()

# LLVM's host devices: the triple whose plug-in runs kernels in the process itself.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(OD_HOST_OFFLOAD_TRIPLE x86_64-pc-linux-gnu)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(OD_HOST_OFFLOAD_TRIPLE aarch64-unknown-linux-gnu)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "ppc64le")
    set(OD_HOST_OFFLOAD_TRIPLE powerpc64le-unknown-linux-gnu)
else()
    message(FATAL_ERROR "LLVM has no host offload devices for ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# The GPU build needs CUDA's libdevice at compile time.
if(OMPDARTS_NVPTX_ARCH)
    find_path(OMPDARTS_CUDA_PATH nvvm/libdevice/libdevice.10.bc
              HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda /usr/lib/cuda /opt/cuda NO_DEFAULT_PATH
              DOC "CUDA toolkit")
    if(NOT OMPDARTS_CUDA_PATH)
        message(FATAL_ERROR
            "OMPDARTS_NVPTX_ARCH=${OMPDARTS_NVPTX_ARCH} needs the CUDA toolkit: -DOMPDARTS_CUDA_PATH=/path/to/cuda")
    endif()
    # What its ptxas writes must be what LLVM's plug-in reads: up to LLVM 19 that is ELF ABI 7, of CUDA 12 and older.
    set(ptx ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/abi)
    file(WRITE ${ptx}.c "int abi;\n")
    execute_process(COMMAND ${OMPDARTS_CLANG} --target=nvptx64-nvidia-cuda -march=${OMPDARTS_NVPTX_ARCH} -nogpulib
                            --cuda-path=${OMPDARTS_CUDA_PATH} -c ${ptx}.c -o ${ptx}.cubin
                    RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_QUIET)
    if(failed)
        message(FATAL_ERROR
            "${OMPDARTS_CLANG} and ${OMPDARTS_CUDA_PATH} make no code for ${OMPDARTS_NVPTX_ARCH}: ${why}")
    endif()
    file(READ ${ptx}.cubin abi OFFSET 8 LIMIT 1 HEX)
    if(llvm_version LESS 22 AND abi STRGREATER "07")
        message(FATAL_ERROR "${OMPDARTS_CUDA_PATH} writes images of ELF ABI ${abi}, in which LLVM ${llvm_version} "
                "finds no device: use CUDA 12 or older, or LLVM 22")
    endif()
    set(OD_NVPTX_RUNTIME ${OMPDARTS_LLVM_LIBDIR}/libomptarget-nvptx-${OMPDARTS_NVPTX_ARCH}.bc)
    if(NOT EXISTS ${OD_NVPTX_RUNTIME})
        message(FATAL_ERROR "OMPDARTS_NVPTX_ARCH=${OMPDARTS_NVPTX_ARCH}: this LLVM has no ${OD_NVPTX_RUNTIME}")
    endif()
endif()

# With the arguments of od_add_offload_program, parsed, and one LLVM.
function(od_build_offload_program NAME program)
    # DWARF 4: older valgrinds give up on what clang writes for version 5.
    set(flags -O2 -gdwarf-4 -fopenmp)
    if(arg_NVPTX)
        list(APPEND flags --offload-arch=${OMPDARTS_NVPTX_ARCH} --cuda-path=${OMPDARTS_CUDA_PATH}
             --libomptarget-nvptx-bc-path=${OD_NVPTX_RUNTIME})
    elseif(NOT arg_NO_DEVICES)
        list(APPEND flags -fopenmp-targets=${OD_HOST_OFFLOAD_TRIPLE})
    endif()
    list(APPEND flags ${arg_OPTIONS})
    set(compile_flags -std=gnu17 -Wall -Wextra -Wshadow -Wconversion ${flags})
    if(OMPDARTS_WERROR)
        list(APPEND compile_flags -Werror)
    endif()
    list(TRANSFORM arg_DEFINITIONS PREPEND -D)
    list(TRANSFORM arg_INCLUDE_DIRECTORIES PREPEND -I)
    list(APPEND compile_flags ${arg_DEFINITIONS} ${arg_INCLUDE_DIRECTORIES})
    set(link_flags -L${OMPDARTS_LLVM_LIBDIR} -Wl,-rpath,${OMPDARTS_LLVM_LIBDIR})
    if(OMPDARTS_LIBOMP)
        # May be another LLVM's, so after libomptarget's folder.
        cmake_path(GET OMPDARTS_LIBOMP PARENT_PATH libomp_dir)
        list(APPEND link_flags -L${libomp_dir} -Wl,-rpath,${libomp_dir})
    endif()
    foreach(library IN LISTS arg_LIBRARIES)
        if(IS_ABSOLUTE ${library})
            cmake_path(GET library PARENT_PATH library_dir)
            list(APPEND link_flags ${library} -Wl,-rpath,${library_dir})
        else()
            list(APPEND link_flags -l${library})
        endif()
    endforeach()

    set(object_dir ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${NAME}.offload)
    cmake_path(GET program PARENT_PATH program_dir)
    file(MAKE_DIRECTORY ${object_dir} ${program_dir})
    set(objects "")
    foreach(source IN LISTS arg_SOURCES)
        cmake_path(ABSOLUTE_PATH source)
        cmake_path(GET source FILENAME file)
        set(object ${object_dir}/${file}.o)
        add_custom_command(
            OUTPUT ${object}
            COMMAND ${OMPDARTS_CLANG} ${compile_flags} -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
            DEPENDS ${source}
            DEPFILE ${object}.d
            COMMENT "Compiling ${NAME}: ${file}"
            VERBATIM)
        list(APPEND objects ${object})
    endforeach()

    add_custom_command(
        OUTPUT ${program}
        COMMAND ${OMPDARTS_CLANG} ${flags} ${objects} -o ${program} ${link_flags}
        DEPENDS ${objects}
        COMMENT "Linking offload program ${NAME}"
        VERBATIM)
    add_custom_target(${NAME}-program ALL DEPENDS ${program})
    set_target_properties(${NAME}-program PROPERTIES OD_PROGRAM_PATH ${program})
endfunction()

function(od_add_offload_program NAME)
    cmake_parse_arguments(PARSE_ARGV 1 arg "NO_DEVICES;NVPTX" "OUTPUT_DIRECTORY"
                          "LLVMS;SOURCES;LIBRARIES;DEFINITIONS;INCLUDE_DIRECTORIES;OPTIONS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "od_add_offload_program(${NAME}): wrong arguments ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_OUTPUT_DIRECTORY)
        set(arg_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    endif()
    od_build_offload_program(${NAME} ${arg_OUTPUT_DIRECTORY}/${NAME})

    cmake_path(RELATIVE_PATH arg_OUTPUT_DIRECTORY BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE folder)
    foreach(version IN LISTS arg_LLVMS)
        if(version IN_LIST OMPDARTS_OTHER_LLVMS)
            set(OMPDARTS_CLANG ${OMPDARTS_LLVM${version}_ROOT}/bin/clang)
            set(OMPDARTS_LLVM_LIBDIR ${OMPDARTS_LLVM${version}_ROOT}/lib)
            od_build_offload_program(${NAME}-llvm${version} ${PROJECT_BINARY_DIR}/with-llvm-${version}/${folder}/${NAME})
        endif()
    endforeach()
endfunction()
