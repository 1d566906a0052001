# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ompdarts_compile_options: warnings and sanitizers for the project's own code. In Debug
# builds the engine checks its invariants at every event (OD_DEBUG_CHECKS). With clang's sanitizers,
# OMPDARTS_SANITIZER_LIBDIR is the folder of their shared runtimes.

add_library(ompdarts_compile_options INTERFACE)
target_compile_options(ompdarts_compile_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
# What is installed tells nothing of where it was built.
target_compile_options(ompdarts_compile_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
# Older valgrinds give up on what clang writes for DWARF 5.
target_compile_options(ompdarts_compile_options INTERFACE
    $<$<AND:$<C_COMPILER_ID:Clang>,$<CONFIG:Debug,RelWithDebInfo>>:-gdwarf-4>)
target_compile_definitions(ompdarts_compile_options INTERFACE $<$<CONFIG:Debug>:OD_DEBUG_CHECKS=1>)
# Targets with the property OMPDARTS_WIDE are for more devices than most machines have.
set(OMPDARTS_WIDE_DEVICES 1024)
if(NOT OMPDARTS_MAX_DEVICES MATCHES "^[1-9][0-9]*$" OR OMPDARTS_MAX_DEVICES GREATER ${OMPDARTS_WIDE_DEVICES})
    message(FATAL_ERROR
            "OMPDARTS_MAX_DEVICES: '${OMPDARTS_MAX_DEVICES}' is not a number from 1 to ${OMPDARTS_WIDE_DEVICES}")
endif()
set(is_wide $<BOOL:$<TARGET_PROPERTY:OMPDARTS_WIDE>>)
target_compile_definitions(ompdarts_compile_options INTERFACE
    OMPDARTS_MAX_DEVICES=$<IF:${is_wide},${OMPDARTS_WIDE_DEVICES},${OMPDARTS_MAX_DEVICES}>)
if(OMPDARTS_WERROR)
    target_compile_options(ompdarts_compile_options INTERFACE -Werror)
endif()

foreach(sanitizer IN LISTS OMPDARTS_SANITIZE)
    if(NOT sanitizer MATCHES "^(address|undefined|thread)$")
        message(FATAL_ERROR "OMPDARTS_SANITIZE: '${sanitizer}' is not one of address, undefined, thread")
    endif()
endforeach()

if(OMPDARTS_SANITIZE)
    list(JOIN OMPDARTS_SANITIZE "," sanitizers)
    # -fno-sanitize=function: entry points found by dlsym() have our own names for their parameters' types.
    add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer
                        $<$<C_COMPILER_ID:Clang>:-fno-sanitize=function>)
    add_link_options(-fsanitize=${sanitizers})
    if(CMAKE_C_COMPILER_ID STREQUAL Clang)
        # A preloaded library and the program share one sanitizer runtime; it lies beside clang's builtins.
        execute_process(COMMAND ${CMAKE_C_COMPILER} --rtlib=compiler-rt -print-libgcc-file-name
                        OUTPUT_VARIABLE clang_builtins OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        cmake_path(GET clang_builtins PARENT_PATH OMPDARTS_SANITIZER_LIBDIR)
        add_link_options(-shared-libsan LINKER:-rpath,${OMPDARTS_SANITIZER_LIBDIR})
    endif()
endif()
