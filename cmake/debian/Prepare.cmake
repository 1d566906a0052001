# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What CPack is about to put into a Debian package, as Debian has it: a copyright file and a change log, manual pages compressed,
# zsh's completion where Debian's zsh looks, no run paths (`ompdarts bench` sets the one that its programs need).
if(NOT CPACK_GENERATOR STREQUAL DEB)
    return()
endif()
file(GLOB_RECURSE documents LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/*/share/doc/ompdarts)
list(FILTER documents INCLUDE REGEX "/share/doc/ompdarts$")
set(share ${documents}/../..)

file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${documents}/copyright)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${documents}/changelog
"ompdarts (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(MAKE_DIRECTORY ${share}/lintian/overrides)
file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/lintian-overrides ${share}/lintian/overrides/ompdarts)

file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)

file(GLOB pages ${share}/man/man*/*.[1-9])
execute_process(COMMAND gzip -9n ${documents}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)

file(GLOB programs ${share}/../libexec/ompdarts/*)
foreach(program IN LISTS programs)
    file(RPATH_REMOVE FILE ${program})
endforeach()
