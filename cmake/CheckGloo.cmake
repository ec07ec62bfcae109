# Debian's gloo headers are older than the gloo inside libtorch. That works, because only pointers to its classes are
# used; this runs a two-rank all-reduce to prove it for the pair at hand, once per build tree.

if(NOT DEFINED SHOAL_GLOO_WORKS)
  message(STATUS "Checking that two ranks can all-reduce through libtorch's gloo")
  try_run(gloo_exit gloo_compiled
    "${PROJECT_BINARY_DIR}/check_gloo" "${PROJECT_SOURCE_DIR}/cmake/check_gloo.cpp"
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${SHOAL_TORCH}/include;${SHOAL_TORCH}/include/torch/csrc/api/include"
    LINK_OPTIONS -Wl,--disable-new-dtags -Wl,--allow-shlib-undefined "-Wl,-rpath,${SHOAL_TORCH}/lib"
    LINK_LIBRARIES "${SHOAL_TORCH}/lib/libtorch_cpu.so" "${SHOAL_TORCH}/lib/libc10.so" pthread
    CXX_STANDARD 20
    COMPILE_OUTPUT_VARIABLE gloo_compile_output
    RUN_OUTPUT_VARIABLE gloo_run_output)
  if(NOT gloo_compiled)
    message(FATAL_ERROR "c10d's Gloo does not compile here (is libgloo-dev installed?):\n${gloo_compile_output}")
  elseif(NOT "${gloo_exit}" STREQUAL "0")
    message(FATAL_ERROR "A two-rank all-reduce through libtorch's gloo fails: the headers in /usr/include/gloo do not "
                        "fit this libtorch.\n${gloo_run_output}")
  endif()
  set(SHOAL_GLOO_WORKS ON CACHE INTERNAL "A two-rank all-reduce through gloo gave the right sum")
endif()
