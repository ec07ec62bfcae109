# shoal_module(NAME SOURCES ... [MODULES ...] [PUBLIC ...] [PRIVATE ...])
#
# One static library per module. MODULES are the modules it may use and the only ones: they become link
# dependencies here, and tools/check_layers.py fails when a file includes a module that is not in the list.
function(shoal_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;MODULES;PUBLIC;PRIVATE" ${ARGN})
  add_library(shoal_${name} STATIC ${ARG_SOURCES})
  target_include_directories(shoal_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  list(TRANSFORM ARG_MODULES PREPEND shoal_)
  target_link_libraries(shoal_${name} PUBLIC ${ARG_MODULES} ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
endfunction()

# shoal_test(NAME LABEL unit|dist|e2e|slow SOURCES ... MODULES ... [ENGINE] [LIBS ...] [TIMEOUT seconds])
#
# One GoogleTest binary and one ctest entry. ENGINE: it stands above the torch line.
function(shoal_test name)
  cmake_parse_arguments(ARG "ENGINE" "LABEL;TIMEOUT" "SOURCES;MODULES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_MODULES PREPEND shoal_)
  target_link_libraries(${name} PRIVATE ${ARG_MODULES} ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  if(ARG_ENGINE)
    target_link_libraries(${name} PRIVATE shoal_no_cuda)
  else()
    # GoogleMock's headers take longer to compile than most tests: once, for all of them. Behind a precompiled header
    # g++ 12 forgets which code is the standard library's, and warns of things in std::string that are not there.
    target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow)
    # What is tested is optimized; the tests themselves only have to compile soon.
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    get_property(owner GLOBAL PROPERTY SHOAL_TEST_HEADERS)
    if(owner)
      target_precompile_headers(${name} REUSE_FROM ${owner})
    else()
      target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
      set_property(GLOBAL PROPERTY SHOAL_TEST_HEADERS ${name})
    endif()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "SHOAL_BINARY_DIR=${PROJECT_BINARY_DIR};SHOAL_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()
