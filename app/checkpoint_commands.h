// checkpoint_commands.h -- the subcommands of `shoal checkpoint`, one file each. Each adds itself, and runs
// when it is chosen.
#pragma once

#include "app/arguments.h"

namespace shoal::app {

void add_checkpoint_inspect(Arguments& command);
void add_checkpoint_verify(Arguments& command);
void add_checkpoint_diff(Arguments& command, int& exit_code);
void add_checkpoint_prune(Arguments& command);
void add_checkpoint_export(Arguments& command);
void add_checkpoint_import(Arguments& command);

}  // namespace shoal::app
