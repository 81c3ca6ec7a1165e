// The shapes that an image has on its way through the network, and the parameters that this takes.
#pragma once

#include "bench/models/deepcam/deeplab.h"

#include <array>
#include <cstdint>
#include <vector>

namespace belay::bench::deepcam {

struct Shape {
    int channels = 0, height = 0, width = 0;
    int64_t cells() const { return int64_t{height} * width; }
    bool operator==(const Shape&) const = default;
};

// One tensor of parameters, and how it starts: a constant, or drawn with `spread`.
struct Parameter {
    enum class Kind { kNormal, kUniform, kConstant };
    std::vector<int64_t> sizes;  // weights: [out][in][y][x]; of a deconvolution [in][out][y][x]
    Kind kind = Kind::kConstant;
    double spread = 0;  // the standard deviation, or the limit; of a constant its value
    int64_t count() const;
};

struct Survey {
    std::vector<Parameter> parameters;  // in the order in which the network meets them
    std::vector<int> norms;             // channels of each norm, likewise
    std::vector<Shape> shapes;          // of the value behind each convolution
    Shape output;
    double forward_flops = 0;  // multiplications and additions of convolutions
    double first_layer_flops = 0;
};

// Walks the network with an image of this shape, whose sides are multiples of its output stride.
Survey survey(const Architecture& architecture, const Shape& input);

}  // namespace belay::bench::deepcam
