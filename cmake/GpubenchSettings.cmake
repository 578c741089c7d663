# SPDX-License-Identifier: Apache-2.0
# Language, warnings, sanitizers. All of it holds in gpubench's own folders only: a parent project's settings stay as they are.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(GPUBENCH_CCACHE ccache)
  foreach(language CXX CUDA)
    if(GPUBENCH_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      # With these it keeps what is compiled with precompiled headers (its manual, "Precompiled headers").
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${GPUBENCH_CCACHE})
    endif()
  endforeach()
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  # What is timed is compiled with -O3 (kernels/). The rest takes a fifth less to compile than with -O2 (docs/results/build.md).
  if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
    set(CMAKE_CXX_FLAGS_RELEASE "-Og -DNDEBUG")
  endif()
elseif(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  add_compile_options(-O2)  # what times other code is optimised, whatever the parent leaves open
endif()

# Flags of our own targets only; users of the installed package choose theirs.
add_library(gpubench_warnings INTERFACE)
# Builds without tests are those of users: they ask for no warnings, a tenth of the compiler's time.
if(GPUBENCH_TESTS)
  # GCC 12 sees an overlapping copy in many assignments of short literals to std::string (its bug 105651, mended in 13).
  target_compile_options(gpubench_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion>
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<AND:$<BOOL:${GPUBENCH_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
endif()

# GNU's own linker takes a second a program. One that is there may still not find g++'s own libraries.
if(PROJECT_IS_TOP_LEVEL AND NOT GPUBENCH_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  include(CheckLinkerFlag)
  foreach(linker mold lld gold)
    find_program(GPUBENCH_LD_${linker} ld.${linker})
    if(GPUBENCH_LD_${linker})
      check_linker_flag(CXX -fuse-ld=${linker} GPUBENCH_LINKS_WITH_${linker})
      if(GPUBENCH_LINKS_WITH_${linker})
        add_link_options(-fuse-ld=${linker})
        break()
      endif()
    endif()
  endforeach()
endif()

if(GPUBENCH_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${GPUBENCH_SANITIZE}> $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${GPUBENCH_SANITIZE})
  if(GPUBENCH_SANITIZE MATCHES undefined)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>)
  endif()
endif()

# gpubench_precompile(NAME HEADERS...): headers that many rooms read, read once. Rooms that link fmt and the model reuse the one called `model`.
function(gpubench_precompile name)
  # clang wants equal flags, and a compiler cache of somebody's own may know nothing of them.
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU OR (CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CXX_COMPILER_LAUNCHER MATCHES CCACHE_SLOPPINESS))
    return()
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/precompiled_${name}.cpp CONTENT "")
  add_library(gpubench_precompiled_${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled_${name}.cpp)
  target_compile_features(gpubench_precompiled_${name} PRIVATE cxx_std_20)
  target_include_directories(gpubench_precompiled_${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(gpubench_precompiled_${name} PRIVATE gpubench_warnings fmt::fmt nlohmann_json::nlohmann_json)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>" OUTPUT_VARIABLE headers)
  target_compile_options(gpubench_precompiled_${name} PRIVATE -fpch-preprocess)
  target_precompile_headers(gpubench_precompiled_${name} PRIVATE ${headers})
endfunction()

# gpubench_sources(RESULT FOLDERS...): all .cpp of these folders of the room, and with CUDA its .cu. A new file needs no line in CMake.
function(gpubench_sources result)
  set(sources "")
  foreach(folder ${ARGN})
    file(GLOB found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(APPEND sources ${found})
    if(GPUBENCH_WITH_CUDA)
      file(GLOB found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cu)
      list(APPEND sources ${found})
    endif()
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# gpubench_injected(SOURCES...): sources of a room that the injected library takes from it (profile/CMakeLists.txt). That must
# not need the program's libfmt, so they bring their own.
function(gpubench_injected)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS FMT_HEADER_ONLY=1 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# gpubench_room(NAME FOLDERS... WITHOUT... SOURCES... OPENMP... PUBLIC... PRIVATE...): one room of the house as a static library,
# gpubench::NAME once installed: all sources of its FOLDERS but those named in WITHOUT, and SOURCES. Those named in OPENMP have parallel loops.
# PRECOMPILED names another set of precompiled headers than `model`.
function(gpubench_room name)
  cmake_parse_arguments(room "" "PRECOMPILED" "FOLDERS;WITHOUT;SOURCES;OPENMP;PUBLIC;PRIVATE" ${ARGN})
  gpubench_sources(sources ${room_FOLDERS})
  if(room_WITHOUT)
    list(REMOVE_ITEM sources ${room_WITHOUT})
  endif()
  add_library(gpubench_${name} STATIC ${sources} ${room_SOURCES})
  add_library(gpubench::${name} ALIAS gpubench_${name})
  set_target_properties(gpubench_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(gpubench_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_features(gpubench_${name} PUBLIC cxx_std_20)
  # Users' .cu files need C++20 too. cuda_std_20 would be the way, but a project without CUDA cannot have that feature, and
  # CMake 3.25 does not know that nvcc 12 and newer take C++20. Of several -std, nvcc uses the last; one twice is no warning.
  target_compile_options(gpubench_${name} INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<VERSION_LESS:0$<TARGET_PROPERTY:CUDA_STANDARD>,21>>:-std=c++20>)
  # What is only headers is needed to build a room, never to link one.
  set(private ${room_PRIVATE})
  list(TRANSFORM private REPLACE "^(Eigen3::Eigen|nlohmann_json::nlohmann_json)$" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(gpubench_${name} PUBLIC ${room_PUBLIC} PRIVATE ${private} $<BUILD_INTERFACE:gpubench_warnings>)
  if(room_OPENMP)
    set_source_files_properties(${room_OPENMP} PROPERTIES COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}" SKIP_PRECOMPILE_HEADERS ON)
    target_link_libraries(gpubench_${name} PRIVATE $<LINK_ONLY:OpenMP::OpenMP_CXX>)
  endif()
  if(TARGET gpubench_precompiled_model AND fmt::fmt IN_LIST private AND NOT name MATCHES "^(base|model)$")
    target_compile_options(gpubench_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # for ccache
    if(NOT room_PRECOMPILED)
      set(room_PRECOMPILED model)
    endif()
    target_precompile_headers(gpubench_${name} REUSE_FROM gpubench_precompiled_${room_PRECOMPILED})
  endif()
  set_property(GLOBAL APPEND PROPERTY GPUBENCH_ROOMS gpubench_${name})
endfunction()
