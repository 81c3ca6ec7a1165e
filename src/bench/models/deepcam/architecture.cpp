#include "bench/models/deepcam/architecture.h"

#include <cmath>
#include <numeric>

namespace belay::bench::deepcam {

namespace {

class ShapeOperations {
  public:
    using Value = Shape;

    explicit ShapeOperations(Survey& found) : found_(found) {}

    int channels_of(const Shape& shape) const { return shape.channels; }

    Shape convolve(const Shape& in, const Convolution& convolution) {
        const int in_group = convolution.is_depthwise ? 1 : in.channels;
        const int64_t kernel = convolution.kernel;
        // Fan-in as PyTorch has it, by the second dimension of the weights also where they are transposed.
        const int64_t second = convolution.is_transposed ? convolution.out : in_group;
        const auto fan_in = static_cast<double>(second * kernel * kernel);
        const int64_t first = convolution.is_transposed ? in.channels : convolution.out;
        const bool is_normal = convolution.start == Start::kHeNormal;
        const double limit = 1 / std::sqrt(fan_in);
        found_.parameters.push_back({.sizes = {first, second, kernel, kernel},
                                     .kind = is_normal ? Parameter::Kind::kNormal : Parameter::Kind::kUniform,
                                     .spread = is_normal ? std::sqrt(2 / fan_in) : limit});
        if (convolution.has_bias)
            found_.parameters.push_back(
                {.sizes = {convolution.out}, .kind = Parameter::Kind::kUniform, .spread = limit});
        // Both keep the sides, but for the stride: padding is dilation * (kernel - 1) / 2.
        const int stride = convolution.stride;
        const Shape out =
            convolution.is_transposed
                ? Shape{convolution.out, in.height * stride, in.width * stride}
                : Shape{convolution.out, (in.height - 1) / stride + 1, (in.width - 1) / stride + 1};
        const auto products = static_cast<double>(out.channels * kernel * kernel) *
                              static_cast<double>(convolution.is_transposed ? in.channels * in.cells()
                                                                            : in_group * out.cells());
        if (found_.shapes.empty()) found_.first_layer_flops = 2 * products;
        found_.forward_flops += 2 * products;
        found_.shapes.push_back(out);
        return out;
    }

    Shape normalize(const Shape& in, bool /*is_rectified*/) {
        found_.norms.push_back(in.channels);
        add_affine({in.channels});
        return in;
    }
    Shape scale(const Shape& in) {
        add_affine({in.channels, 1, 1});
        return in;
    }
    Shape add(const Shape& a, const Shape& /*b*/, bool /*is_rectified*/) { return a; }
    Shape average(const Shape& in) { return {in.channels, 1, 1}; }
    Shape spread(const Shape& in, const Shape& like) { return {in.channels, like.height, like.width}; }
    Shape concatenate(const std::vector<Shape>& all) {
        Shape out = all.front();
        out.channels = std::accumulate(all.begin(), all.end(), 0,
                                       [](int sum, const Shape& shape) { return sum + shape.channels; });
        return out;
    }

  private:
    void add_affine(const std::vector<int64_t>& sizes) {
        found_.parameters.push_back({.sizes = sizes, .kind = Parameter::Kind::kConstant, .spread = 1});
        found_.parameters.push_back({.sizes = sizes, .kind = Parameter::Kind::kConstant, .spread = 0});
    }

    Survey& found_;
};

}  // namespace

int64_t Parameter::count() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

Survey survey(const Architecture& architecture, const Shape& input) {
    Survey found;
    ShapeOperations operations(found);
    found.output = Deeplab<ShapeOperations>(architecture, operations).logits(input);
    return found;
}

}  // namespace belay::bench::deepcam
