# What `cmake --install` puts in place: the library, its headers, what CMake and pkg-config need to find them, and the
# program with its completions, its manual page and its unit. Nothing in it names the prefix, so the installed tree can
# be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(weir_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
set(weir_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set_target_properties(weir PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
install(TARGETS weir EXPORT weirTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weir
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# A program that links the static library also links what it uses; the shared library brings that itself.
get_target_property(weir_type weir TYPE)
if(weir_type STREQUAL "STATIC_LIBRARY")
  set(weir_dependencies "include(CMakeFindDependencyMacro)\nfind_dependency(OpenSSL COMPONENTS Crypto SSL)\nfind_dependency(SQLite3)\nfind_dependency(Threads)")
  set(weir_requires "Requires: libssl libcrypto sqlite3")
else()
  set(weir_dependencies "")
  set(weir_requires "Requires.private: libssl libcrypto sqlite3")
endif()

# CMake: find_package(weir CONFIG), target weir::weir.
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${weir_cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weirConfig.cmake.in
  ${PROJECT_BINARY_DIR}/weirConfig.cmake INSTALL_DESTINATION ${weir_cmake_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
  DESTINATION ${weir_cmake_dir})

# pkg-config: `weir`, with paths relative to the .pc file (or absolute, where the packager made them so).
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR weir_libdir_is_absolute)
if(weir_libdir_is_absolute)
  set(weir_pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${weir_pkgconfig_dir} OUTPUT_VARIABLE weir_pc_up)
  set(weir_pc_prefix "\${pcfiledir}/${weir_pc_up}")
endif()
set(weir_pc_includedir "\${prefix}")
set(weir_pc_libdir "\${prefix}")
cmake_path(APPEND weir_pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
cmake_path(APPEND weir_pc_libdir ${CMAKE_INSTALL_LIBDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/weir.pc.in ${PROJECT_BINARY_DIR}/weir.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weir.pc DESTINATION ${weir_pkgconfig_dir})

# The program.
if(WEIR_PROGRAMS)
  install(TARGETS weir_program)
  install(FILES ${PROJECT_BINARY_DIR}/completions/weir DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/_weir DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/weir.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES ${PROJECT_SOURCE_DIR}/docs/man/weir.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  # Where systemd looks, for the prefixes /usr and /usr/local; lib, also where libraries go to a folder of their own.
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/weir.service ${PROJECT_SOURCE_DIR}/deploy/systemd/weir-gateway.service
    DESTINATION lib/systemd/system)
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/weir.sysusers DESTINATION lib/sysusers.d RENAME weir.conf)
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/grafana/weir.json DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/grafana)
  install(FILES ${PROJECT_SOURCE_DIR}/deploy/prometheus/weir.rules.yml
    DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/prometheus)
endif()
