# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cpack -G DEB: one Debian package, for the LLVM that it was built with; cpack -G TGZ: the same as an archive.
set(CPACK_PACKAGE_NAME ompdarts)
set(CPACK_PACKAGE_VENDOR ompdarts)
set(OMPDARTS_MAINTAINER "The ompdarts developers <ompdarts@users.noreply.github.com>" CACHE STRING "who makes the package")
set(CPACK_PACKAGE_CONTACT ${OMPDARTS_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
"Runs OpenMP programs that offload tasks, compiled by plain clang, on all
devices of a node as if they were one: the DARTS scheduler decides which
task runs where and when, and a memory manager decides which tile sits in
which device's limited memory, what is prefetched and what is evicted.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/Prepare.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/Finish.cmake)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${OMPDARTS_LLVM_LIBDIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON) # and strips
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(OMPDARTS_LLVM_ROOT MATCHES "llvm-([0-9]+)") # what compiles programs for it
    set(llvm ${CMAKE_MATCH_1})
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-${llvm}, clang-tools-${llvm}, llvm-${llvm}, lld-${llvm}, libomp-${llvm}-dev")
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libglpk40, libmetis5, python3-matplotlib, vite")
include(CPack)
