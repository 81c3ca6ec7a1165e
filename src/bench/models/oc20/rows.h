// Rows of a matrix by number: an atom's by each of its edges, and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace belay::bench::oc20 {

// out[i] = in[rows[i]], for rows of `width` values.
template <typename Real>
void take_rows(const Real* in, std::span<const int64_t> rows, size_t width, Real* out) {
    for (int64_t row : rows) {
        std::copy_n(in + static_cast<size_t>(row) * width, width, out);
        out += width;
    }
}

// out[rows[i]] += in[i], one after the other: the sums do not depend on the number of threads.
template <typename Real>
void add_rows(const Real* in, std::span<const int64_t> rows, size_t width, Real* out) {
    for (int64_t row : rows) {
        Real* sum = out + static_cast<size_t>(row) * width;
        for (size_t i = 0; i < width; ++i) sum[i] += in[i];
        in += width;
    }
}

}  // namespace belay::bench::oc20
