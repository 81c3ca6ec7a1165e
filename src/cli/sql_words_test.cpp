#include "cli/sql_words.h"

#include <gtest/gtest.h>

namespace belay::cli {
namespace {

TEST(cli, a_table_is_named_in_capitals_or_not_and_in_quotes) {
    for (const char* sql :
         {"FROM gpu", "FROM GPU", "SELECT count(*)FROM Gpu;", "FROM \"gpu\"", "FROM main.gpu",
          "FROM gpu_summary JOIN gpu USING (node)", "gpu", "FROM gpu/* all */"})
        EXPECT_TRUE(has_word(sql, "gpu")) << sql;
}

TEST(cli, a_part_of_a_name_is_no_table) {
    for (const char* sql : {"FROM gpu_summary", "FROM gpu2", "FROM mygpu", "FROM GPUS", "FROM ügpu",
                            "FROM gpu$", "FROM _gpu", "FROM gp", ""})
        EXPECT_FALSE(has_word(sql, "gpu")) << sql;
    EXPECT_FALSE(has_word("FROM gpu", ""));
}

}  // namespace
}  // namespace belay::cli
