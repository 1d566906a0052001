# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: cmake -DCOMMAND=ompdarts -DINPUT=FILE -DOUTPUT=FILE -P FillManual.cmake
#
# Puts what `ompdarts env --man` prints in the place of @OPTIONS@.
execute_process(COMMAND ${COMMAND} env --man OUTPUT_VARIABLE OPTIONS COMMAND_ERROR_IS_FATAL ANY)
configure_file(${INPUT} ${OUTPUT} @ONLY)
