# SPDX-License-Identifier: Apache-2.0
# Installation and find_package(gpubench): gpubench::gpubench is the library, gpubench::main its main.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(gpubench_rooms GLOBAL PROPERTY GPUBENCH_ROOMS)
install(TARGETS ${gpubench_rooms} EXPORT gpubenchTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS gpubench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/gpubench ${PROJECT_BINARY_DIR}/include/gpubench DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT gpubenchTargets NAMESPACE gpubench:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpubench)

configure_package_config_file(cmake/gpubenchConfig.cmake.in ${PROJECT_BINARY_DIR}/gpubenchConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpubench)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gpubenchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gpubenchConfig.cmake ${PROJECT_BINARY_DIR}/gpubenchConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gpubench)
