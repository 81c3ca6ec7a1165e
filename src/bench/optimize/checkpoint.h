// The state of a training run as a file, from which it goes on as if it had never ended.
//
//   magic    8 bytes      BLYCKPT1
//   facts    u32 length, JSON: what the run is (`run`), and where in it this is
//   values   for each of the arrays: u64 count, count float32
//   digest   32 bytes     SHA-256 of all before
//
// Numbers are little-endian.
#pragma once

#include "core/error.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::bench {

struct Checkpoint {
    std::string
        run;  // what must be the same when it is resumed: model, sizes, seeds, optimizer; a JSON object
    int64_t step = 0;           // steps done
    int64_t epoch = 1;          // from 1, in which the next step is
    int64_t step_of_epoch = 0;  // steps done in it
    int64_t optimizer_steps = 0;
    std::vector<float> parameters, optimizer_state, buffers;
};

std::string encode_checkpoint(const Checkpoint& checkpoint);

// Errors: kBadInput, for bytes that are not a checkpoint, or a damaged one.
core::Result<Checkpoint> decode_checkpoint(std::string_view bytes);

// The file appears whole or not at all, also when the machine goes down. Errors: kSystem.
core::Result<> write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// Errors: kSystem, kNotFound if there is none; kBadInput for a damaged one.
core::Result<Checkpoint> read_checkpoint(const std::filesystem::path& path);

}  // namespace belay::bench
