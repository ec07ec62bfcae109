# The libtorch in SHOAL_TORCH as the target shoal_torch (CPU half) and, with SHOAL_CUDA, shoal_torch_cuda.
#
# libtorch's own CMake package is not used: it insists on a CUDA toolkit because the pinned build has a CUDA half,
# while the engine needs only the CPU half at link time. c10d's private headers are used, so another minor version
# is refused unless SHOAL_UNTESTED_TORCH says otherwise.

file(STRINGS "${PROJECT_SOURCE_DIR}/tools/deps.lock" pinned REGEX "^wheel +engine +torch ")
string(REGEX MATCH "[0-9]+\\.[0-9]+" SHOAL_TORCH_PINNED "${pinned}")

set(version_header "${SHOAL_TORCH}/include/torch/headeronly/version.h")
if(NOT EXISTS "${version_header}")
  message(FATAL_ERROR
    "There is no libtorch in SHOAL_TORCH = ${SHOAL_TORCH} (no ${version_header}).\n"
    "Run tools/deps.sh to fetch ${SHOAL_TORCH_PINNED}, or name yours: -DSHOAL_TORCH=DIR with include/ and lib/ in it.\n"
    "To build only what needs no torch: cmake --preset lean.")
endif()
foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${version_header}" line REGEX "#define TORCH_VERSION_${part} ")
  string(REGEX MATCH "[0-9]+" torch_${part} "${line}")
endforeach()
set(SHOAL_TORCH_VERSION "${torch_MAJOR}.${torch_MINOR}.${torch_PATCH}")
if(NOT "${torch_MAJOR}.${torch_MINOR}" STREQUAL SHOAL_TORCH_PINNED)
  if(NOT SHOAL_UNTESTED_TORCH)
    message(FATAL_ERROR
      "SHOAL_TORCH is libtorch ${SHOAL_TORCH_VERSION}, but shoal is tested with ${SHOAL_TORCH_PINNED} and uses private "
      "headers of it.\nUse ${SHOAL_TORCH_PINNED} (tools/deps.sh), or accept the risk: -DSHOAL_UNTESTED_TORCH=ON.")
  endif()
  message(WARNING "libtorch ${SHOAL_TORCH_VERSION} is untested with shoal, which expects ${SHOAL_TORCH_PINNED}")
endif()

add_library(shoal_torch INTERFACE)
target_include_directories(shoal_torch SYSTEM INTERFACE
  "${SHOAL_TORCH}/include" "${SHOAL_TORCH}/include/torch/csrc/api/include")
target_link_libraries(shoal_torch INTERFACE
  "${SHOAL_TORCH}/lib/libtorch_cpu.so" "${SHOAL_TORCH}/lib/libc10.so")
target_link_options(shoal_torch INTERFACE -Wl,--allow-shlib-undefined)

# Read once for everything above the torch line: shoal_engine() of Modules.cmake, and for the tests of it in Tests.cmake.
set(SHOAL_TORCH_HEADERS <ATen/ATen.h> <torch/csrc/autograd/function.h> <torch/csrc/autograd/functions/utils.h>
  <torch/csrc/distributed/c10d/Backend.hpp>)
file(WRITE "${PROJECT_BINARY_DIR}/torch_headers.cpp" "// Has nothing in it: whoever is compiled with these headers reuses them.\n")
add_library(shoal_torch_headers OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/torch_headers.cpp")
shoal_uses_torch(shoal_torch_headers)
target_precompile_headers(shoal_torch_headers PRIVATE ${SHOAL_TORCH_HEADERS})

# The OpenMP runtime that libtorch brings: another one would start threads of its own beside it.
set(openmp_runtime "${SHOAL_TORCH}/lib/libgomp.so.1")
if(NOT EXISTS "${openmp_runtime}")
  set(openmp_runtime gomp)
endif()
target_link_libraries(shoal_torch INTERFACE "${openmp_runtime}")
