#include "bench/models/oc20/profile.h"
#include "bench/synthetic/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace belay::bench::oc20 {

namespace {

// Takes out of `row` what it has of the rows before, and makes it one long.
void make_orthogonal(std::span<double> row, std::span<const double> before) {
    for (int pass = 0; pass < 2; ++pass)  // a second time for what rounding left
        for (size_t start = 0; start < before.size(); start += row.size()) {
            const auto other = before.subspan(start, row.size());
            const double share = std::inner_product(row.begin(), row.end(), other.begin(), 0.0);
            for (size_t i = 0; i < row.size(); ++i) row[i] -= share * other[i];
        }
    const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    for (double& value : row) value /= length;
}

// Saxe, McClelland, Ganguli, 2014: rows (or columns, where there are more rows) are orthogonal; then all of it
// is scaled to Glorot's variance, times `scale`.
std::vector<float> orthogonal_weights(const Layer& layer, double scale, RandomStream& random) {
    const auto out = static_cast<size_t>(layer.out), in = static_cast<size_t>(layer.in);
    const size_t rows = std::min(out, in), columns = std::max(out, in);
    std::vector<double> matrix(rows * columns);
    for (size_t i = 0; i < matrix.size(); i += 2) {
        const auto [first, second] = random.next_gaussians();
        matrix[i] = first;
        if (i + 1 < matrix.size()) matrix[i + 1] = second;
    }
    for (size_t row = 0; row < rows; ++row)
        make_orthogonal(std::span(matrix).subspan(row * columns, columns),
                        std::span(matrix).first(row * columns));

    const auto count = static_cast<double>(matrix.size());
    const double mean = std::accumulate(matrix.begin(), matrix.end(), 0.0) / count;
    double variance = 0;
    for (double value : matrix) variance += (value - mean) * (value - mean) / std::max(count - 1, 1.0);
    const double factor = std::sqrt(scale / (static_cast<double>(in + out) * variance));
    std::vector<float> weights(matrix.size());
    for (size_t row = 0; row < out; ++row)
        for (size_t column = 0; column < in; ++column) {
            const double value = out <= in ? matrix[row * columns + column] : matrix[column * columns + row];
            weights[row * in + column] = static_cast<float>(factor * value);
        }
    return weights;
}

std::vector<float> even_values(size_t count, double limit, RandomStream& random) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(limit * (2 * random.next_uniform() - 1));
    return values;
}

std::vector<float> starting_weights(const Layer& layer, RandomStream& random) {
    const size_t count = static_cast<size_t>(layer.out) * static_cast<size_t>(layer.in);
    switch (layer.start) {
        case Start::kFrequencies: {
            std::vector<float> frequencies(count);
            for (size_t n = 0; n < count; ++n)
                frequencies[n] = static_cast<float>(static_cast<double>(n + 1) * std::numbers::pi);
            return frequencies;
        }
        case Start::kEmbedding:
            return even_values(count, std::numbers::sqrt3, random);
        case Start::kUniform:
            return even_values(count, 1 / std::sqrt(layer.in), random);
        case Start::kOrthogonal:
        case Start::kOrthogonalAndBiases:
            return orthogonal_weights(layer, 2, random);
        case Start::kZero:
            break;
    }
    return std::vector<float>(count);
}

}  // namespace

std::vector<float> starting_parameters(const Size& size, uint64_t seed) {
    std::vector<float> parameters;
    uint32_t number = 0;
    for (const Layer& layer : layers(size)) {
        RandomStream random(seed, Split::kWeights, number++, 0);
        const std::vector<float> weights = starting_weights(layer, random);
        parameters.insert(parameters.end(), weights.begin(), weights.end());
        if (!layer.has_bias) continue;
        const bool is_drawn = layer.start == Start::kUniform || layer.start == Start::kOrthogonalAndBiases;
        const std::vector<float> biases =
            even_values(static_cast<size_t>(layer.out), is_drawn ? 1 / std::sqrt(layer.in) : 0, random);
        parameters.insert(parameters.end(), biases.begin(), biases.end());
    }
    return parameters;
}

}  // namespace belay::bench::oc20
