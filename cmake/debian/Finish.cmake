# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The package for debuggers, as CPack makes it, lists files by their places in the build folder and has no documents: its sums
# are made anew, and its documents are those of the package.
if(NOT CPACK_GENERATOR STREQUAL DEB)
    return()
endif()
foreach(package IN LISTS CPACK_PACKAGE_FILES)
    if(NOT package MATCHES "-dbgsym_")
        continue()
    endif()
    set(tree ${package}.tree)
    execute_process(COMMAND dpkg-deb -R ${package} ${tree} COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB_RECURSE files RELATIVE ${tree} ${tree}/usr/*)
    execute_process(COMMAND md5sum ${files} WORKING_DIRECTORY ${tree} OUTPUT_FILE ${tree}/DEBIAN/md5sums
                    COMMAND_ERROR_IS_FATAL ANY)
    file(MAKE_DIRECTORY ${tree}/usr/share/doc)
    file(CREATE_LINK ompdarts ${tree}/usr/share/doc/ompdarts-dbgsym SYMBOLIC)
    execute_process(COMMAND dpkg-deb --root-owner-group -b ${tree} ${package} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE ${tree})
endforeach()
