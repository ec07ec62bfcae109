# Files of a target that are compiled as one with SHOAL_UNITY. So no two files of a module may use one name for two
# things; what they share has a header.
function(shoal_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SHOAL_UNITY} UNITY_BUILD_BATCH_SIZE 20)
endfunction()

# Keeps the names of shoal's own functions in an executable, and of no library that is linked into it: a report of a stuck
# thread names where it is (shoal/core/stack.h). SCOPE: PRIVATE, or INTERFACE for whatever links TARGET.
function(shoal_keep_function_names target scope)
  target_link_options(${target} ${scope} "LINKER:--export-dynamic-symbol=_ZN5shoal*" "LINKER:--export-dynamic-symbol=_ZNK5shoal*")
endfunction()

# Compiled against libtorch, with or without what stands in its way already read. Headers that were read for a library fit
# nothing but libraries, not what is compiled with -fPIE: above the torch line all is compiled with -fPIC.
function(shoal_uses_torch target)
  target_link_libraries(${target} PUBLIC shoal_torch)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()

# What stands above the torch line: libtorch, and its headers, which take forty seconds to read, read once for all.
function(shoal_engine target)
  shoal_uses_torch(${target})
  target_precompile_headers(${target} REUSE_FROM shoal_torch_headers)
endfunction()

# shoal_module(NAME [ENGINE] SOURCES ... [MODULES ...] [PUBLIC ...] [PRIVATE ...])
#
# One static library per module. MODULES are the modules it may use and the only ones: they become link
# dependencies here, and tools/check_layers.py fails when a file includes a module that is not in the list. ENGINE: it
# stands above the torch line.
function(shoal_module name)
  cmake_parse_arguments(ARG "ENGINE" "" "SOURCES;MODULES;PUBLIC;PRIVATE" ${ARGN})
  add_library(shoal_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})  # built by who needs it
  target_include_directories(shoal_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  list(TRANSFORM ARG_MODULES PREPEND shoal_)
  target_link_libraries(shoal_${name} PUBLIC ${ARG_MODULES} ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  shoal_unity(shoal_${name})
  if(ARG_ENGINE)
    shoal_engine(shoal_${name})
  endif()
endfunction()
