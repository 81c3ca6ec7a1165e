// Which samples a rank trains on and is judged on, and in which order. The batches are the same for any
// number of ranks.
#pragma once

#include "bench/schedule/profile.h"
#include "bench/synthetic/random.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

// What one of `size` ranks holds: its places in the global batch with their samples, and every size-th
// held-out sample.
struct Share {
    int first_place = 0;
    int places = 0;
    std::vector<uint32_t> train, eval;
};

// `profile.batch` is a multiple of `size`.
Share share_of(const Profile& profile, int rank, int size);

// The training samples of one place in the global batch, in the order in which an epoch uses them. Place p
// always draws from the samples i with i % batch == p, shuffled anew each epoch: so whichever rank holds the
// place needs only these samples. Samples that do not fill a batch are left out.
std::vector<uint32_t> samples_of_place(uint64_t seed, int epoch, int place, int batch, int train_samples);

// "train/000017.EXTENSION": where a sample lies in a directory of samples.
std::string sample_name(Split split, uint32_t index, std::string_view extension);

}  // namespace belay::bench
