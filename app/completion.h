// completion.h -- what a shell offers when somebody presses Tab behind `shoal ...`.
//
//   source <(shoal completion bash)
//
// The shell's script asks the command itself, by the hidden word kCompleteWord behind the words that
// were typed, so options and keys of the config never differ from what the command reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_text.h"

namespace shoal::app {

inline constexpr std::string_view kCompleteWord = "--complete";

// Returns how the last of the words, which may be empty, can go on. None means that a file may be
// meant.
std::vector<std::string> completions(const CommandText& command,
                                     std::span<const std::string> words);

// `shoal completion bash`: prints the script of a shell.
int run_completion(const std::vector<std::string>& arguments);

}  // namespace shoal::app
