// The executable `shoal-prepare`, which `shoal prepare` becomes: what needs Arrow.

#include <array>

#include "app/cmd_prepare.h"
#include "app/edge.h"

namespace {

constexpr std::array<shoal::app::Command, 1> kCommands = {{
    {"prepare", "text, JSONL, Parquet or tokens into token shards", shoal::app::run_prepare},
}};

}  // namespace

int main(int argc, char** argv) { return shoal::app::run_main(kCommands, argc, argv); }
