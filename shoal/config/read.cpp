#include "shoal/config/read.h"

#include <utility>

#include "shoal/config/text.h"
#include "shoal/config/yaml_reader.h"
#include "shoal/core/nearest.h"

namespace shoal::config {
namespace {

using Kind = YamlNode::Kind;

std::string join(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : format("{}.{}", parent, name);
}

// "dp_replicate, dp_shard, cp, pp, tp"
std::string names_in(const Table& table, std::string_view section) {
  std::string names;
  for (const Entry& entry : table) {
    if (entry.parent() == section) names += (names.empty() ? "" : ", ") + std::string(entry.name());
  }
  return names;
}

std::string_view nearest_name(const Table& table, std::string_view parent, std::string_view name) {
  std::vector<std::string_view> siblings;
  for (const Entry& entry : table) {
    if (entry.parent() == parent) siblings.push_back(entry.name());
  }
  return nearest(name, siblings).value_or("");
}

// Checks the form of a value, before its text is looked at.
Verdict check_form(const Entry& entry, const YamlNode& node) {
  const Field& field = *entry.field;
  if (node.kind == Kind::kNull) {
    return Refusal{.what = "has no value",
                   .hint = format("write {}; or leave the key out and get {}",
                                  in_words(field.shape), field.write())};
  }
  if (node.kind == Kind::kMap) {
    return Refusal{.what = "is written as a section, but takes a value",
                   .hint = format("write `{}: {}`", entry.name(), field.write())};
  }
  if (node.kind == Kind::kList && !field.shape.list) {
    return Refusal{
        .what = format("is written as a list of {}, but takes one value", node.items.size())};
  }
  if (node.kind == Kind::kText && field.shape.list) {
    return Refusal{.what = format("{} is one value, but a list is taken", shown(node.text)),
                   .hint = format("write [{}]", shown(node.text))};
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Table& table, std::string_view source, Findings& found)
      : table_(table), source_(source), found_(found) {}

  void read_section(const YamlNode& node, std::string_view section) {
    for (size_t i = 0; i < node.keys.size(); ++i) {
      const YamlNode& key = node.keys[i];
      if (key.kind == Kind::kRefused) continue;
      const Entry* entry = find_entry(table_, join(section, key.text));
      // A dotted key is not a short form: only the section it stands in can give it its name.
      if (entry == nullptr || entry->name() != key.text) {
        complain(join(section, shown(key.text)), key,
                 {"is not a key of shoal", unknown_key_hint(table_, section, key.text)});
      } else if (entry->field) {
        read_field(*entry, node.items[i]);
      } else {
        read_subsection(*entry, key, node.items[i]);
      }
    }
  }

  void read_field(const Entry& entry, const YamlNode& node) {
    if (node.kind == Kind::kRefused) return;
    Verdict refusal = check_form(entry, node);
    if (!refusal) refusal = entry.field->read(node);
    if (!refusal) {
      found_.places.insert_or_assign(entry.key, place_of(source_, node));
      return;
    }
    if (refusal->hint.empty()) refusal->hint = "write " + in_words(entry.field->shape);
    complain(entry.key, node, std::move(*refusal));
  }

  void complain(std::string key, const YamlNode& node, Refusal refusal) {
    found_.problems.push_back({std::move(key), place_of(source_, node), std::move(refusal.what),
                               std::move(refusal.hint)});
  }

 private:
  void read_subsection(const Entry& entry, const YamlNode& key, const YamlNode& node) {
    if (node.kind == Kind::kMap) {
      found_.places.insert_or_assign(entry.key, place_of(source_, key));
      read_section(node, entry.key);
    } else if (node.kind == Kind::kText || node.kind == Kind::kList) {
      const std::string value = node.kind == Kind::kText ? shown(node.text) : "a list";
      complain(entry.key, node,
               {format("is a section, but its value is {}", value),
                format("write its keys below it, indented: {}", names_in(table_, entry.key))});
    }  // a section without a value is one whose keys are all commented out
  }

  const Table& table_;
  std::string_view source_;
  Findings& found_;
};

}  // namespace

std::string unknown_key_hint(const Table& table, std::string_view parent, std::string_view name) {
  if (find_entry(table, name) != nullptr && name.find('.') != std::string_view::npos) {
    const size_t dot = name.find('.');
    return format("write `{}:` and below it, indented, `{}:`", name.substr(0, dot),
                  name.substr(dot + 1));
  }
  for (const Entry& entry : table) {
    if (entry.name() == name && entry.field) return format("did you mean {}?", entry.key);
  }
  const std::string_view sibling = nearest_name(table, parent, name);
  if (!sibling.empty()) return format("did you mean {}?", join(parent, sibling));
  std::vector<std::string_view> keys;
  for (const Entry& entry : table) keys.push_back(entry.key);
  if (const auto key = nearest(join(parent, name), keys)) return format("did you mean {}?", *key);
  for (const Entry& entry : table) {
    if (nearest(name, {entry.name()})) return format("did you mean {}?", entry.key);
  }
  const std::string here = names_in(table, parent);
  if (here.empty() || parent.empty()) return format("the keys are {}", names_in(table, ""));
  return format("the keys of {} are {}", parent, here);
}

void read_yaml(const Table& table,
               std::string_view text,
               std::string_view source,
               Findings& found) {
  Document document = parse_yaml(text, source);
  for (Problem& problem : document.problems) found.problems.push_back(std::move(problem));
  Reader reader(table, source, found);
  const YamlNode& root = document.root;
  if (root.kind == Kind::kMap) {
    reader.read_section(root, "");
  } else if (root.kind == Kind::kText || root.kind == Kind::kList) {
    const std::string value = root.kind == Kind::kText ? shown(root.text) : "a list";
    reader.complain(
        "", root,
        {format("holds {} instead of keys and values", value),
         format("write `key: value` lines, with a space after the colon; the keys are {}",
                names_in(table, ""))});
  }  // nothing but comments: all defaults
}

void read_set(const Table& table, std::string_view assignment, Findings& found) {
  const size_t equals = assignment.find('=');
  const std::string_view key = assignment.substr(0, equals);
  const YamlNode nowhere;
  Reader reader(table, kFromSet, found);
  const Entry* entry = find_entry(table, key);
  if (equals == std::string_view::npos) {
    reader.complain(shown(key), nowhere, {"has no = and no value", "write --set key=value"});
    return;
  }
  if (entry == nullptr) {
    const size_t dot = key.rfind('.');
    const std::string_view parent = dot == std::string_view::npos ? "" : key.substr(0, dot);
    const std::string hint = unknown_key_hint(table, parent, key.substr(dot + 1));
    reader.complain(shown(key), nowhere, {"is not a key of shoal", hint});
    return;
  }
  if (!entry->field) {
    reader.complain(entry->key, nowhere,
                    {format("is a section, but {} was given as its value",
                            shown(assignment.substr(equals + 1))),
                     format("set one of its keys: {}", names_in(table, entry->key))});
    return;
  }
  Document document = parse_yaml(assignment.substr(equals + 1), kFromSet);
  for (Problem& problem : document.problems) {
    problem.where = entry->key;
    problem.what = format("{} {}", shown(assignment.substr(equals + 1)), problem.what);
    problem.hint = format("put it in quotes: --set '{}=\"...\"'", entry->key);
    found.problems.push_back(std::move(problem));
  }
  if (document.problems.empty()) reader.read_field(*entry, document.root);
}

}  // namespace shoal::config
