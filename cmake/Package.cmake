# What `cmake --install` and the tarball hold: the commands, the libraries they need, and the files that come with them.
#
#   bin/shoal  libexec/shoal/  lib/shoal/  share/shoal/{configs,clusters,...}  share/doc/shoal/  share/man/  completion of shells
#
# Executables find their libraries from where they are (RPATH with $ORIGIN), so the tree may be moved. It needs a glibc and
# the libgcc_s that every system has beside it: libstdc++ comes with it. Of MPI only a site's own works, so the packaged engine
# has none. SHOAL_GLIBC_FLOOR is what tests/package checks of every file.

set(package_libraries lib/shoal)
set(SHOAL_GLIBC_FLOOR 2.34)
set_target_properties(shoal PROPERTIES INSTALL_RPATH "$ORIGIN/../${package_libraries}")
set_target_properties(shoal-prepare PROPERTIES INSTALL_RPATH "$ORIGIN/../../${package_libraries}")
install(TARGETS shoal RUNTIME_DEPENDENCY_SET shoal_needs RUNTIME DESTINATION bin COMPONENT commands)
install(TARGETS shoal-prepare RUNTIME_DEPENDENCY_SET shoal_needs RUNTIME DESTINATION libexec/shoal COMPONENT commands)
set(needed_from /usr/lib/x86_64-linux-gnu "${SHOAL_ARROW}")

if(SHOAL_ENGINE)
  add_executable(shoal-engine-portable)
  target_link_libraries(shoal-engine-portable PRIVATE shoal_engine_app shoal_no_cuda shoal_no_mpi)
  target_link_options(shoal-engine-portable PRIVATE -Wl,--as-needed)
  set_target_properties(shoal-engine-portable PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME shoal-engine
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/portable" INSTALL_RPATH "$ORIGIN/../../${package_libraries}")
  install(TARGETS shoal-engine-portable RUNTIME_DEPENDENCY_SET shoal_needs RUNTIME DESTINATION libexec/shoal COMPONENT commands)
  list(APPEND needed_from "${SHOAL_TORCH}/lib" "${SHOAL_TORCH}/../nvidia/cu13/lib")
endif()

if(SHOAL_ENGINE)
  include(Library)
endif()

foreach(program shoal shoal-prepare shoal-engine-portable)
  if(TARGET ${program})
    target_sources(${program} PRIVATE "${PROJECT_SOURCE_DIR}/app/old_glibc.cpp")
    target_link_options(${program} PRIVATE -Wl,--export-dynamic-symbol=arc4random)
  endif()
endforeach()

# glibc is the host's.
install(RUNTIME_DEPENDENCY_SET shoal_needs
  PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|util|resolv|gcc_s)\\.so" "^ld-linux"
  DIRECTORIES ${needed_from}
  LIBRARY DESTINATION ${package_libraries} COMPONENT commands)
# Arrow loads its S3 file system when it is asked for one.
file(GLOB arrow_s3 "${SHOAL_ARROW}/libarrow_s3.so.*")
install(FILES ${arrow_s3} DESTINATION ${package_libraries} COMPONENT commands)

foreach(shipped configs clusters published course docs)
  install(DIRECTORY ${shipped} DESTINATION share/shoal COMPONENT commands)
endforeach()
install(DIRECTORY examples DESTINATION share/shoal COMPONENT commands REGEX "examples/CMakeLists.txt$" EXCLUDE)
install(FILES LICENSE THIRD_PARTY.md DESTINATION share/doc/shoal COMPONENT commands)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md LICENSE THIRD_PARTY.md DESTINATION share/shoal COMPONENT commands)  # beside what they link to
install(CODE "file(GLOB libraries \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${package_libraries}/libstdc++.so.6.*\")
  foreach(library \${libraries})
    execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/loosen_glibc.py\" \"\${library}\" GLIBC_2.36 GLIBC_${SHOAL_GLIBC_FLOOR} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT commands)
install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/notices.sh\"
  \"${PROJECT_SOURCE_DIR}/.deps/site\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${package_libraries}\"
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/shoal/notices\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT commands)
if(SHOAL_ENGINE)  # whose commands are asked, too
  install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/install_words.sh\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT commands)
endif()

set(CPACK_GENERATOR TGZ)
set(shoal_package_name "shoal-${PROJECT_VERSION}-linux-x86_64-cpu")  # CPack forgets its own
set(CPACK_PACKAGE_FILE_NAME ${shoal_package_name})
set(CPACK_COMPONENTS_ALL commands library)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_STRIP_FILES OFF)
set(CPACK_THREADS 0)
include(CPack)
