# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake --install: the command, the library, its header, those of the policy interface, documents, a pkg-config file and
# a CMake package.

if(TARGET ompdarts_tool)
    install(TARGETS ompdarts_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/omp_ext/hooks/ompdarts.h)
    install(FILES omp_ext/hooks/ompdarts.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
# What a policy includes, and what that includes.
set(policy_headers sched/policy.h sched/graph/durations.h sched/graph/known.h sched/graph/levels.h)
set(unread ${policy_headers})
while(unread)
    list(POP_FRONT unread header)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} included REGEX "^#include \"")
    list(TRANSFORM included REPLACE "^#include \"(.*)\".*" "\\1")
    list(REMOVE_ITEM included ${policy_headers})
    list(APPEND policy_headers ${included})
    list(APPEND unread ${included})
endwhile()
foreach(header IN LISTS policy_headers)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ompdarts/${folder})
endforeach()
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png"
        PATTERN "*.json" PATTERN "*.py" PATTERN man EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY bench/figures DESTINATION ${CMAKE_INSTALL_DATADIR}/ompdarts FILES_MATCHING PATTERN "*.py" PATTERN out EXCLUDE)

if(TARGET ompdarts)
    include(CMakePackageConfigHelpers)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ompdarts)

    install(TARGETS ompdarts ompdarts_policy EXPORT ompdartsTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT ompdartsTargets NAMESPACE ompdarts:: DESTINATION ${package_dir})
    configure_package_config_file(cmake/ompdartsConfig.cmake.in ompdartsConfig.cmake INSTALL_DESTINATION ${package_dir})
    write_basic_package_version_file(ompdartsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/ompdartsConfig.cmake ${PROJECT_BINARY_DIR}/ompdartsConfigVersion.cmake
            DESTINATION ${package_dir})

    file(RELATIVE_PATH pkgconfig_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    configure_file(cmake/ompdarts.pc.in ompdarts.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/ompdarts.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Beside libompdarts.so, where that looks for it.
install(TARGETS ompdarts_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET ompdarts_mpi)
    install(TARGETS ompdarts_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
