#include "cli/text_table.h"

#include <gtest/gtest.h>

namespace belay::cli {
namespace {

const std::vector<std::string> kHeader = {"name", "n", "meaning"};
const std::vector<std::vector<std::string>> kRows = {
    {"first", "1", "a meaning of several words, longer than others"}, {"second", "22", "short"}};

TEST(cli, table_of_any_width_stands_on_one_line_a_row) {
    EXPECT_EQ(render_table(kHeader, kRows, 1000),
              "name     n  meaning\n"
              "------  --  ----------------------------------------------\n"
              "first    1  a meaning of several words, longer than others\n"
              "second  22  short\n");
}

TEST(cli, table_wraps_its_last_column_in_a_narrow_terminal) {
    EXPECT_EQ(render_table(kHeader, kRows, 36),
              "name     n  meaning\n"
              "------  --  ------------------------\n"
              "first    1  a meaning of several\n"
              "            words, longer than\n"
              "            others\n"
              "second  22  short\n");
}

TEST(cli, table_is_left_alone_where_nothing_would_stand_on_a_line) {
    EXPECT_EQ(render_table(kHeader, kRows, 20), render_table(kHeader, kRows, 1000));
    EXPECT_EQ(render_table({"name", "count"}, {{std::string(40, 'x'), "1"}}, 20),
              render_table({"name", "count"}, {{std::string(40, 'x'), "1"}}, 1000));
    EXPECT_EQ(render_table({}, {}, 20), "");
}

}  // namespace
}  // namespace belay::cli
