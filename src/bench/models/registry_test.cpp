#include "bench/models/registry.h"

#include <set>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

TEST(bench, every_known_model_is_made_in_each_of_its_sizes) {
    std::set<std::string_view> names;
    for (const KnownModel& known : known_models()) {
        EXPECT_TRUE(names.insert(known.name).second) << known.name;
        ASSERT_FALSE(known.profiles.empty()) << known.name;
        for (std::string_view profile : known.profiles) {
            auto model = known.make(profile);
            ASSERT_TRUE(model) << model.error().message();
            EXPECT_EQ((*model)->name(), known.name);
            EXPECT_EQ((*model)->profile().name, profile);
            EXPECT_GT((*model)->flops_per_sample(), 0);
        }
        auto unknown = known.make("no such size");
        ASSERT_FALSE(unknown);
        EXPECT_EQ(unknown.error().exit_status(), 2);
    }
}

}  // namespace
}  // namespace belay::bench
