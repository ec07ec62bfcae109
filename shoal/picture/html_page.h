// html_page.h -- what pages of a plan and of a run share: the frame, sections, tiles and tables.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shoal/picture/markup.h"

namespace shoal::picture {

// Returns a complete page that needs nothing beside it.
std::string html_page(const std::string& title, const std::function<void(Markup&)>& draw_body);

// Opens a section, which the caller closes.
void begin_section(Markup& markup, const char* name, const char* hint);

// A figure with its words, inside an element of class "tiles"; the kind is "fine", "alarm" or "".
void tile(Markup& markup,
          const std::string& value,
          const std::string& words,
          const char* kind = "");

// Rows of cells, written as they are added.
class Table {
 public:
  // Without heads it is a list of facts.
  Table(Markup& markup, const std::string& caption, const std::vector<std::string>& heads);

  void row(const std::string& head, const std::vector<std::string>& cells);
  void end();

 private:
  Markup& markup_;
};

}  // namespace shoal::picture
