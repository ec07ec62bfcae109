# How every file of the project is compiled: language, warnings, sanitizers, ccache, one link at a time.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
                    -Woverloaded-virtual -fstack-protector-strong
                    -Wno-missing-field-initializers  # designated initializers leave the rest at its default
                    $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option>  # some of these are g++'s alone
                    $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-braces>          # nested lists are read by people as well
                    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>  # in templates of g++'s library
                    -Wno-restrict)  # g++ 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651)
if(SHOAL_UNITY)
  add_compile_options(-Wno-subobject-linkage)  # takes every file for a header
endif()
if(SHOAL_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_definitions(_FORTIFY_SOURCE=2)
else()
  add_compile_definitions(SHOAL_DEV_CHECKS)
endif()
if(SHOAL_SANITIZE)
  add_compile_options(-fsanitize=${SHOAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SHOAL_SANITIZE})
  add_compile_definitions(SHOAL_SANITIZED)  # for tests that measure
  # Instrumented code makes g++ 12 see errors in std::string and std::regex that are not there (GCC bugs 105616, 105651).
  add_compile_options(-Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow)
endif()
# libtorch's neighbours are found by DT_RPATH, which unlike DT_RUNPATH is also used for their own dependencies.
add_link_options(-Wl,--disable-new-dtags -Wl,-z,relro,-z,now)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What precompiled headers need, or ccache never finds anything compiled with them.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# A torch link takes gigabytes; two at once do not fit small machines.
set_property(GLOBAL PROPERTY JOB_POOLS link=1)
set(CMAKE_JOB_POOL_LINK link)
