# SPDX-License-Identifier: Apache-2.0
# System packages; nothing is downloaded here. Names are those of Debian 12 and Ubuntu 24.04.
function(gpubench_need package debian)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "gpubench needs ${package}: install it with 'apt-get install ${debian}' or run ./scripts/setup.sh.")
  endif()
endfunction()

# Libraries that programs of one's own link: the installed package looks for them too.
set(GPUBENCH_LINKED Threads benchmark fmt simdjson ZLIB)
set(GPUBENCH_DEBIAN_LINKED "libbenchmark-dev, libfmt-dev, libsimdjson-dev, zlib1g-dev, libzstd-dev")

gpubench_need(benchmark libbenchmark-dev)
gpubench_need(fmt libfmt-dev)
gpubench_need(Eigen3 libeigen3-dev)
gpubench_need(nlohmann_json nlohmann-json3-dev)
gpubench_need(simdjson libsimdjson-dev)
gpubench_need(ZLIB zlib1g-dev)
# For traces packed by Zstandard: without the library they are refused with a sentence.
find_path(GPUBENCH_ZSTD_INCLUDE zstd.h)
find_library(GPUBENCH_ZSTD_LIBRARY zstd)
if(NOT GPUBENCH_ZSTD_INCLUDE OR NOT GPUBENCH_ZSTD_LIBRARY)
  message(STATUS "gpubench: traces packed by Zstandard cannot be read, because libzstd is missing; 'apt-get install libzstd-dev' adds it.")
endif()
gpubench_need(CLI11 libcli11-dev)
gpubench_need(Threads libc6-dev)
find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  message(FATAL_ERROR "gpubench needs OpenMP for its host operations: use a compiler that has it (g++; for clang++ install libomp-dev).")
endif()
if(GPUBENCH_TESTS)
  gpubench_need(GTest "libgtest-dev libgmock-dev")
endif()
