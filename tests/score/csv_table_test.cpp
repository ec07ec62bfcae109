#include "shoal/score/csv_table.h"

#include <gtest/gtest.h>

#include "shoal/core/error.h"

namespace shoal::score {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    const CsvTable table("a.csv", text);
    return "";
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(CsvTable, HasCellsByNameAndPlaces) {
  const CsvTable table("a.csv", "id,b c,d\nx,,3\ny,5,\n");
  ASSERT_EQ(table.num_rows(), 2U);
  EXPECT_EQ(table.cell(0, "b c"), "");
  EXPECT_EQ(table.cell(0, "d"), "3");
  EXPECT_EQ(table.cell(1, "id"), "y");
  EXPECT_EQ(table.cell(1, "d"), "");
  EXPECT_EQ(table.place(1), "a.csv:3");
}

TEST(CsvTable, LastLineNeedsNoEnd) { EXPECT_EQ(CsvTable("a.csv", "id,n\nx,1").cell(0, "n"), "1"); }

TEST(CsvTable, RefusesWhatItWouldHaveToGuess) {
  EXPECT_EQ(refusal_of("a,b\n1,2\n1\n"), "a.csv:3: 1 cells, but there are 2 columns");
  EXPECT_EQ(refusal_of("a,b\n1,2,3\n"), "a.csv:2: 3 cells, but there are 2 columns");
  EXPECT_EQ(refusal_of("a,b\n\n"), "a.csv:2: 1 cells, but there are 2 columns");
  EXPECT_EQ(refusal_of("a,b\n\"1\",2\n"),
            "a.csv:2: a quote or a carriage return; cells here need neither");
  EXPECT_EQ(refusal_of("a,b\r\n1,2\r\n"),
            "a.csv:1: a quote or a carriage return; cells here need neither");
  EXPECT_EQ(refusal_of("a,b,a\n"), "a.csv:1: two columns have one name");
  EXPECT_EQ(refusal_of(""), "a.csv: empty, without a line of column names");
}

TEST(CsvTable, NamesTheColumnThatIsMissing) {
  const CsvTable table("a.csv", "a\n1\n");
  EXPECT_THROW((void)table.cell(0, "b"), DataError);
}

}  // namespace
}  // namespace shoal::score
