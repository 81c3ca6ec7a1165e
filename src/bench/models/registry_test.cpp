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

struct RateCase {
    const char* model;
    const char* profile;
    int batch;
    int64_t step;
    double rate;
};

// Steps are those of the profile's samples in batches of `batch`. Full profiles: mlcommons/hpc, cosmoflow/configs/cosmo.yaml
// and utils/optimizers.py; deepcam/src/deepCam/utils/schedulers.py; open_catalyst/configs/mlperf_hpc.yml.
constexpr RateCase kRates[] = {
    {"cosmoflow", "mini", 8, 1, 0.0025},
    {"cosmoflow", "mini", 8, 2 * 128 + 1, 0.0075},
    {"cosmoflow", "mini", 8, 3 * 128 + 1, 0.01},
    {"cosmoflow", "mini", 64, 3 * 16 + 1, 0.01},  // does not scale with the batch
    {"cosmoflow", "mini", 8, 12 * 128, 0.01},
    {"cosmoflow", "mini", 8, 12 * 128 + 1, 0.0025},
    {"cosmoflow", "mini", 8, 18 * 128 + 1, 0.000625},
    {"cosmoflow", "full", 64, 1, 0.001},
    {"cosmoflow", "full", 512, 1, 0.001},
    {"cosmoflow", "full", 512, 2 * 1024 + 1, 0.001 + 2 * 0.007 / 4},
    {"cosmoflow", "full", 32, 1, 0.0005},  // never above its peak
    {"cosmoflow", "full", 512, 32 * 1024, 0.008},
    {"cosmoflow", "full", 512, 32 * 1024 + 1, 0.002},
    {"cosmoflow", "full", 512, 64 * 1024 + 1, 0.001},
    {"deepcam", "mini", 8, 1, 0.004},
    {"deepcam", "mini", 8, 10 * 64 + 1, 0.002},
    {"deepcam", "full", 2048, 1, 0},
    {"deepcam", "full", 2048, 201, 0.00275},
    {"deepcam", "full", 2048, 401, 0.0055},
    {"deepcam", "full", 2048, 1201, 0.0055},  // milestone 800 behind 400 steps of warm-up
    {"deepcam", "full", 2048, 1202, 0.00055},
    {"deepcam", "full", 512, 801, 0.00275},  // the square root of a quarter
    {"oc20", "mini", 16, 1, 0.002},
    {"oc20", "mini", 16, 922, 0.002},  // 0.6 of 1,536 steps
    {"oc20", "mini", 16, 923, 0.0002},
    {"oc20", "full", 256, 1, 0.00008},
    {"oc20", "full", 2048, 1, 0.00064},  // a fifth of the peak, whatever the batch
    {"oc20", "full", 256, 31253, 0.0004},
    {"oc20", "full", 256, 125008, 0.0004},
    {"oc20", "full", 256, 125009, 0.00004},
    {"oc20", "full", 256, 187513, 0.000004},
};

TEST(bench, rates_of_all_profiles_are_those_of_the_references) {
    for (const KnownModel& known : known_models())
        for (const RateCase& wanted : kRates) {
            if (known.name != wanted.model) continue;
            Profile profile = (*known.make(wanted.profile))->profile();
            profile.batch = wanted.batch;
            const int64_t steps = profile.steps_per_epoch();
            const StepPlace place{.epoch = static_cast<int>((wanted.step - 1) / steps + 1),
                                  .step = wanted.step,
                                  .total_steps = profile.total_steps(),
                                  .epoch_steps = steps};
            EXPECT_NEAR(profile.rate.at(profile.batch, place), wanted.rate, 1e-12)
                << wanted.model << ' ' << wanted.profile << ' ' << wanted.batch << ' ' << wanted.step;
        }
}

}  // namespace
}  // namespace belay::bench
