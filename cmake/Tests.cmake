# Tests of all kinds. Each is a ctest entry; GoogleTest binaries and scripts get the same environment.
#
# A build tree with a sanitizer has only the tests that name it after SANITIZE: address, thread or both. Those that read foreign
# bytes or have threads do. One for AddressSanitizer that has the engine too, which CI has no time for, has all tests below the
# torch line.

set(SHOAL_TEST_ENVIRONMENT "SHOAL_BINARY_DIR=${PROJECT_BINARY_DIR}" "SHOAL_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
  "SHOAL_SANITIZE=${SHOAL_SANITIZE}"
  # libgomp's threads would spin where others wait for a core; `shoal` sets the same.
  GOMP_SPINCOUNT=10000)

# Sets OUT to whether this build tree has a test for these sanitizers.
function(shoal_is_tested_here out sanitizers)
  set(${out} OFF PARENT_SCOPE)
  if(NOT SHOAL_SANITIZE)
    set(${out} ON PARENT_SCOPE)
  endif()
  foreach(sanitizer ${sanitizers})
    if(SHOAL_SANITIZE MATCHES ${sanitizer})
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# shoal_test_headers(TARGET LEAN|ENGINE): what GoogleMock's headers need, and above the torch line libtorch's, read once for all
# tests. What is tested is optimized; the tests themselves only have to compile soon.
function(shoal_test_headers target side)
  # Behind a precompiled header g++ 12 forgets which code is the standard library's, and warns of things in std::string
  # that are not there.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow)
  target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)
  get_property(owner GLOBAL PROPERTY SHOAL_TEST_HEADERS_${side})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    return()
  endif()
  set_property(GLOBAL PROPERTY SHOAL_TEST_HEADERS_${side} ${target})
  set(headers <gmock/gmock.h> <gtest/gtest.h>)
  if(side STREQUAL ENGINE)
    list(PREPEND headers ${SHOAL_TORCH_HEADERS})
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# shoal_test(NAME LABEL unit|dist|e2e|slow|long SOURCES ... MODULES ... [ENGINE] [LIBS ...] [SANITIZE ...] [TIMEOUT seconds])
#
# One GoogleTest binary and one ctest entry. ENGINE: it stands above the torch line.
function(shoal_test name)
  cmake_parse_arguments(ARG "ENGINE" "LABEL;TIMEOUT" "SOURCES;MODULES;LIBS;SANITIZE" ${ARGN})
  if(SHOAL_ENGINE AND NOT ARG_ENGINE)
    list(APPEND ARG_SANITIZE address)
  endif()
  shoal_is_tested_here(here "${ARG_SANITIZE}")
  if(NOT here)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_MODULES PREPEND shoal_)
  target_link_libraries(${name} PRIVATE ${ARG_MODULES} ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  shoal_unity(${name})
  if(ARG_ENGINE)
    shoal_uses_torch(${name})
    target_link_libraries(${name} PRIVATE shoal_no_cuda)
    shoal_test_headers(${name} ENGINE)
  else()
    shoal_test_headers(${name} LEAN)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  set(environment "${SHOAL_TEST_ENVIRONMENT}")
  if(ARG_ENGINE)
    # Several threads would wait for each other longer than they compute anything so small; who wants some sets them.
    list(APPEND environment OMP_NUM_THREADS=1)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
  if(ARG_LABEL STREQUAL dist)
    shoal_runs_ranks(${name})
  endif()
endfunction()

# Ranks wait for each other in every collective. Two tests with ranks on the same two cores spend their time waiting for ranks
# that have no core: six times as long was seen. Where there are more cores, several run at once.
function(shoal_runs_ranks)
  set_tests_properties(${ARGN} PROPERTIES PROCESSORS 4)
endfunction()

# Tests that count bytes. On processors with AVX-512 and without bf16, oneDNN multiplies bf16 in a workspace of fp32 that it allocates as
# tensors are: neither the plan nor the meta device knows of it. Its kernels for AVX2 have none.
function(shoal_counts_memory)
  foreach(name ${ARGN})
    if(TEST ${name})
      set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT DNNL_MAX_CPU_ISA=AVX2)
    endif()
  endforeach()
endfunction()

# shoal_script(NAME FILE LABEL ... [ARGUMENTS ...] [SANITIZE ...] [TIMEOUT seconds] [ALONE] [RANKS])
#
# A script that tests what was built: exit code 77 is a skip, whose reason it has printed. ALONE: nothing runs beside it.
# RANKS: it starts ranks that wait for each other.
# Debian's python3 by its full path: it is the one that has the packages of tools/deps.lock.
function(shoal_script name file)
  cmake_parse_arguments(ARG "ALONE;RANKS" "LABEL;TIMEOUT" "ARGUMENTS;SANITIZE" ${ARGN})
  shoal_is_tested_here(here "${ARG_SANITIZE}")
  if(NOT here)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  set(program bash)
  if(file MATCHES "\\.py$")
    set(program /usr/bin/python3)
  endif()
  add_test(NAME ${name} COMMAND ${program} ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "${SHOAL_TEST_ENVIRONMENT}")
  if(ARG_ALONE)
    set_property(TEST ${name} PROPERTY RUN_SERIAL ON)
  endif()
  if(ARG_RANKS)
    shoal_runs_ranks(${name})
  endif()
endfunction()

# shoal_script_program(NAME MODULES ... SOURCES ... [SANITIZE ...]): what such scripts call.
function(shoal_script_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;MODULES;SANITIZE" ${ARGN})
  shoal_is_tested_here(here "${ARG_SANITIZE}")
  if(NOT here)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_MODULES PREPEND shoal_)
  target_link_libraries(${name} PRIVATE ${ARG_MODULES})
endfunction()
