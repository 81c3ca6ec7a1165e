#include "bench/schedule/share.h"

#include "bench/synthetic/random.h"

#include <utility>

#include <fmt/format.h>

namespace belay::bench {

Share share_of(const Profile& profile, int rank, int size) {
    Share share{.first_place = rank * (profile.batch / size),
                .places = profile.batch / size,
                .train = {},
                .eval = {}};
    for (int index = 0; index < profile.train_samples / profile.batch * profile.batch; ++index)
        if (int place = index % profile.batch;
            place >= share.first_place && place < share.first_place + share.places)
            share.train.push_back(static_cast<uint32_t>(index));
    for (int index = rank; index < profile.eval_samples; index += size)
        share.eval.push_back(static_cast<uint32_t>(index));
    return share;
}

std::vector<uint32_t> samples_of_place(uint64_t seed, int epoch, int place, int batch, int train_samples) {
    std::vector<uint32_t> order(train_samples / batch);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i) * batch + place;
    RandomStream random(seed, Split::kOrder, static_cast<uint32_t>(epoch), static_cast<uint32_t>(place));
    for (size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.next_below(static_cast<uint32_t>(left))]);
    return order;
}

std::string sample_name(Split split, uint32_t index, std::string_view extension) {
    return fmt::format("{}/{:06d}.{}", split == Split::kTrain ? "train" : "eval", index, extension);
}

}  // namespace belay::bench
