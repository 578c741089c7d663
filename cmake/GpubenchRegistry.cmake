# SPDX-License-Identifier: Apache-2.0
# gpubench_registry(LIST FOLDERS... WITHOUT... TARGET TYPE HEADER [NAMESPACE] [SUFFIX]): a folder whose files register themselves.
#
# Each .cpp of FOLDERS (relative to the caller's folder), but those named in WITHOUT, defines one object named as the file:
#
#   extern const TYPE <stem><SUFFIX>{...};      // timeline/analyses/gpu/idle.cpp with SUFFIX _analysis: idle_analysis
#
# A generated source of TARGET defines what HEADER declares in NAMESPACE (gpubench when not given):
#
#   std::span<const TYPE* const> LIST();        // all of them, by file name
#
# Nothing is registered before main() starts, and no object of a static library is dropped. A new file needs no other line.
# A file called after the suffix, as run_command.cpp with _command, names its object run_command.
function(gpubench_registry list)
  cmake_parse_arguments(registry "" "TARGET;TYPE;HEADER;NAMESPACE;SUFFIX" "FOLDERS;WITHOUT" ${ARGN})
  if(NOT registry_NAMESPACE)
    set(registry_NAMESPACE gpubench)
  endif()
  set(objects "")
  foreach(folder ${registry_FOLDERS})
    file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    if(registry_WITHOUT)
      list(REMOVE_ITEM sources ${registry_WITHOUT})
    endif()
    foreach(source ${sources})
      get_filename_component(stem ${source} NAME_WE)
      string(REGEX REPLACE "${registry_SUFFIX}$" "" stem "${stem}")
      list(APPEND objects ${stem}${registry_SUFFIX})
    endforeach()
  endforeach()
  list(SORT objects)
  list(JOIN objects ", " declared)
  list(TRANSFORM objects PREPEND "&")
  list(JOIN objects ", " listed)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/registry/${list}.cpp)
  # Written only where it changed.
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
// Written by gpubench_registry of cmake/GpubenchRegistry.cmake.
#include <span>

#include \"@registry_HEADER@\"

namespace @registry_NAMESPACE@ {

extern const @registry_TYPE@ @declared@;

std::span<const @registry_TYPE@* const> @list@() {
  static constexpr const @registry_TYPE@* all[] = {@listed@};
  return all;
}

}  // namespace @registry_NAMESPACE@
")
  target_sources(${registry_TARGET} PRIVATE ${file})
endfunction()
