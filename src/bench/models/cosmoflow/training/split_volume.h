// A volume [samples][channels][z][y][x] of which each of some ranks has a slab of z: what it needs of the others, as
// functions that libtorch differentiates. All ranks of the group call them together, in the forward pass and in
// the backward pass. An exchange that fails is thrown.
#pragma once

#include "bench/train/group.h"

#include <ATen/core/Tensor.h>

namespace belay::bench::cosmoflow {

// One more plane at either end: the neighbour's outermost, or zeros at an end of the volume. Backwards the
// gradients of those planes go to the ranks that they came from.
at::Tensor with_halo(const at::Tensor& slab, Group& part);

// The whole volume, on each rank. Backwards a rank's slab takes the sum of what all ranks found for it, which is
// the same on each, since from here on each computes the same.
at::Tensor gathered(const at::Tensor& slab, Group& part);

}  // namespace belay::bench::cosmoflow
