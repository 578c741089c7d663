# SPDX-License-Identifier: Apache-2.0
# The JavaScript that draws the charts of report.html (Vega, Vega-Lite, Vega-Embed in one file). Sets GPUBENCH_VEGA_FILE to
# it, or to nothing: then the page links pinned copies on a public CDN. GPUBENCH_VEGA_PYTHON is the Python that made it.
set(GPUBENCH_VEGA_BUNDLE "" CACHE FILEPATH "A ready JavaScript bundle that defines vegaEmbed; empty: made by vl-convert-python")
set(GPUBENCH_PYTHON "" CACHE FILEPATH "A Python that has vl-convert-python; empty: the virtual environment under the build folder")

set(GPUBENCH_VEGA_FILE "")
set(GPUBENCH_VEGA_PYTHON "")  # that has vl-convert-python
set(vega_missing "")
if(GPUBENCH_VEGA_BUNDLE)
  if(NOT EXISTS ${GPUBENCH_VEGA_BUNDLE})
    message(FATAL_ERROR "GPUBENCH_VEGA_BUNDLE names ${GPUBENCH_VEGA_BUNDLE}, which does not exist.")
  endif()
  set(GPUBENCH_VEGA_FILE ${GPUBENCH_VEGA_BUNDLE})
else()
  set(vega_python ${GPUBENCH_PYTHON})
  if(NOT vega_python)
    set(vega_python ${PROJECT_BINARY_DIR}/venv/bin/python)
  endif()
  if(EXISTS ${vega_python})
    set(vega_file ${PROJECT_BINARY_DIR}/vega/bundle.js)
    execute_process(COMMAND ${vega_python} ${PROJECT_SOURCE_DIR}/cmake/vega_bundle.py ${vega_file}
      RESULT_VARIABLE vega_failed ERROR_VARIABLE vega_error OUTPUT_VARIABLE vega_text OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(vega_failed)
      string(REGEX REPLACE ".*\n([^\n]+)\n*$" "\\1" vega_error "${vega_error}")
      set(vega_missing "${vega_python} could not make it: ${vega_error}")
    else()
      set(GPUBENCH_VEGA_FILE ${vega_file})
      set(GPUBENCH_VEGA_PYTHON ${vega_python})
      message(STATUS "gpubench: charts by ${vega_text}, embedded in the program")
    endif()
  else()
    set(vega_missing "there is no ${vega_python}")
  endif()
endif()

if(GPUBENCH_VEGA_FILE)
  file(READ ${GPUBENCH_VEGA_FILE} vega_head LIMIT 4000000)
  string(TOLOWER "${vega_head}" vega_head)
  if(vega_head MATCHES "</script|<!--")
    message(FATAL_ERROR "${GPUBENCH_VEGA_FILE} holds </script or <!-- and cannot be put into a page.")
  endif()
  if(NOT vega_head MATCHES "vegaembed")
    message(FATAL_ERROR "${GPUBENCH_VEGA_FILE} does not define vegaEmbed.")
  endif()
  unset(vega_head)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${GPUBENCH_VEGA_FILE})
else()
  message(STATUS "gpubench: the charts of report.html will need the network, because the bundle is missing (${vega_missing}). "
    "To embed it: python3 -m venv ${PROJECT_BINARY_DIR}/venv && ${PROJECT_BINARY_DIR}/venv/bin/pip install vl-convert-python, "
    "then configure again; or -DGPUBENCH_VEGA_BUNDLE=FILE.")
endif()

# gpubench_embed(OUTPUT NAME=FILE...): a C++ source that holds the files, with functions page::NAME() and page::NAME_hash().
function(gpubench_embed output)
  set(files "")
  foreach(entry IN LISTS ARGN)
    string(REGEX REPLACE "^[^=]+=" "" file "${entry}")
    if(file)
      list(APPEND files ${file})
    endif()
  endforeach()
  string(REPLACE ";" "|" entries "${ARGN}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DENTRIES=${entries}" -P ${PROJECT_SOURCE_DIR}/cmake/GpubenchEmbed.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/GpubenchEmbed.cmake VERBATIM COMMENT "Embedding the page of report.html")
  # .incbin is invisible to the compiler's dependency scan: a changed file must compile the source again.
  set_source_files_properties(${output} PROPERTIES OBJECT_DEPENDS "${files}")
endfunction()
