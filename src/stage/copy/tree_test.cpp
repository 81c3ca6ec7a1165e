#include "stage/copy/tree.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(stage_copy_tree, a_chain_up_to_64_nodes_and_two_children_beyond) {
    EXPECT_EQ(usual_children(2), 1U);
    EXPECT_EQ(usual_children(64), 1U);
    EXPECT_EQ(usual_children(65), 2U);
}

TEST(stage_copy_tree, the_grandparent_comes_after_the_parent_and_the_first_node_last) {
    EXPECT_THAT(ancestors_of(4, 1), ElementsAre(3, 2, 1, 0));
    EXPECT_THAT(ancestors_of(12, 2), ElementsAre(5, 2, 0));
    EXPECT_THAT(ancestors_of(0, 2), IsEmpty());
}

TEST(stage_copy_tree, parents_and_children_agree) {
    for (const uint32_t children : {1U, 2U, 3U, 7U})
        for (const uint32_t nodes : {1U, 2U, 8U, 65U}) {
            std::vector<uint32_t> seen(nodes, 0);
            for (uint32_t position = 0; position < nodes; ++position)
                for (const uint32_t child : children_of(position, children, nodes)) {
                    ++seen[child];
                    EXPECT_EQ(parent_of(child, children), position);
                    EXPECT_EQ(ancestors_of(child, children).front(), position);
                }
            EXPECT_EQ(seen[0], 0U);
            EXPECT_TRUE(std::all_of(seen.begin() + 1, seen.end(), [](uint32_t times) { return times == 1; }));
        }
}

TEST(stage_copy_tree, two_children_make_it_as_deep_as_the_logarithm) {
    EXPECT_EQ(ancestors_of(1023, 2).size(), 10U);
}

}  // namespace
}  // namespace belay::stage
