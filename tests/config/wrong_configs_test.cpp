// What people write wrongly, and the complete answer they get: key, place, what, way out.
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/config/load.h"
#include "shoal/core/files.h"

#include "tests/config/told.h"
#include "tests/support/temp_dir.h"

namespace shoal::config {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::told;

struct Wrong {
  std::string name;
  std::string yaml;
  std::vector<Problem> problems;  // where, place, what, hint
  std::vector<std::string> sets = {};
  std::optional<JobSize> job = std::nullopt;

  friend std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
    return out << wrong.name;
  }
};

constexpr const char* kYamlHint =
    "indent with spaces, close what is open, quote text with any of : # { } [ ] & * ! %";
constexpr const char* kBracketHint = "close the bracket, or write `key: value`";
constexpr const char* kTopKeys =
    "version, run, model, data, optimizer, train, parallel, comm, plan, log";

std::vector<Wrong> unknown_keys() {
  return {
      {"MisspeltKey",
       "comm:\n  dedline: 5m\n",
       {{"comm.dedline", "run.yaml:2:3", "is not a key of shoal", "did you mean comm.deadline?"}}},
      {"MisspeltSection",
       "paralel:\n  tp: 2\n",
       {{"paralel", "run.yaml:1:1", "is not a key of shoal", "did you mean parallel?"}}},
      {"KeyOfAnotherSection",
       "run:\n  name: a\n  tp: 2\n",
       {{"run.tp", "run.yaml:3:3", "is not a key of shoal", "did you mean parallel.tp?"}}},
      {"KeyWithoutItsSection",
       "deadline: 5m\n",
       {{"deadline", "run.yaml:1:1", "is not a key of shoal", "did you mean comm.deadline?"}}},
      {"MisspeltKeyOfAnotherSection",
       "run:\n  bakend: gloo\n",
       {{"run.bakend", "run.yaml:2:3", "is not a key of shoal", "did you mean comm.backend?"}}},
      {"DottedKey",
       "parallel.tp: 2\n",
       {{"parallel.tp", "run.yaml:1:1", "is not a key of shoal",
         "write `parallel:` and below it, indented, `tp:`"}}},
      {"KeyLikeNoOther",
       "log:\n  zzzzzz: 1\n",
       {{"log.zzzzzz", "run.yaml:2:3", "is not a key of shoal",
         "the keys of log are level, all_ranks"}}},
      {"KeyOfNumbers",
       "7: 1\n",
       {{"7", "run.yaml:1:1", "is not a key of shoal", std::string("the keys are ") + kTopKeys}}},
      {"KeyWithAnEscapeSequence",
       "\"\\e[31m\": 1\n",
       {{"\"\\x1b[31m\"", "run.yaml:1:1", "is not a key of shoal",
         std::string("the keys are ") + kTopKeys}}},
  };
}

std::vector<Wrong> wrong_numbers() {
  const std::string degree = "write a whole number from 1 to 1024";
  return {
      {"TooSmall",
       "parallel:\n  tp: 0\n",
       {{"parallel.tp", "run.yaml:2:7", "0 is less than 1, the smallest value", degree}}},
      {"Negative",
       "parallel: {tp: -4}\n",
       {{"parallel.tp", "run.yaml:1:16", "-4 is less than 1, the smallest value", degree}}},
      {"TooLarge",
       "parallel:\n  tp: 2048\n",
       {{"parallel.tp", "run.yaml:2:7", "2048 is more than 1024, the largest value", degree}}},
      {"Overflow",
       "parallel:\n  tp: 99999999999999999999\n",
       {{"parallel.tp", "run.yaml:2:7",
         "99999999999999999999 is more than 2147483647, the largest value", degree}}},
      {"NegativeSeed",
       "run:\n  seed: -1\n",
       {{"run.seed", "run.yaml:2:9", "-1 is less than 0, the smallest value",
         "write a whole number, at least 0"}}},
      {"Fraction",
       "parallel:\n  tp: 2.0\n",
       {{"parallel.tp", "run.yaml:2:7", "2.0 is not a whole number in plain digits", "write 2"}}},
      {"Hexadecimal",
       "run:\n  seed: 0xff\n",
       {{"run.seed", "run.yaml:2:9", "0xff is not a whole number in plain digits", "write 255"}}},
      {"Octal",
       "parallel:\n  tp: 010\n",
       {{"parallel.tp", "run.yaml:2:7", "010 is not a whole number in plain digits",
         "write 10: some readers take a leading 0 for octal"}}},
      {"Underscores",
       "run:\n  seed: 1_000\n",
       {{"run.seed", "run.yaml:2:9", "1_000 is not a whole number in plain digits", "write 1000"}}},
      {"NegativeStepsToKeep",
       "train:\n  keep_every: -1\n",
       {{"train.keep_every", "run.yaml:2:15", "-1 is less than 0, the smallest value",
         "write a whole number from 0 to 1099511627776"}}},
      {"NegativeStepsToCompare",
       "train: {compare_every: -1, replay_every: often}\n",
       {{"train.compare_every", "run.yaml:1:24", "-1 is less than 0, the smallest value",
         "write a whole number from 0 to 1099511627776"},
        {"train.replay_every", "run.yaml:1:42", "often is not a whole number in plain digits",
         "write a whole number from 0 to 1099511627776"}}},
      {"TracesStepZero",
       "train:\n  trace_steps: [0]\n",
       {{"train.trace_steps", "run.yaml:2:16", "0 is less than 1, the smallest value",
         "write a list, each item a whole number from 1 to 1099511627776"}}},
      {"PortThatIsNone",
       "train:\n  prometheus_port: 65536\n",
       {{"train.prometheus_port", "run.yaml:2:20", "65536 is more than 65535, the largest value",
         "write a whole number from 0 to 65535"}}},
      {"QuotedNumber",
       "parallel:\n  tp: \"2\"\n",
       {{"parallel.tp", "run.yaml:2:7", "2 is in quotes, which makes it text, not a whole number",
         "write 2 without quotes"}}},
      {"WordForANumber",
       "parallel:\n  tp: many\n",
       {{"parallel.tp", "run.yaml:2:7", "many is not a whole number in plain digits", degree}}},
      {"AutoWhereItIsNotOffered",
       "parallel:\n  pp: auto\n",
       {{"parallel.pp", "run.yaml:2:7", "auto is not a whole number in plain digits",
         "write a whole number from 1 to 4096"}}},
      {"WordForAnOptionalNumber",
       "parallel:\n  dp_shard: all\n",
       {{"parallel.dp_shard", "run.yaml:2:13", "all is not a whole number in plain digits",
         "write a whole number from 1 to 1048576, or auto"}}},
      {"ZeroForAnOptionalNumber",
       "parallel:\n  dp_shard: 0\n",
       {{"parallel.dp_shard", "run.yaml:2:13", "0 is less than 1, the smallest value",
         "write a whole number from 1 to 1048576, or auto"}}},
  };
}

std::vector<Wrong> wrong_texts() {
  const std::string name = "write 1 to 100 letters, digits, - _ or ., and no . in front";
  const std::string time = "write a time such as 90s, 10m or 1h30m, from 1s to 7d";
  const std::string interface =
      "write one interface or address such as eth0 or 10.0.0.7 (never 0.0.0.0 or ::), or auto";
  return {
      {"NameWithASlash",
       "run:\n  name: ../evil\n",
       {{"run.name", "run.yaml:2:9", "../evil is not allowed here", name}}},
      {"HiddenName",
       "run:\n  name: .git\n",
       {{"run.name", "run.yaml:2:9", ".git is not allowed here", name}}},
      {"LongName",
       "run:\n  name: " + std::string(101, 'x') + "\n",
       {{"run.name", "run.yaml:2:9", "\"" + std::string(60, 'x') + "...\" is not allowed here",
         name}}},
      {"EmptyName",
       "run:\n  name: ''\n",
       {{"run.name", "run.yaml:2:9", "\"\" is not allowed here", name}}},
      {"EmptyDirectory",
       "run:\n  directory: \"\"\n",
       {{"run.directory", "run.yaml:2:14", "\"\" is not allowed here",
         "write text that is not empty"}}},
      {"DirectoryWithANul",
       "run:\n  directory: \"runs\\0x\"\n",
       {{"run.directory", "run.yaml:2:14", "\"runs\\x00x\" holds a control character",
         "write it on one line, without tabs and escapes"}}},
      {"Choice",
       "comm:\n  backend: ncl\n",
       {{"comm.backend", "run.yaml:2:12", "ncl is not one of auto, gloo, nccl, mpi, local, strict",
         "did you mean nccl?"}}},
      {"ChoiceLikeNoOther",
       "comm:\n  backend: telegraph\n",
       {{"comm.backend", "run.yaml:2:12",
         "telegraph is not one of auto, gloo, nccl, mpi, local, strict",
         "write one of auto, gloo, nccl, mpi, local, strict"}}},
      {"ChoiceInCapitals",
       "log:\n  level: WARN\n",
       {{"log.level", "run.yaml:2:10", "WARN is not one of debug, info, warn, error",
         "did you mean warn?"}}},
      {"BoolOfYaml11",
       "log:\n  all_ranks: yes\n",
       {{"log.all_ranks", "run.yaml:2:14", "yes is not true or false", "write true"}}},
      {"NumberForABool",
       "log:\n  all_ranks: 2\n",
       {{"log.all_ranks", "run.yaml:2:14", "2 is not true or false", "write true or false"}}},
      {"TimeWithoutAUnit",
       "comm:\n  deadline: 600\n",
       {{"comm.deadline", "run.yaml:2:13", "600 has no unit", "write 600s, 600m or 600h"}}},
      {"TimeInWords",
       "comm:\n  deadline: ten minutes\n",
       {{"comm.deadline", "run.yaml:2:13", "\"ten minutes\" is not a time", time}}},
      {"TimeTooShort",
       "comm:\n  deadline: 500ms\n",
       {{"comm.deadline", "run.yaml:2:13", "500ms is less than 1s, the smallest value", time}}},
      {"TimeTooLong",
       "comm:\n  deadline: 8d\n",
       {{"comm.deadline", "run.yaml:2:13", "8d is more than 7d, the largest value", time}}},
      {"WildcardAddress",
       "comm:\n  interface: 0.0.0.0\n",
       {{"comm.interface", "run.yaml:2:14", "0.0.0.0 is not allowed here", interface}}},
  };
}

std::vector<Wrong> wrong_forms() {
  return {
      {"NoValue",
       "log:\n  level:\nrun:\n  name: a\n",
       {{"log.level", "run.yaml:2:3", "has no value",
         "write one of debug, info, warn, error; or leave the key out and get info"}}},
      {"NullForAnOptional",
       "parallel:\n  dp_shard: ~\n",
       {{"parallel.dp_shard", "run.yaml:2:3", "has no value",
         "write a whole number from 1 to 1048576, or auto; or leave the key out and get auto"}}},
      {"ListForAValue",
       "parallel:\n  tp: [1, 2]\n",
       {{"parallel.tp", "run.yaml:2:7", "is written as a list of 2, but takes one value",
         "write a whole number from 1 to 1024"}}},
      {"SectionForAValue",
       "parallel:\n  tp:\n    size: 2\n",
       {{"parallel.tp", "run.yaml:3:5", "is written as a section, but takes a value",
         "write `tp: 1`"}}},
      {"ValueForASection",
       "parallel: 8\n",
       {{"parallel", "run.yaml:1:11", "is a section, but its value is 8",
         "write its keys below it, indented: dp_replicate, dp_shard, cp, pp, tp, sharding, units, "
         "unit_blocks, unit_parameters, prefetch, reshard_after_forward, grad_sync, schedule, "
         "chunks, schedule_file"}}},
      {"ListForASection",
       "log:\n  - level: info\n",
       {{"log", "run.yaml:2:3", "is a section, but its value is a list",
         "write its keys below it, indented: level, all_ranks"}}},
      {"TextForTheWhole",
       "tp=2\n",
       {{"", "run.yaml:1:1", "holds \"tp=2\" instead of keys and values",
         std::string("write `key: value` lines, with a space after the colon; the keys are ") +
             kTopKeys}}},
      {"ListForTheWhole",
       "- run\n- log\n",
       {{"", "run.yaml:1:1", "holds a list instead of keys and values",
         std::string("write `key: value` lines, with a space after the colon; the keys are ") +
             kTopKeys}}},
      {"NewerVersion",
       "version: 2\nfrom_the_future: 1\nparallel: {tp: 0}\n",
       {{"version", "run.yaml:1:10", "2 is more than 1, the largest value",
         "the file was written for a newer shoal: install that one"}}},
      {"VersionZero",
       "version: 0\n",
       {{"version", "run.yaml:1:10", "0 is less than 1, the smallest value",
         "write a whole number, only 1"}}},
  };
}

std::vector<Wrong> wrong_yaml() {
  const std::string one_document = "keep one document: delete --- or look at the indentation";
  const std::string deep = "sections nest at most 2 deep";
  return {
      {"UnclosedBracket",
       "parallel: {tp: 2\nlog:\n",
       {{"", "run.yaml:2:4", "cannot be read as YAML: end of map flow not found", kYamlHint}}},
      {"UnclosedQuote",
       "run:\n  name: \"abc\n",
       {{"", "run.yaml:3:2", "cannot be read as YAML: illegal EOF in scalar", kYamlHint}}},
      {"TabIndent",
       "run:\n\tname: a\n",
       {{"", "run.yaml:2:6", "cannot be read as YAML: illegal map value", kYamlHint}}},
      {"ColonInPlainText",
       "run:\n  name: a: b\n",
       {{"", "run.yaml:2:10", "cannot be read as YAML: illegal map value", kYamlHint}}},
      {"KeyTwice",
       "parallel:\n  tp: 2\n  pp: 2\n  tp: 4\n",
       {{"parallel.tp", "run.yaml:4:3", "is there twice, on lines 2 and 4",
         "delete one of the lines"}}},
      {"SectionTwice",
       "log: {level: info}\nlog: {level: warn}\n",
       {{"log", "run.yaml:2:1", "is there twice, on lines 1 and 2", "delete one of the lines"}}},
      {"Anchor",
       "parallel:\n  tp: &two 2\n",
       {{"parallel.tp", "run.yaml:2:7", "has an anchor, which a config may not hold",
         "delete the &name"}}},
      {"Alias",
       "parallel:\n  tp: &two 2\n  pp: *two\n",
       {{"parallel.tp", "run.yaml:2:7", "has an anchor, which a config may not hold",
         "delete the &name"},
        {"parallel.pp", "run.yaml:3:7", "is an alias, which a config may not hold",
         "write the value out, or quote the *"}}},
      {"MergeKey",
       "log:\n  <<: {level: info}\n",
       {{"log.\"<<\"", "run.yaml:2:3", "is a merge key, which a config may not hold",
         "write the values out"}}},
      {"Tag",
       "run:\n  name: !!python/object:os.system x\n",
       {{"run.name", "run.yaml:2:9",
         "has the tag \"tag:yaml.org,2002:python/object:os.system\", which a config may not hold",
         "delete it"}}},
      {"SecondDocument",
       "log:\n  level: info\n---\nlog:\n  level: warn\n",
       {{"", "run.yaml:3:1", "goes on after its document has ended", one_document}}},
      {"ListAsKey",
       "? [a, b]\n: 1\n",
       {{"", "run.yaml:1:3", "has a list or a section where a key belongs", kBracketHint}}},
      {"NoKey",
       "log:\n  : info\n",
       {{"log.\"\"", "run.yaml:2:3", "is a value without a key", "write `key: value`"}}},
      {"DeepNesting",
       std::string(100'000, '[') + std::string(100'000, ']'),
       {{"", "run.yaml:1:33", "nests deeper than 32 levels", deep}}},
      {"DeepNestingLeftOpen",
       "parallel: " + std::string(100'000, '['),
       {{"parallel", "run.yaml:1:12", "has a list or a section where a key belongs",
         kBracketHint}}},
      {"UnclosedRootBracket",
       "{log: {level: info}\n",
       {{"", "run.yaml:1:1", "has a list or a section where a key belongs", kBracketHint}}},
      {"SwallowedKeys",
       "run:\n  directory: \"runs\n  seed: 7\nlog:\n  level: warn\n",
       {{"", "run.yaml:6:2", "cannot be read as YAML: illegal EOF in scalar", kYamlHint}}},
      {"Utf16",
       std::string("\xff\xfel\0o\0g\0:\0", 10),
       {{"", "run.yaml:1:1", "is UTF-16, but a config is UTF-8", "save it as UTF-8"}}},
      {"ByteOrderMark",
       "\xef\xbb\xbflog:\n",
       {{"", "run.yaml:1:1", "starts with a byte order mark", "save it as UTF-8 without one"}}},
      {"Latin1",
       "run:\n  name: caf\xe9\n",
       {{"", "run.yaml:2:12", "is not UTF-8: byte 0xe9 begins no character", "save it as UTF-8"}}},
      {"Nul",
       std::string("log:\n  level: in\0fo\n", 19),
       {{"", "run.yaml:2:12", "holds the control character 0x00", "delete it; a config is text"}}},
  };
}

std::vector<Wrong> wrong_sets() {
  return {
      {"SetUnknownKey",
       "",
       {{"parallel.tpx", "--set", "is not a key of shoal", "did you mean parallel.tp?"}},
       {"parallel.tpx=2"}},
      {"SetUnknownSection",
       "",
       {{"paralel.tp", "--set", "is not a key of shoal", "did you mean parallel.tp?"}},
       {"paralel.tp=2"}},
      {"SetWithoutSection",
       "",
       {{"tp", "--set", "is not a key of shoal", "did you mean parallel.tp?"}},
       {"tp=2"}},
      {"SetWithoutEquals",
       "",
       {{"parallel.tp", "--set", "has no = and no value", "write --set key=value"}},
       {"parallel.tp"}},
      {"SetNothing",
       "",
       {{"\"\"", "--set", "is not a key of shoal", std::string("the keys are ") + kTopKeys}},
       {"=2"}},
      {"SetWithoutValue",
       "",
       {{"parallel.tp", "--set", "has no value",
         "write a whole number from 1 to 1024; or leave the key out and get 1"}},
       {"parallel.tp="}},
      {"SetASection",
       "",
       {{"parallel", "--set", "is a section, but \"{tp}\" was given as its value",
         "set one of its keys: dp_replicate, dp_shard, cp, pp, tp, sharding, units, unit_blocks, "
         "unit_parameters, prefetch, reshard_after_forward, grad_sync, schedule, chunks, "
         "schedule_file"}},
       {"parallel={tp}"}},
      {"SetAWrongValue",
       "parallel:\n  tp: 2\n",
       {{"parallel.tp", "--set", "0 is less than 1, the smallest value",
         "write a whole number from 1 to 1024"}},
       {"parallel.tp=0"}},
      {"SetAnAlias",
       "",
       {{"run.name", "--set", "\"*x\" cannot be read as YAML: the referenced anchor is not defined",
         "put it in quotes: --set 'run.name=\"...\"'"}},
       {"run.name=*x"}},
      {"SetANewerVersion",
       "parallel: {tp: 0}\n",
       {{"version", "--set", "9 is more than 1, the largest value",
         "the file was written for a newer shoal: install that one"}},
       {"version=9"}},
      {"SetBytesThatAreNotText",
       "",
       {{"run.name", "--set", "\"\\xff\" is not UTF-8: byte 0xff begins no character",
         "put it in quotes: --set 'run.name=\"...\"'"}},
       {"run.name=\xff"}},
  };
}

std::vector<Wrong> disagreements() {
  return {
      {"DegreesDoNotDivideTheRanks",
       "parallel:\n  tp: 3\n  pp: 2\n",
       {{"parallel", "run.yaml:1:1",
         "dp_replicate*cp*pp*tp = 1*1*2*3 = 6 does not divide 8 ranks, so nothing is left for "
         "dp_shard: auto",
         "launch 6 or 12 ranks, or choose degrees whose product divides 8"}},
       {},
       JobSize{.ranks = 8}},
      {"DegreesDoNotMultiplyToTheRanks",
       "parallel: {dp_shard: 2, tp: 2}\n",
       {{"parallel", "run.yaml:1:1",
         "dp_replicate*dp_shard*cp*pp*tp = 1*2*1*1*2 = 4, but there are 8 ranks",
         "launch 4 ranks, or write `dp_shard: 4` or `dp_shard: auto`"}},
       {},
       JobSize{.ranks = 8}},
      {"DegreesWithOneRank",
       "parallel: {dp_shard: 2}\n",
       {{"parallel", "run.yaml:1:1",
         "dp_replicate*dp_shard*cp*pp*tp = 1*2*1*1*1 = 2, but there is 1 rank",
         "launch 2 ranks, or write `dp_shard: 1` or `dp_shard: auto`"}},
       {},
       JobSize{.ranks = 1}},
      {"KeepsStepsThatAreNotSaved",
       "train:\n  save_every: 400\n  keep_every: 1000\n",
       {{"train.keep_every", "run.yaml:3:15", "1000 is no multiple of train.save_every = 400",
         "write 1200, or another multiple of 400"}},
       {},
       JobSize{.ranks = 1}},
      {"KeepsStepsWithoutSavingAny",
       "train: {save_every: 0, keep_every: 7}\n",
       {{"train.keep_every", "run.yaml:1:36", "7 finds nothing to keep: train.save_every is 0",
         "write how often to save as train.save_every"}},
       {},
       JobSize{.ranks = 1}},
      {"TracesAStepThatIsNotTaken",
       "train: {steps: 20, trace_steps: [3, 21]}\n",
       {{"train.trace_steps", "run.yaml:1:33", "21 is beyond train.steps = 20",
         "the first step is 1; choose one that the run takes"}},
       {},
       JobSize{.ranks = 1}},
      {"TensorRanksWithoutHeads",
       "parallel:\n  tp: 16\nmodel: {kv_heads: 6}\n",
       {{"parallel.tp", "run.yaml:2:7",
         "model.heads = 12 is less than parallel.tp = 16: choose a tp of at most 12",
         "what tp leaves, pp or dp_shard can take"}},
       {},
       JobSize{.ranks = 32}},
      {"TensorRanksCrossNodes",
       "parallel:\n  tp: 16\nmodel: {heads: 16}\n",
       {{"parallel.tp", "run.yaml:2:7", "16 is more than the 8 ranks of a node",
         "write `tp: 8`, and raise pp or dp_shard instead"}},
       {},
       JobSize{.ranks = 32, .ranks_per_node = 8}},
      {"TensorRanksDoNotFitNodes",
       "",
       {{"parallel.tp", "--set",
         "4 does not divide the 6 ranks of a node, so a group would cross nodes",
         "write `tp: 3`, and raise pp or dp_shard instead"}},
       {"parallel.tp=4"},
       JobSize{.ranks = 24, .ranks_per_node = 6}},
      {"LocalWithManyRanks",
       "comm:\n  backend: local\n",
       {{"comm.backend", "run.yaml:2:12", "local connects nobody, but there are 8 ranks",
         "write `backend: auto`, or launch 1 rank"}},
       {},
       JobSize{.ranks = 8}},
      {"EverythingAtOnce",
       "runn: {}\nrun:\n  seed: -1\nparallel:\n  tp: 3\ncomm:\n  backend: local\nlog:\n  "
       "all_ranks: on\n",
       {{"runn", "run.yaml:1:1", "is not a key of shoal", "did you mean run?"},
        {"run.seed", "run.yaml:3:9", "-1 is less than 0, the smallest value",
         "write a whole number, at least 0"},
        {"log.all_ranks", "run.yaml:9:14", "on is not true or false", "write true"},
        {"log.level", "--set", "loud is not one of debug, info, warn, error",
         "write one of debug, info, warn, error"},
        {"parallel", "run.yaml:4:1",
         "dp_replicate*cp*pp*tp = 1*1*1*3 = 3 does not divide 8 ranks, so nothing is left for "
         "dp_shard: auto",
         "launch 6 or 9 ranks, or choose degrees whose product divides 8"},
        {"parallel.tp", "run.yaml:5:7",
         "3 does not divide the 4 ranks of a node, so a group would cross nodes",
         "write `tp: 2`, and raise pp or dp_shard instead"},
        {"comm.backend", "run.yaml:7:12", "local connects nobody, but there are 8 ranks",
         "write `backend: auto`, or launch 1 rank"}},
       {"log.level=loud"},
       JobSize{.ranks = 8, .ranks_per_node = 4}},
      {"NoArithmeticOnARefusedValue",
       "parallel:\n  tp: three\n  pp: 3\n",
       {{"parallel.tp", "run.yaml:2:7", "three is not a whole number in plain digits",
         "write a whole number from 1 to 1024"}},
       {},
       JobSize{.ranks = 8}},
  };
}

std::vector<Wrong> all_wrong_configs() {
  std::vector<Wrong> all;
  for (const auto& group : {unknown_keys(), wrong_numbers(), wrong_texts(), wrong_forms(),
                            wrong_yaml(), wrong_sets(), disagreements()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

class WrongConfig : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongConfig, GetsItsCompleteAnswer) {
  const Wrong& wrong = GetParam();
  const Request request{.file = "run.yaml", .sets = wrong.sets, .job = wrong.job};
  EXPECT_EQ(told(load_text(wrong.yaml, request).found.problems), told(wrong.problems));
}

INSTANTIATE_TEST_SUITE_P(All,
                         WrongConfig,
                         ::testing::ValuesIn(all_wrong_configs()),
                         [](const auto& wrong) { return wrong.param.name; });

TEST(WrongFile, TooLargeMissingOrADirectory) {
  const tests::TempDir dir;
  const std::string hint = "name a YAML file of at most 1 MiB; configs/ holds examples";
  const std::string large = dir / "large.yaml";
  write_file_atomically(large, "#" + std::string(kMaxConfigBytes, 'x'));
  EXPECT_THAT(
      load({.file = large}).found.problems,
      ElementsAre(Problem{
          "", "", large + " has 1048577 bytes, but at most 1048576 are accepted here", hint}));
  EXPECT_THAT(load({.file = dir / "none.yaml"}).found.problems.at(0).what,
              HasSubstr("No such file"));
  EXPECT_THAT(load({.file = dir.path()}).found.problems,
              ElementsAre(Problem{"", "", dir.path().string() + " is not a regular file", hint}));
}

TEST(WrongConfigs, AnAliasBombIsDefusedByNotExpandingIt) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    bomb += format("a{}: &a{} [", i, i);
    for (int j = 0; j < 9; ++j) bomb += format("{}*a{}", j == 0 ? "" : ", ", i - 1);
    bomb += "]\n";
  }
  const Loaded loaded = load_text(bomb, {.file = "run.yaml"});
  EXPECT_EQ(loaded.found.problems.size(), 20U + 19 * 9 + 20) << "anchors, aliases and unknown keys";
}

TEST(WrongConfigs, AFloodOfProblemsStaysSmall) {
  std::string flood;
  for (int i = 0; i < 4000; ++i) flood += format("key{}: 1\n", i);
  const Loaded loaded = load_text(flood, {.file = "run.yaml"});
  EXPECT_EQ(loaded.found.problems.size(), 4000U);
  EXPECT_LT(report("run.yaml", loaded.found.problems).size(), 10'000U);
}

}  // namespace
}  // namespace shoal::config
