# SPDX-License-Identifier: Apache-2.0
# Installation, find_package(gpubench) and packages. gpubench::gpubench is the library, gpubench::main its main.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(gpubench_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gpubench)
get_property(gpubench_rooms GLOBAL PROPERTY GPUBENCH_ROOMS)
install(TARGETS ${gpubench_rooms} EXPORT gpubenchTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(PROGRAMS $<TARGET_FILE:gpubench> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME gpubench)
if(TARGET gpubench_injection)
  install(TARGETS gpubench_injection LIBRARY DESTINATION lib/gpubench)  # where profile/run_recorded.cpp looks for it
endif()
if(TARGET gpubench_mpi)
  install(TARGETS gpubench_mpi LIBRARY DESTINATION lib/gpubench)  # where fleet/mpi_steps.cpp looks for it
endif()
install(DIRECTORY include/gpubench ${PROJECT_BINARY_DIR}/include/gpubench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/results/h200/run.json DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/results/h200)  # where the README has it
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(EXPORT gpubenchTargets NAMESPACE gpubench:: DESTINATION ${gpubench_package_folder})

list(TRANSFORM gpubench_rooms REPLACE "^gpubench_" "gpubench::" OUTPUT_VARIABLE gpubench_targets)
configure_package_config_file(cmake/gpubenchConfig.cmake.in ${PROJECT_BINARY_DIR}/gpubenchConfig.cmake
  INSTALL_DESTINATION ${gpubench_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gpubenchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gpubenchConfig.cmake ${PROJECT_BINARY_DIR}/gpubenchConfigVersion.cmake
  DESTINATION ${gpubench_package_folder})

# cpack -G DEB: the program, and what programs of one's own are built with.
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_VENDOR "gpubench contributors")
  set(CPACK_PACKAGE_CONTACT "gpubench maintainers" CACHE STRING "Maintainer of the package: NAME <ADDRESS>")
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++, cmake, ${GPUBENCH_DEBIAN_LINKED}")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  include(CPack)
endif()
