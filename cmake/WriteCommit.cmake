# Writes OUTPUT, a C++ file with the commit that is being built. Run at each build: a commit made after configuring must
# not be told wrongly. The file is touched only when the answer changes.
cmake_policy(VERSION 3.25)
execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty=+changes --abbrev=10 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
"#include \"app/build_commit.h\"\n\nnamespace shoal::app {\n\nconst char* build_commit() { return \"@commit@\"; }\n\n}  // namespace shoal::app\n" @ONLY)
