# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Manual pages (docs/man) and completion for shells (tools/completion). The library's options in ompdarts(7) come from the command itself.

set(man_dir ${PROJECT_BINARY_DIR}/man)
foreach(page ompdarts.1 ompdarts.7 ompdarts.h.3)
    set(OPTIONS "@OPTIONS@") # its place is kept
    configure_file(docs/man/${page} ${man_dir}/${page}.in @ONLY)
    cmake_path(GET page EXTENSION LAST_ONLY section)
    string(SUBSTRING ${section} 1 -1 section)
    add_custom_command(
        OUTPUT ${man_dir}/${page}
        COMMAND ${CMAKE_COMMAND} -DCOMMAND=$<TARGET_FILE:ompdarts_tool> -DINPUT=${man_dir}/${page}.in
                -DOUTPUT=${man_dir}/${page} -P ${PROJECT_SOURCE_DIR}/cmake/FillManual.cmake
        DEPENDS ompdarts_tool ${man_dir}/${page}.in ${PROJECT_SOURCE_DIR}/cmake/FillManual.cmake
        COMMENT "Writing manual page ${page}"
        VERBATIM)
    list(APPEND man_pages ${man_dir}/${page})
    install(FILES ${man_dir}/${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
add_custom_target(manual ALL DEPENDS ${man_pages})

install(FILES tools/completion/ompdarts.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ompdarts)
install(FILES tools/completion/_ompdarts DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
