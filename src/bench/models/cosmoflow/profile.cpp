#include "bench/models/cosmoflow/profile.h"

#include "bench/models/cosmoflow/universe.h"
#include "bench/synthetic/random.h"
#include "core/text.h"

#include <algorithm>

namespace belay::bench::cosmoflow {

namespace {

constexpr int kMiniChannels[] = {4, 8, 16, 32, 64};
constexpr int kMiniDecayEpochs[] = {12, 18};
constexpr double kMiniDecayFactors[] = {0.25, 0.0625};

// mlcommons/hpc, cosmoflow/configs/cosmo.yaml.
constexpr int kFullChannels[] = {4, 32, 64, 128, 256, 512};
constexpr int kFullDecayEpochs[] = {32, 64};
constexpr double kFullDecayFactors[] = {0.25, 0.125};

constexpr Profile kProfiles[] = {
    {.name = "mini",
     .side = 32,
     .channels = kMiniChannels,
     .train_samples = 1024,
     .eval_samples = 256,
     .batch = 8,
     .dropout = 0,
     .target = 0.13,
     .maximum_epochs = 30,
     .warmup_rate = 0.0025,
     .base_rate = 0.01,
     .reference_batch = 0,
     .warmup_epochs = 3,
     .decay_epochs = kMiniDecayEpochs,
     .decay_factors = kMiniDecayFactors},
    {.name = "full",
     .side = 128,
     .channels = kFullChannels,
     .train_samples = 524288,
     .eval_samples = 65536,
     .batch = 64,
     .dropout = 0.5,
     .target = 0.124,
     .maximum_epochs = 100,
     .warmup_rate = 0.001,
     .base_rate = 0.001,
     .reference_batch = 64,
     .warmup_epochs = 4,
     .decay_epochs = kFullDecayEpochs,
     .decay_factors = kFullDecayFactors},
};

}  // namespace

std::span<const Profile> profiles() {
    return kProfiles;
}

core::Result<Profile> profile_named(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Profile& profile : kProfiles) {
        if (profile.name == name) return profile;
        names.push_back(profile.name);
    }
    auto meant = core::nearest(name, names);
    return core::bad_input("no profile \"{}\"", name)
        .hint(meant ? fmt::format("did you mean \"{}\"?", *meant) : "the profiles are mini and full");
}

double learning_rate(const Profile& profile, int global_batch, int epoch) {
    double peak = profile.peak_rate(global_batch);
    double first = profile.first_rate(global_batch);
    if (epoch <= profile.warmup_epochs) return first + (epoch - 1) * (peak - first) / profile.warmup_epochs;
    double factor = 1;
    for (size_t i = 0; i < profile.decay_epochs.size(); ++i)
        if (epoch > profile.decay_epochs[i]) factor = profile.decay_factors[i];
    return peak * factor;
}

int64_t parameter_count(const Profile& profile) {
    int64_t count = 0;
    int64_t side = profile.side;
    for (size_t stage = 1; stage < profile.channels.size(); ++stage) {
        count +=
            int64_t{profile.channels[stage - 1]} * profile.channels[stage] * 27 + profile.channels[stage];
        side /= 2;
    }
    int64_t width = profile.channels.back() * side * side * side;
    for (int64_t next : {kHiddenWidths[0], kHiddenWidths[1], static_cast<int>(kParameters)}) {
        count += width * next + next;
        width = next;
    }
    return count;
}

double flops_per_sample(const Profile& profile) {
    double flops = 0;
    double side = profile.side;
    for (size_t stage = 1; stage < profile.channels.size(); ++stage) {
        const double forward =
            2.0 * 27 * profile.channels[stage - 1] * profile.channels[stage] * side * side * side;
        flops += forward * (stage == 1 ? 2 : 3);
        side /= 2;
    }
    double width = profile.channels.back() * side * side * side;
    for (int next : {kHiddenWidths[0], kHiddenWidths[1], static_cast<int>(kParameters)}) {
        flops += 3 * 2 * width * next;
        width = next;
    }
    return flops;
}

std::vector<uint32_t> samples_of_place(uint64_t seed, int epoch, int place, int batch, int train_samples) {
    std::vector<uint32_t> order(train_samples / batch);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i) * batch + place;
    RandomStream random(seed, Split::kOrder, static_cast<uint32_t>(epoch), static_cast<uint32_t>(place));
    for (size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.next_below(static_cast<uint32_t>(left))]);
    return order;
}

}  // namespace belay::bench::cosmoflow
