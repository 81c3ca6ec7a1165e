// Tensors within a pickle.
#pragma once

#include "bench/models/oc20/files/pickle.h"
#include "core/error.h"

#include <cstdint>
#include <vector>

namespace belay::bench::oc20 {

struct PickledTensor {
    std::vector<int64_t> shape;
    std::vector<double> values;  // row by row
};

// The tensor that a value of the pickle is: torch._utils._rebuild_tensor_v2 of a storage, an offset, a shape and
// strides, where the storage is torch.storage._load_from_bytes of bytes that torch.save wrote without zip (see
// torch/serialization.py, _legacy_save: magic number, protocol, system, the storage's description, its keys, and
// then its length and its values). At most `maximum` values. Errors: kBadInput.
core::Result<PickledTensor> tensor_from_pickle(const Pickle& pickle, Pickle::Number value, size_t maximum);

}  // namespace belay::bench::oc20
