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
      set(CMAKE_${language}_COMPILER_LAUNCHER ${GPUBENCH_CCACHE})
    endif()
  endforeach()
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
elseif(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  add_compile_options(-O2)  # what times other code is optimised, whatever the parent leaves open
endif()

# Flags of our own targets only; users of the installed package choose theirs.
add_library(gpubench_warnings INTERFACE)
# A quick build without tests asks for none: -w alone still looks for them, a tenth of the time.
if(NOT GPUBENCH_QUICK_BUILD OR GPUBENCH_TESTS)
  # GCC 12 sees an overlapping copy in many assignments of short literals to std::string (its bug 105651, mended in 13).
  target_compile_options(gpubench_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion>
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<AND:$<BOOL:${GPUBENCH_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
endif()

if(GPUBENCH_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${GPUBENCH_SANITIZE}> $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${GPUBENCH_SANITIZE})
  if(GPUBENCH_SANITIZE MATCHES undefined)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>)
  endif()
endif()

# What GPUBENCH_QUICK_BUILD changes of a room: its sources are compiled twelve at a time, without warnings unless tests are built
# too, and code that times nothing is optimised little or not at all. Rooms whose loops are timed keep the build type's optimisation.
set(gpubench_untimed_rooms base model storage compare reports timelines doctor runs gpubench main)  # a second of a run at most
set(gpubench_little_timed_rooms classifier bench calibrate traces programs)  # -O1, but for what is TIMED
function(gpubench_quick name)
  if(NOT GPUBENCH_QUICK_BUILD)
    return()
  endif()
  set(target gpubench_${name})
  # Helpers of a room's sources must not share a name. More at a time take less in all, but leave other cores idle at the end.
  set(sources_at_a_time 12)
  if(name MATCHES "^(runs|classifier)$")  # else one compiler would work longer than all others
    set(sources_at_a_time 6)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${sources_at_a_time})
  # GCC looks for garbage too often for what it holds, and compiles std::move as a call where it does not optimise.
  target_compile_options(${target} PRIVATE $<$<AND:$<NOT:$<BOOL:${GPUBENCH_TESTS}>>,$<COMPILE_LANGUAGE:CXX>>:-w>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1200000>
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,12>>:-ffold-simple-inlines>)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    if(name IN_LIST gpubench_untimed_rooms)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
    elseif(name IN_LIST gpubench_little_timed_rooms)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    endif()
  endif()
endfunction()

# gpubench_join(RESULT FILE SOURCES...): in a quick build one source that includes those of this folder, else the sources themselves.
# Not for CMake to join with others.
function(gpubench_join result file)
  if(GPUBENCH_QUICK_BUILD AND ARGN)
    list(TRANSFORM ARGN REPLACE "^(.+)$" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\1\"\n" OUTPUT_VARIABLE text)
    list(JOIN text "" text)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${file} CONTENT "${text}" @ONLY)
    set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set(ARGN ${CMAKE_CURRENT_BINARY_DIR}/${file})
  endif()
  set(${result} ${ARGN} PARENT_SCOPE)
endfunction()

# gpubench_cuda_sources(TARGET PART SOURCES...): nvcc reads all headers of a source three times, so that joining saves most of its time.
function(gpubench_cuda_sources target part)
  gpubench_join(sources ${target}_${part}.cu ${ARGN})
  target_sources(${target} PRIVATE ${sources})
endfunction()

# gpubench_room(NAME SOURCES... TIMED... PUBLIC... PRIVATE...): one room of the house as a static library, gpubench::NAME once installed.
# TIMED are those sources of a room compiled with -O1 whose own loops are timed.
function(gpubench_room name)
  cmake_parse_arguments(room "" "" "SOURCES;TIMED;PUBLIC;PRIVATE" ${ARGN})
  gpubench_join(timed ${name}_timed.cpp ${room_TIMED})
  if(timed AND GPUBENCH_QUICK_BUILD AND CMAKE_BUILD_TYPE STREQUAL Release)
    set_source_files_properties(${timed} PROPERTIES COMPILE_OPTIONS -O2)
  endif()
  add_library(gpubench_${name} STATIC ${room_SOURCES} ${timed})
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
  list(TRANSFORM private REPLACE "^(Eigen3::Eigen|nlohmann_json::nlohmann_json|CLI11::CLI11)$" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(gpubench_${name} PUBLIC ${room_PUBLIC} PRIVATE ${private} $<BUILD_INTERFACE:gpubench_warnings>)
  gpubench_quick(${name})
  set_property(GLOBAL APPEND PROPERTY GPUBENCH_ROOMS gpubench_${name})
endfunction()
