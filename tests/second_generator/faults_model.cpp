// Causes in the training itself: what its loss shows.
#include "faults.h"

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

Drawn not_a_number(const Job& job, Random& random, Band) {
    const double at = midway(job, random);
    return {.effect = [=](Job& changed) { changed.loss.nan_from = at; },
            .onset = at,
            .unit = "% of the run",
            .strength = 100 * (1 - at / job.shape.seconds),
            .band = Band::kClear,
            .truth = "The loss is not a number from then on, and the job runs on.",
            .follows = "nothing else"};
}

Drawn divergence(const Job& job, Random& random, Band band) {
    const double at = midway(job, random);
    const double times =
        by_band(band, random.uniform(1.02, 1.08), random.uniform(1.3, 1.8), random.by_decade(4, 400));
    return {.effect =
                [=](Job& changed) {
                    changed.loss.grows_from = at;
                    changed.loss.growth = std::log(times) / (changed.shape.seconds - at);
                },
            .onset = at,
            .unit = "times the loss at its onset",
            .strength = times,
            .band = band,
            .truth = fmt::format("The loss grows to {:.2g} times of what it was.", times),
            .follows = "the norm of the gradient grows"};
}

Drawn plateau(const Job& job, Random& random, Band band) {
    const bool never = band == Band::kClear;
    const double from = band == Band::kWeak ? random.uniform(0.2, 0.4) * job.shape.seconds
                                            : random.uniform(0.8, 0.9) * job.shape.seconds;
    return {.effect =
                [=](Job& changed) {
                    changed.loss.never_learns = never;
                    changed.loss.learns_until = never ? 0 : from;
                },
            .onset = never ? 0 : from,
            .unit = "% of the run",
            .strength = 100 * (1 - (never ? 0 : from / job.shape.seconds)),
            .band = band,
            .truth = never ? "The loss does not fall at all." : "The loss stops falling.",
            .follows = "nothing else"};
}

constexpr Cause kCauses[] = {
    {"loss_not_a_number", "The loss becomes NaN and stays so.", {.report = true}, not_a_number},
    {"loss_grows", "The training diverges: its loss grows.", {.report = true, .seconds = 240}, divergence},
    {"loss_flat", "The training learns nothing (more).", {.report = true, .seconds = 300}, plateau},
};

}  // namespace

std::span<const Cause> model_causes() {
    return kCauses;
}

}  // namespace belay::second_generator
