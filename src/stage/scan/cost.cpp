#include "stage/scan/cost.h"

#include "core/text.h"
#include "core/units.h"
#include "stage/space/reserve.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace belay::stage {

namespace {

// One epoch over `count` files.
double epoch(const CostInput& input, double count) {
    const double bytes = static_cast<double>(input.bytes);
    return count * input.open_seconds / std::max(input.workers, 1.0) +
           (bytes > 0 ? bytes / input.read_bytes_per_second : 0);
}

double shards(const CostInput& input) {
    if (input.files == 0) return 0;
    return std::ceil(std::max(static_cast<double>(input.bytes), 1.0) /
                     static_cast<double>(std::max<uint64_t>(input.shard_bytes, 1)));
}

bool fits(const CostInput& input) {
    return !input.local_free_bytes || static_cast<double>(input.bytes) <=
                                          (1 - kReservedShare) * static_cast<double>(*input.local_free_bytes);
}

std::string seconds(double value) {
    return value < 10 ? fmt::format("{:.2f} s", value) : fmt::format("{:.0f} s", value);
}
std::string percent(double share) {
    return fmt::format("{:.0f} %", 100 * share);
}

// From how many epochs on packing saves enough to be advised.
std::string worthwhile(const Cost& cost, double gain) {
    const double enough = kWorthwhileShare * cost.loose_epoch_seconds;
    if (gain <= enough) return fmt::format("but never save more than {}", percent(kWorthwhileShare));
    return fmt::format("and save more than {} from {:.1f} on", percent(kWorthwhileShare),
                       cost.pack_seconds / (gain - enough));
}

}  // namespace

std::string_view to_text(Verdict verdict) {
    constexpr std::array<std::string_view, 3> kNames = {"leave", "pack", "copy"};
    return kNames[static_cast<size_t>(verdict)];
}

Cost predict(const CostInput& input) {
    Cost cost;
    const double bytes = static_cast<double>(input.bytes);
    cost.loose_epoch_seconds = epoch(input, static_cast<double>(input.files));
    cost.packed_epoch_seconds = epoch(input, shards(input));
    cost.pack_seconds =
        cost.loose_epoch_seconds +
        (bytes > 0 ? bytes / input.write_bytes_per_second.value_or(input.read_bytes_per_second) : 0);
    const double gain = cost.loose_epoch_seconds - cost.packed_epoch_seconds;
    if (gain > 0) cost.break_even_epochs = cost.pack_seconds / gain;
    const double loose = input.epochs * cost.loose_epoch_seconds;
    const double packed = cost.pack_seconds + input.epochs * cost.packed_epoch_seconds;
    std::optional<double> local;
    if (input.local_bytes_per_second) {
        cost.copy_seconds = cost.loose_epoch_seconds;
        cost.local_epoch_seconds = bytes / *input.local_bytes_per_second;
        local = *cost.copy_seconds + input.epochs * *cost.local_epoch_seconds;
    }
    auto saves = [&](double other) { return loose - other > kWorthwhileShare * loose; };
    const bool crowds = input.inode_quota && static_cast<double>(input.files) >
                                                 kInodeShare * static_cast<double>(*input.inode_quota);
    if (saves(packed) || crowds) cost.verdict = Verdict::kPack;
    if (local && fits(input) && saves(*local) &&
        (cost.verdict == Verdict::kLeave || (*local < packed && !crowds)))
        cost.verdict = Verdict::kCopy;

    auto say = [&](std::string text) { cost.reasons.push_back(std::move(text)); };
    if (crowds)
        say(fmt::format("{} {} of the {} that the quota allows",
                        core::format_count(input.files, "file is", "files are"),
                        percent(static_cast<double>(input.files) / static_cast<double>(*input.inode_quota)),
                        *input.inode_quota));
    if (saves(packed))
        say(
            fmt::format("packing saves {} of what {:g} epochs take: {} instead of {}, packing included; it "
                        "pays from {:.1f} epochs on",
                        percent(1 - packed / loose), input.epochs, seconds(packed), seconds(loose),
                        *cost.break_even_epochs));
    else if (gain > 0)
        say(fmt::format(
            "packing would take {} and save {} in each epoch: it would pay from {:.1f} epochs on, {}",
            seconds(cost.pack_seconds), seconds(gain), *cost.break_even_epochs, worthwhile(cost, gain)));
    else
        say("opening the files costs nothing that packing could save");
    if (local && !fits(input))
        say(
            fmt::format("the data do not fit where they would be copied to: {} are free there, of which a "
                        "tenth stays free",
                        core::format_binary(core::ByteSize{*input.local_free_bytes})));
    else if (local)
        say(fmt::format("copied to the nodes first, {:g} epochs take {} instead of {}", input.epochs,
                        seconds(*local), seconds(loose)));
    return cost;
}

}  // namespace belay::stage
