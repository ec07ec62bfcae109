# The library for C++ teams: libshoal.so, the headers that shoal/shoal.h names with those they include, and a CMake package.
#
#   find_package(shoal 0.1 REQUIRED)
#   target_link_libraries(mine PRIVATE shoal::shoal)
#
# All modules as one shared library, so that nobody outside needs to know them, nor the small libraries they stand on. Who
# wants it static adds this tree to a build (add_subdirectory) and links shoal_train and its neighbours. Like the packaged
# engine it has no MPI.

set(library_modules core bench config metrics blueprint plan data state hugging_face cluster comm model optim parallel feed
  checkpoint train verify generate)
add_library(shoal_library SHARED $<TARGET_OBJECTS:shoal_no_cuda> $<TARGET_OBJECTS:shoal_no_mpi>)
foreach(module ${library_modules})
  target_sources(shoal_library PRIVATE "$<FILTER:$<TARGET_OBJECTS:shoal_${module}>,EXCLUDE,/mpi/>")
endforeach()
target_link_libraries(shoal_library PRIVATE
  shoal_torch fmt::fmt simdjson::simdjson spdlog::spdlog yaml-cpp PkgConfig::ISAL PkgConfig::SODIUM PkgConfig::XXHASH Threads::Threads)
target_link_options(shoal_library PRIVATE -Wl,--as-needed -Wl,--no-undefined)
set_target_properties(shoal_library PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME shoal
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/portable"
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  INSTALL_RPATH "$ORIGIN/shoal")
install(TARGETS shoal_library LIBRARY DESTINATION lib COMPONENT library)

# Appends HEADER and the headers it includes to installed_headers.
function(shoal_installed_headers header)
  if(header IN_LIST installed_headers)
    return()
  endif()
  list(APPEND installed_headers ${header})
  file(STRINGS "${PROJECT_SOURCE_DIR}/${header}" lines REGEX "^#include \"shoal/")
  foreach(line ${lines})
    string(REGEX MATCH "shoal/[a-z0-9_/]+\\.h" included "${line}")
    shoal_installed_headers(${included})
  endforeach()
  set(installed_headers ${installed_headers} PARENT_SCOPE)
endfunction()

set(installed_headers)
shoal_installed_headers(shoal/shoal.h)
foreach(header ${installed_headers})
  get_filename_component(directory ${header} DIRECTORY)
  install(FILES ${header} DESTINATION include/${directory} COMPONENT library)
endforeach()

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/shoalConfig.cmake.in "${PROJECT_BINARY_DIR}/shoalConfig.cmake"
  INSTALL_DESTINATION lib/cmake/shoal)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/shoalConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/shoalConfig.cmake" "${PROJECT_BINARY_DIR}/shoalConfigVersion.cmake"
  DESTINATION lib/cmake/shoal COMPONENT library)
