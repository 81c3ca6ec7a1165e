#include "bench/train/run_state.h"

#include "bench/optimize/checkpoint.h"
#include "core/json.h"

#include <algorithm>
#include <array>

namespace belay::bench {

using core::bad_input;
using core::Result;
using progress::Json;

namespace {

constexpr uint64_t kMostRanks = uint64_t{1} << 20;

// What decides how a run goes on: it must be the same.
Json facts_of(const Model& model, const RunOptions& options) {
    const Profile& profile = options.profile;
    const RateSchedule& rate = profile.rate;
    Json facts = {{"model", model.name()},
                  {"profile", profile.name},
                  {"seed", options.seed},
                  {"data seed", options.data.seed},
                  {"batch", profile.batch},
                  {"train samples", profile.train_samples},
                  {"optimizer", name_of(profile.optimizer.method)},
                  {"weight decay", profile.optimizer.weight_decay},
                  {"learning rate", rate.peak(profile.batch)},
                  {"warm-up epochs", rate.warmup_epochs},
                  {"warm-up steps", rate.warmup_steps}};
    if (rate.course == Course::kCosine || !rate.decay_shares.empty())
        facts["epochs"] = profile.maximum_epochs;
    return facts;
}

Result<> check_same_run(const Json& wanted, const Json& found) {
    for (const auto& [name, value] : wanted.items())
        if (const auto member = found.find(name); member == found.end() || *member != value)
            return bad_input("it is of another run: {} is {} there, and {} here", name,
                             member == found.end() ? "not said" : member->dump(), value.dump());
    return {};
}

Result<> fill(std::span<float> place, const std::vector<float>& values, std::string_view what) {
    if (values.size() != place.size())
        return bad_input("it has {} values of {}, and this network has {}", values.size(), what,
                         place.size());
    std::ranges::copy(values, place.begin());
    return {};
}

// The buffers of all ranks, one after the other.
Result<std::vector<float>> all_buffers(Network& network, Group& group) {
    const std::span<float> mine = network.buffers();
    std::vector<float> all(mine.size() * static_cast<size_t>(group.size()));
    if (!all.empty()) BELAY_CHECK(group.gather(mine, all));
    return all;
}

// A rank that was not there when they were saved takes those of another.
Result<> share_buffers(std::vector<float> all, Network& network, Group& group) {
    const std::span<float> mine = network.buffers();
    if (mine.empty()) return {};
    BELAY_TRY(sizes, group.gather(uint64_t{all.size()}));
    const uint64_t saved_values = sizes[0];
    if (saved_values < mine.size()) return {};
    if (saved_values % mine.size() != 0 || saved_values / mine.size() > kMostRanks)
        return bad_input("{} values of buffers are not those of some ranks of this network", saved_values);
    all.resize(saved_values);
    BELAY_CHECK(group.broadcast(all));
    const size_t saved = all.size() / mine.size();
    const size_t taken = static_cast<size_t>(group.rank()) % saved;
    std::ranges::copy(std::span(all).subspan(taken * mine.size(), mine.size()), mine.begin());
    return {};
}

// On rank 0. Nothing where there is no checkpoint.
Result<std::optional<Checkpoint>> load(const Model& model, const RunOptions& options, Network& network) {
    auto checkpoint = read_checkpoint(options.checkpoint);
    if (!checkpoint && checkpoint.error().cause() == core::Cause::kNotFound) return std::nullopt;
    if (!checkpoint) return std::unexpected(std::move(checkpoint.error()));
    auto taken = [&]() -> Result<> {
        BELAY_CHECK(check_same_run(facts_of(model, options), core::parse_ordered_json(checkpoint->run)));
        BELAY_CHECK(fill(network.parameters(), checkpoint->parameters, "parameters"));
        return fill(network.optimizer().state(), checkpoint->optimizer_state, "the optimizer");
    };
    BELAY_CHECK(core::with_context(taken(), options.checkpoint.string()));
    return std::move(*checkpoint);
}

}  // namespace

Result<> save_run(const Model& model, const RunOptions& options, Network& network, Group& group,
                  const RunPlace& place) {
    BELAY_TRY(buffers, all_buffers(network, group));
    if (group.rank() != 0) return {};
    const std::span<float> parameters = network.parameters(), state = network.optimizer().state();
    return write_checkpoint(options.checkpoint, {.run = facts_of(model, options).dump(),
                                                 .step = place.step,
                                                 .epoch = place.epoch,
                                                 .step_of_epoch = place.step_of_epoch,
                                                 .optimizer_steps = network.optimizer().steps(),
                                                 .parameters = {parameters.begin(), parameters.end()},
                                                 .optimizer_state = {state.begin(), state.end()},
                                                 .buffers = std::move(buffers)});
}

Result<RunPlace> resume_run(const Model& model, const RunOptions& options, Network& network, Group& group) {
    Checkpoint found;
    if (group.rank() == 0) {
        BELAY_TRY(loaded, load(model, options, network));
        if (loaded) found = std::move(*loaded);
    }
    std::array<int64_t, 4> numbers = {found.step, found.epoch, found.step_of_epoch, found.optimizer_steps};
    for (int64_t& number : numbers) {
        BELAY_TRY(of_ranks, group.gather(static_cast<uint64_t>(number)));
        number = static_cast<int64_t>(of_ranks[0]);
    }
    BELAY_CHECK(group.broadcast(network.optimizer().state()));
    network.optimizer().set_steps(numbers[3]);
    BELAY_CHECK(share_buffers(std::move(found.buffers), network, group));
    if (numbers[2] > options.profile.steps_per_epoch())
        return bad_input("{}: an epoch has {} steps, and {} of one are done there",
                         options.checkpoint.string(), options.profile.steps_per_epoch(), numbers[2]);
    return RunPlace{.step = numbers[0], .epoch = static_cast<int>(numbers[1]), .step_of_epoch = numbers[2]};
}

}  // namespace belay::bench
