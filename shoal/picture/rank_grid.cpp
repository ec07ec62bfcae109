#include "shoal/picture/rank_grid.h"

#include <algorithm>
#include <string>
#include <vector>

#include "shoal/core/format.h"
#include "shoal/picture/plan_facts.h"

namespace shoal::picture {
namespace {

using plan::Axis;
using plan::AxisSet;

constexpr AxisSet kData = {Axis::kDpReplicate, Axis::kDpShard, Axis::kCp};
constexpr size_t kMaxStagesDrawn = 4;
constexpr int kMaxLines = 4;  // of a node
constexpr double kCellHeight = 20;
constexpr double kLabelHeight = 15;
constexpr double kPadding = 8;
constexpr double kNear = 2;  // between ranks of a tensor group
constexpr double kFar = 6;

// Ranks beside each other in the box of a node: all of one stage.
struct RankLine {
  int begin = 0;
  int end = 0;
};

std::string counted(int count, const char* one) {
  return format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string range_of(const char* name, int first, int last) {
  return first == last ? format("{} {}", name, first) : format("{}s {} to {}", name, first, last);
}

std::string data_of(int first, int last) {
  return first == last ? format("data {}", first) : format("data {} to {}", first, last);
}

// Returns the first rank of a node, or the number of ranks behind the last one.
int first_rank(const plan::Nodes& nodes, int node) {
  int rank = 0;
  for (int i = 0; i < node; ++i) rank += nodes.ranks_on(i);
  return rank;
}

class NodeBox {
 public:
  NodeBox(const plan::Mesh& mesh, const plan::Nodes& nodes, int node, int fullest)
      : mesh_(mesh), fullest_(fullest) {
    const size_t digits = std::to_string(mesh.num_ranks() - 1).size();
    cell_width_ = std::max(27.0, 5.6 * static_cast<double>(digits) + 5);
    const int per_line = digits > 5 ? 4 : 8;
    int rank = first_rank(nodes, node);
    const int last = first_rank(nodes, node + 1);
    while (rank < last && static_cast<int>(lines_.size()) < kMaxLines) {
      int end = rank + 1;
      while (end < std::min(last, rank + per_line) && stage(end) == stage(rank)) ++end;
      lines_.push_back({rank, end});
      rank = end;
    }
    left_out_ = last - rank;
  }

  void draw(Markup& markup) const {
    const double width = 2 * kPadding + widest();
    const double line = kLabelHeight + kCellHeight + kNear;
    const double height =
        kPadding + line * static_cast<double>(lines_.size()) + (left_out_ > 0 ? kLabelHeight : 0);
    markup.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                        {"class", "node"},
                        {"width", number(width)},
                        {"height", number(height)}});
    markup.leaf("rect", {{"class", "box"},
                         {"x", "0.5"},
                         {"y", "0.5"},
                         {"width", number(width - 1)},
                         {"height", number(height - 1)},
                         {"rx", "4"}});
    double top = kPadding / 2;
    for (const RankLine& shown : lines_) {
      draw_line(markup, shown, top);
      top += line;
    }
    if (left_out_ > 0)
      words(markup, top + kLabelHeight - 4, format("and {} more", counted(left_out_, "rank")));
    markup.close();
  }

 private:
  [[nodiscard]] int stage(int rank) const { return mesh_.coordinate(rank, Axis::kPp); }
  [[nodiscard]] double gap_before(int rank) const {
    return mesh_.coordinate(rank, Axis::kTp) == 0 && mesh_.size(Axis::kTp) > 1 ? kFar : kNear;
  }
  [[nodiscard]] double width_of(const RankLine& line) const {
    double width = cell_width_;
    for (int rank = line.begin + 1; rank < line.end; ++rank)
      width += gap_before(rank) + cell_width_;
    return width;
  }
  [[nodiscard]] double widest() const {
    double widest = 130;  // of the label
    for (const RankLine& line : lines_) widest = std::max(widest, width_of(line));
    return widest;
  }

  static void words(Markup& markup, double y, const std::string& text) {
    markup.leaf("text", {{"x", number(kPadding)}, {"y", number(y)}}, text);
  }

  void draw_line(Markup& markup, const RankLine& line, double top) const {
    words(markup, top + kLabelHeight - 4,
          format("stage {}, {}", stage(line.begin),
                 data_of(mesh_.position(line.begin, kData), mesh_.position(line.end - 1, kData))));
    double x = kPadding;
    for (int rank = line.begin; rank < line.end; ++rank) {
      if (rank > line.begin) x += gap_before(rank);
      markup.open("g").leaf("title", {},
                            format("rank {}: stage {}, data {}, tensor {}{}", rank, stage(rank),
                                   mesh_.position(rank, kData), mesh_.coordinate(rank, Axis::kTp),
                                   rank == fullest_ ? "; the fullest rank" : ""));
      markup.leaf("rect", {{"class", rank == fullest_ ? "cell fullest" : "cell"},
                           {"x", number(x)},
                           {"y", number(top + kLabelHeight)},
                           {"width", number(cell_width_)},
                           {"height", number(kCellHeight)},
                           {"rx", "2"}});
      markup.leaf("text",
                  {{"class", "rank"},
                   {"x", number(x + cell_width_ / 2)},
                   {"y", number(top + kLabelHeight + 14)},
                   {"text-anchor", "middle"}},
                  std::to_string(rank));
      markup.close();
      x += cell_width_;
    }
  }

  const plan::Mesh& mesh_;
  int fullest_;
  double cell_width_ = 0;
  int left_out_ = 0;
  std::vector<RankLine> lines_;
};

std::string span_in_words(const plan::Mesh& mesh,
                          const plan::Nodes& nodes,
                          AxisSet axes,
                          const char* name) {
  const int ranks = mesh.size(axes);
  if (ranks == 1) return "";
  const int touched = plan::max_nodes_per_group(mesh, axes, nodes);
  return format(" A {} group has {} ranks {}.", name, ranks,
                touched == 1 ? std::string("of one node") : format("on {} nodes", touched));
}

// What lies between two nodes that are drawn.
void draw_between(
    Markup& markup, const plan::Mesh& mesh, const plan::Nodes& nodes, int begin, int end) {
  if (begin == end) return;
  const int first = first_rank(nodes, begin);
  const int last = first_rank(nodes, end) - 1;
  const std::string stages =
      range_of("stage", mesh.coordinate(first, Axis::kPp), mesh.coordinate(last, Axis::kPp));
  markup.leaf("p", {{"class", "rest"}},
              format("and {} more: {}, {}", counted(end - begin, "node"), stages,
                     range_of("rank", first, last)));
}

}  // namespace

void draw_ranks(Markup& markup, const plan::Mesh& mesh, const plan::Nodes& nodes, int fullest) {
  markup.open("p", {{"class", "hint"}})
      .text(format("{} on {}, numbered node by node.", mesh.describe(),
                   counted(nodes.num_nodes(), "node")))
      .text(span_in_words(mesh, nodes, Axis::kTp, "tensor"))
      .text(span_in_words(mesh, nodes, kData, "data-parallel"))
      .text(span_in_words(mesh, nodes, Axis::kPp, "pipeline"))
      .text(" The marked rank is the fullest.")
      .close();
  const std::vector<int> first_ranks = mesh.peers(0, Axis::kPp);
  std::vector<int> drawn;  // nodes
  for (const size_t stage : some_of(first_ranks.size(), kMaxStagesDrawn,
                                    static_cast<size_t>(mesh.coordinate(fullest, Axis::kPp)))) {
    const int node = nodes.node_of(first_ranks[stage]);
    if (drawn.empty() || node > drawn.back()) drawn.push_back(node);
  }
  for (size_t i = 0; i < drawn.size(); ++i) {
    markup.open("div", {{"class", "nodes"}}).open("figure");
    markup.leaf("figcaption", {}, format("node {}", drawn[i]));
    NodeBox(mesh, nodes, drawn[i], fullest).draw(markup);
    markup.close();
    draw_between(markup, mesh, nodes, drawn[i] + 1,
                 i + 1 < drawn.size() ? drawn[i + 1] : nodes.num_nodes());
    markup.close();
  }
}

}  // namespace shoal::picture
