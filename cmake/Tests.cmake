# Tests of all kinds. Each is one or more CTest entries; GoogleTest programs and scripts get the same environment.
#
# Labels:
#   unit | dist | e2e | long | softgpu | slow    kind of test
#   nightly        tools/nightly.sh runs it, .ci/run does not
#   sanitized      .ci/run runs it in the tree with AddressSanitizer instead of the release tree
#   live           depends on real processes and clocks: tests/live.txt lists all of them
#   turn:I/K       .ci/run runs it in every K-th turn only (tools/gate.py)
#   from:DIR       directory of the test below the source directory
#
# A tree with a sanitizer has only the tests that name it after SANITIZE: address, thread or both. A tree with AddressSanitizer and
# the engine has all tests below the torch line.

set(SHOAL_TEST_ENVIRONMENT "SHOAL_BINARY_DIR=${PROJECT_BINARY_DIR}" "SHOAL_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
  "SHOAL_SANITIZE=${SHOAL_SANITIZE}"
  # libgomp's threads would spin where others wait for a core; `shoal` sets the same.
  GOMP_SPINCOUNT=10000)
set(SHOAL_COSTS "" CACHE FILEPATH "File to which each test appends its CPU seconds (tools/measure_test.sh); empty: not measured")
find_program(SHOAL_LLD ld.lld)  # links test programs in a quarter of the time

file(STRINGS "${PROJECT_SOURCE_DIR}/tests/live.txt" SHOAL_LIVE_TESTS REGEX "^[a-z]")
file(STRINGS "${PROJECT_SOURCE_DIR}/tests/costs.tsv" SHOAL_KNOWN_COSTS)

# shoal_add_test(NAME COMMAND WORD... LABELS LABEL... [ENVIRONMENT VARIABLE=VALUE...] [REQUIRES FILE...] [TURN I/K] [SHARDS K] [TIMEOUT SECONDS]
#                [NIGHTLY] [ALONE] [RANKS] [RESOURCE NAME])
#
# TURN I/K: every K-th turn of .ci/run, beginning with turn I. SHARDS K: K entries, each with its share of the test's cases, by
# GoogleTest's sharding protocol, which tests/support/shards.py follows as well; turn I runs the I-th one. RANKS: starts processes
# that wait for each other, so that two of them on two cores take several times as long as one after the other. ALONE: nothing else
# may run at the same time. RESOURCE: tests of one name do not run at the same time. REQUIRES: programs that .ci/run builds first.
set(SHOAL_TEST_FLAGS NIGHTLY ALONE RANKS)
set(SHOAL_TEST_VALUES TURN SHARDS TIMEOUT RESOURCE)
function(shoal_add_test name)
  cmake_parse_arguments(ARG "${SHOAL_TEST_FLAGS}" "${SHOAL_TEST_VALUES}" "COMMAND;LABELS;ENVIRONMENT;REQUIRES" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  file(RELATIVE_PATH directory ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(APPEND ARG_LABELS from:${directory})
  if(ARG_NIGHTLY)
    list(APPEND ARG_LABELS nightly)
  endif()
  if(name IN_LIST SHOAL_LIVE_TESTS)
    list(APPEND ARG_LABELS live)
  endif()
  set(shards ${ARG_SHARDS})
  if(NOT shards)
    set(shards 1)
  endif()
  foreach(shard RANGE 1 ${shards})
    set(entry ${name})
    set(environment ${SHOAL_TEST_ENVIRONMENT} ${ARG_ENVIRONMENT})
    set(labels ${ARG_LABELS})
    if(ARG_SHARDS)
      math(EXPR index "${shard} - 1")
      set(entry ${name}_${shard}of${shards})
      list(APPEND environment GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${index})
      list(APPEND labels turn:${index}/${shards})
    elseif(ARG_TURN)
      list(APPEND labels turn:${ARG_TURN})
    endif()
    set(launcher)
    if(SHOAL_COSTS)
      set(launcher ${PROJECT_SOURCE_DIR}/tools/measure_test.sh ${SHOAL_COSTS} ${entry})
    endif()
    add_test(NAME ${entry} COMMAND ${launcher} ${ARG_COMMAND})
    set_tests_properties(${entry} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}"
      REQUIRED_FILES "${ARG_REQUIRES}" SKIP_RETURN_CODE 77)
    if(ARG_RANKS)
      set_tests_properties(${entry} PROPERTIES PROCESSORS 4)
    endif()
    set(cost ${SHOAL_KNOWN_COSTS})
    list(FILTER cost INCLUDE REGEX "\t${entry}\t")
    list(APPEND cost 0)
    list(GET cost 0 cost)
    string(REGEX REPLACE ".*\t" "" cost "${cost}")
    if("live" IN_LIST labels)  # waits more than it computes
      string(PREPEND cost 10)
    endif()
    set_tests_properties(${entry} PROPERTIES COST ${cost})  # CTest starts the longest tests first
    if(ARG_ALONE)
      set_tests_properties(${entry} PROPERTIES RUN_SERIAL ON)
    endif()
    if(ARG_RESOURCE)
      set_tests_properties(${entry} PROPERTIES RESOURCE_LOCK ${ARG_RESOURCE})
    endif()
  endforeach()
endfunction()

# Sets OUT to the options of shoal_add_test that the caller has parsed into ARG_...
macro(shoal_test_options out)
  set(${out})
  foreach(option ${SHOAL_TEST_FLAGS})
    if(ARG_${option})
      list(APPEND ${out} ${option})
    endif()
  endforeach()
  foreach(option ${SHOAL_TEST_VALUES})
    if(DEFINED ARG_${option})
      list(APPEND ${out} ${option} ${ARG_${option}})
    endif()
  endforeach()
endmacro()

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

# shoal_test_headers(TARGET LEAN|ENGINE): precompiles GoogleMock's headers, and above the torch line libtorch's, once for all test
# programs. The tested modules are optimized; the tests themselves only have to compile soon.
function(shoal_test_headers target side)
  # With a precompiled header g++ 12 does not know which code is the standard library's, and issues false warnings about std::string.
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

# shoal_test(NAME LABEL unit|dist|long SOURCES ... MODULES ... [ENGINE] [PROGRAM NAME] [LIBS ...] [SANITIZE ...]
#            [ENVIRONMENT ...] and the options of shoal_add_test)
#
# The GoogleTest tests in SOURCES. ENGINE: above the torch line. PROGRAM: executable that holds them, with the sources of all
# tests that name it, because an executable above the torch line costs 5 s before its first line of code; default: NAME.
function(shoal_test name)
  cmake_parse_arguments(ARG "ENGINE;${SHOAL_TEST_FLAGS}" "LABEL;PROGRAM;${SHOAL_TEST_VALUES}" "SOURCES;MODULES;LIBS;SANITIZE;ENVIRONMENT" ${ARGN})
  set(labels ${ARG_LABEL})
  if("address" IN_LIST ARG_SANITIZE AND NOT ARG_ENGINE AND NOT SHOAL_SANITIZE)
    list(APPEND labels sanitized)
  endif()
  if(SHOAL_ENGINE AND NOT ARG_ENGINE)
    list(APPEND ARG_SANITIZE address)
  endif()
  shoal_is_tested_here(here "${ARG_SANITIZE}")
  if(NOT here)
    return()
  endif()
  set(program ${ARG_PROGRAM})
  if(NOT program)
    set(program ${name})
  endif()
  if(NOT TARGET ${program})
    add_executable(${program})
    if(ARG_PROGRAM)  # of several directories
      set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    endif()
    target_link_libraries(${program} PRIVATE shoal_test_main)
    if(SHOAL_LLD)
      target_link_options(${program} PRIVATE -fuse-ld=lld)
    endif()
    shoal_unity(${program})
    if(ARG_ENGINE)
      shoal_uses_torch(${program})
      target_link_libraries(${program} PRIVATE shoal_no_cuda)
      shoal_test_headers(${program} ENGINE)
    else()
      shoal_test_headers(${program} LEAN)
    endif()
  endif()
  target_sources(${program} PRIVATE ${ARG_SOURCES})
  list(TRANSFORM ARG_MODULES PREPEND shoal_)
  target_link_libraries(${program} PRIVATE ${ARG_MODULES} ${ARG_LIBS})

  if(ARG_ENGINE)
    # On matrices this small several threads wait for each other longer than they compute.
    list(PREPEND ARG_ENVIRONMENT OMP_NUM_THREADS=1)
  endif()
  if(ARG_LABEL STREQUAL dist)
    set(ARG_RANKS ON)
  endif()
  shoal_test_options(options)
  set(files)
  foreach(source ${ARG_SOURCES})
    if(source MATCHES "_test\\.cpp$")
      file(RELATIVE_PATH file ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      list(APPEND files ${file})
    endif()
  endforeach()
  shoal_add_test(${name} COMMAND $<TARGET_FILE:${program}> --gtest_brief=1 ${files} LABELS ${labels} ENVIRONMENT ${ARG_ENVIRONMENT}
    REQUIRES $<TARGET_FILE:${program}> ${options})
endfunction()

# Environment of tests that count bytes. On processors with AVX-512 and without bf16, oneDNN multiplies bf16 in a workspace of fp32
# that it allocates as a tensor: neither the plan nor the meta device knows of it. Its kernels for AVX2 have no workspace.
set(SHOAL_COUNTS_MEMORY DNNL_MAX_CPU_ISA=AVX2)

# shoal_script(NAME FILE LABEL ... [ARGUMENTS ...] [SANITIZE ...] [PROGRAMS TARGET...] [ENVIRONMENT ...] and the options of
#              shoal_add_test)
#
# A script that tests what was built: exit code 77 is a skip, whose reason it has printed. PROGRAMS: what it runs beside the commands.
# Debian's python3 by its full path: it is the one that has the packages of tools/deps.lock.
function(shoal_script name file)
  cmake_parse_arguments(ARG "${SHOAL_TEST_FLAGS}" "LABEL;${SHOAL_TEST_VALUES}" "ARGUMENTS;SANITIZE;PROGRAMS;ENVIRONMENT" ${ARGN})
  shoal_is_tested_here(here "${ARG_SANITIZE}")
  if(NOT here)
    return()
  endif()
  if(SHOAL_SANITIZE)  # at the gate sanitizers watch the tests of the modules
    set(ARG_NIGHTLY ON)
  endif()
  set(program bash)
  if(file MATCHES "\\.py$")
    set(program /usr/bin/python3)
  endif()
  shoal_test_options(options)
  list(TRANSFORM ARG_PROGRAMS REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  shoal_add_test(${name} COMMAND ${program} ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${ARG_ARGUMENTS} LABELS ${ARG_LABEL}
    ENVIRONMENT ${ARG_ENVIRONMENT} REQUIRES ${ARG_PROGRAMS} ${options})
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
