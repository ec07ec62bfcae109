# Arrow C++ from the pinned wheel (tools/deps.lock), as the target shoal_arrow: libarrow and libparquet. Its S3 file
# system is a library beside them that Arrow loads when it is asked for one.

set(SHOAL_ARROW "${PROJECT_SOURCE_DIR}/.deps/site/pyarrow" CACHE PATH
  "Directory that holds Arrow's include/ and libraries, as in the pyarrow wheel")
file(GLOB arrow_library "${SHOAL_ARROW}/libarrow.so.*")
file(GLOB parquet_library "${SHOAL_ARROW}/libparquet.so.*")
if(NOT arrow_library OR NOT parquet_library)
  message(FATAL_ERROR
    "There is no Arrow in SHOAL_ARROW = ${SHOAL_ARROW} (no libarrow.so.* and libparquet.so.*).\n"
    "Run tools/deps.sh lean to fetch it, or name yours: -DSHOAL_ARROW=DIR.")
endif()

add_library(shoal_arrow INTERFACE)
target_include_directories(shoal_arrow SYSTEM INTERFACE "${SHOAL_ARROW}/include")
target_link_libraries(shoal_arrow INTERFACE "${parquet_library}" "${arrow_library}")
# libparquet exports a simdjson of its own, of another version. Ours stands before all libraries, or our calls would end in theirs.
target_link_options(shoal_arrow INTERFACE -Wl,--allow-shlib-undefined "SHELL:-Wl,--no-as-needed $<TARGET_FILE:simdjson::simdjson>")
