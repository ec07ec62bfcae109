// hostlist.h -- the compressed lists in which Slurm writes hosts and tasks.
//
//   expand_hostlist("n[1-3,07],gpu-a");   // n1 n2 n3 n07 gpu-a
//   expand_tasks_per_node("2(x3),1");     // 2 2 2 1
//
// A list that is not well formed, or that would expand beyond a million entries, is a UsageError.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shoal::cluster {

std::vector<std::string> expand_hostlist(std::string_view list);

std::vector<int> expand_tasks_per_node(std::string_view list);

}  // namespace shoal::cluster
