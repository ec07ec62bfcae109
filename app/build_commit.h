// build_commit.h -- the commit that this executable was built from. cmake/WriteCommit.cmake writes the definition.
#pragma once

namespace shoal::app {

const char* build_commit();  // "be981bf0c2", "be981bf0c2+changes", "unknown" outside of a clone

}  // namespace shoal::app
