// What must hold of an HDF5 file before libhdf5 (1.10.8) may look at it: a local heap whose list of free blocks goes in a circle has
// it allocate until the machine has no memory left.
#pragma once

#include "core/error.h"

#include <string_view>

namespace belay::bench::deepcam {

// Follows the free list of everything that begins as a local heap does (HDF5 File Format Specification 3.0, III.D). Pure.
// Errors: kBadInput where one does not end, or where the file states sizes that no writer of today uses.
core::Result<> check_local_heaps(std::string_view file);

}  // namespace belay::bench::deepcam
