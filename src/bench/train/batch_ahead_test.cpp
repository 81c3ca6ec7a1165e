#include "bench/train/batch_ahead.h"

#include <atomic>
#include <stdexcept>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::HasSubstr;

// Samples whose value is their index.
class CountedData : public Data {
  public:
    core::Result<> load(Split, std::span<const uint32_t> indices, Batch& batch) const override {
        for (uint32_t index : indices) {
            if (index == 66) return core::bad_input("sample 66 is damaged");
            if (index == 77) throw std::runtime_error("a library failed");
        }
        batch.samples = indices.size();
        batch.inputs.assign(indices.begin(), indices.end());
        ++loads;
        return {};
    }
    mutable std::atomic<int> loads = 0;
};

TEST(bench, batch_ahead_gives_batches_in_order) {
    const CountedData data;
    std::vector<std::vector<uint32_t>> batches;
    for (uint32_t i = 0; i < 50; ++i) batches.push_back({i, i + 1000});
    BatchAhead ahead(data, Split::kTrain, batches);
    for (uint32_t i = 0; i < 50; ++i) {
        auto batch = ahead.next();
        ASSERT_TRUE(batch);
        EXPECT_EQ((*batch)->inputs,
                  (std::vector<float>{static_cast<float>(i), static_cast<float>(i + 1000)}));
        EXPECT_LE(data.loads, static_cast<int>(i) + 2) << "one ahead, and not two";
    }
}

TEST(bench, batch_ahead_hands_on_what_failed_when_its_batch_is_asked_for) {
    for (const auto& [index, message] :
         {std::pair(66U, "sample 66 is damaged"), std::pair(77U, "a library failed")}) {
        const CountedData data;
        BatchAhead ahead(data, Split::kTrain, {{1}, {index}, {2}});
        ASSERT_TRUE(ahead.next());
        auto failed = ahead.next();
        ASSERT_FALSE(failed);
        EXPECT_THAT(failed.error().message(), HasSubstr(message));
    }
}

TEST(bench, batch_ahead_that_nobody_asks_ends) {
    const CountedData data;
    {
        BatchAhead ahead(data, Split::kTrain, std::vector<std::vector<uint32_t>>(100, {1}));
    }
    EXPECT_LE(data.loads, 1);
    BatchAhead none(data, Split::kTrain, {});
}

}  // namespace
}  // namespace belay::bench
