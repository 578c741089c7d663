# SPDX-License-Identifier: Apache-2.0
# Installs the build into a fresh folder, builds the consumer against it and runs it. Arguments: BUILD, SOURCE, WORK, GENERATOR, COMPILER.
function(run_or_fail what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run_or_fail("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run_or_fail("configure" ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run_or_fail("build" ${CMAKE_COMMAND} --build ${WORK}/build)
run_or_fail("list" ${WORK}/build/consumer --device=cpu --list)
if(NOT output MATCHES "fill/1024" OR NOT output MATCHES "fill/65536")
  message(FATAL_ERROR "the consumer does not list its points:\n${output}")
endif()
