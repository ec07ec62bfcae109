# The `cuda` preset: the engine of the release build, linked again with libtorch's CUDA half and NCCL.
#
# Only what differs with a GPU is compiled here (shoal/comm/nccl/nccl.cpp); everything else is the release build's
# objects, so what runs on a GPU is what was tested without one.

set(release_targets "${SHOAL_RELEASE_DIR}/ShoalTargets.cmake")
if(NOT EXISTS "${release_targets}")
  message(FATAL_ERROR "The cuda preset links the release build, and there is none in ${SHOAL_RELEASE_DIR}.\n"
                      "First: cmake --preset release && cmake --build --preset release")
endif()
include("${release_targets}")

set(nvidia "${SHOAL_TORCH}/../nvidia")
foreach(library nccl/lib/libnccl.so.2 cu13/lib/libcublas.so.13 cudnn/lib/libcudnn.so.9)
  if(NOT EXISTS "${nvidia}/${library}")
    message(FATAL_ERROR "libtorch's CUDA half needs ${nvidia}/${library}: run tools/deps.sh cuda")
  endif()
endforeach()

# What differs, compiled once for all that is linked here.
add_library(shoal_nccl OBJECT "${PROJECT_SOURCE_DIR}/shoal/comm/nccl/nccl.cpp")
# These headers must be of the version libtorch was built with: its classes contain NCCL's structs by value.
target_include_directories(shoal_nccl SYSTEM PRIVATE "${nvidia}/nccl/include" "${nvidia}/cu13/include")
target_compile_definitions(shoal_nccl PRIVATE USE_C10D_NCCL)
target_link_libraries(shoal_nccl PUBLIC release::shoal_comm)

# shoal_cuda(TARGET): puts it into the target, and links libtorch's CUDA half and NCCL.
function(shoal_cuda target)
  target_link_libraries(${target} PRIVATE
    shoal_nccl
    # libtorch registers its CUDA kernels when it is loaded. Nothing here names them: the linker must be told to keep it.
    -Wl,--no-as-needed "${SHOAL_TORCH}/lib/libtorch_cuda.so" "${SHOAL_TORCH}/lib/libc10_cuda.so" -Wl,--as-needed
    "${nvidia}/nccl/lib/libnccl.so.2")
endfunction()

add_executable(shoal-engine)
target_link_libraries(shoal-engine PRIVATE release::shoal_engine_app)
shoal_cuda(shoal-engine)

# What the wheel with CUDA carries. Its libtorch and NVIDIA's libraries, gigabytes, are those of the wheels it depends on: they
# are looked for where pip puts them, for every Python that libtorch's wheels are made for.
add_executable(shoal-engine-portable "${PROJECT_SOURCE_DIR}/app/old_glibc.cpp")
target_link_libraries(shoal-engine-portable PRIVATE release::shoal_engine_app release::shoal_no_mpi)
shoal_cuda(shoal-engine-portable)
target_link_options(shoal-engine-portable PRIVATE -Wl,--as-needed -Wl,--export-dynamic-symbol=arc4random)
set(places "$ORIGIN/../../lib/shoal")
foreach(minor RANGE 10 15)
  set(packages "$ORIGIN/../../lib/python3.${minor}/site-packages")
  list(APPEND places "${packages}/torch/lib" "${packages}/nvidia/nccl/lib" "${packages}/nvidia/cu13/lib")
endforeach()
set_target_properties(shoal-engine-portable PROPERTIES OUTPUT_NAME shoal-engine BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${places}"
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/portable")

add_custom_target(shoal ALL
  COMMAND ${CMAKE_COMMAND} -E copy_if_different "${SHOAL_RELEASE_DIR}/shoal" "${SHOAL_RELEASE_DIR}/shoal-prepare" "${PROJECT_BINARY_DIR}")
