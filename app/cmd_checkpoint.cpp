#include "app/cmd_checkpoint.h"

#include "app/arguments.h"
#include "app/checkpoint_commands.h"

namespace shoal::app {

int run_checkpoint(const std::vector<std::string>& arguments) {
  int exit_code = 0;
  Arguments command(
      "shoal checkpoint",
      "Look at checkpoints, compare them, remove old ones; to and from Hugging Face.\n\n"
      "  shoal checkpoint inspect runs/shakespeare\n"
      "  shoal checkpoint export runs/shakespeare --output hf\n");
  add_checkpoint_inspect(command);
  add_checkpoint_verify(command);
  add_checkpoint_diff(command, exit_code);
  add_checkpoint_prune(command);
  add_checkpoint_export(command);
  add_checkpoint_import(command);
  command.footer(
      "None of these needs torch or holds a checkpoint in memory. Written by any layout, read "
      "here.");
  command.parse(arguments);
  return exit_code;
}

}  // namespace shoal::app
