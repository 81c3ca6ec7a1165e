#include "bench/models/cosmoflow/training/split_volume.h"

#include <span>
#include <stdexcept>
#include <vector>

#include <torch/csrc/autograd/custom_function.h>

namespace belay::bench::cosmoflow {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr int64_t kDepth = 2;  // the dimension that is split

void must(const core::Result<>& done) {
    if (!done) throw std::runtime_error(done.error().message());
}

std::span<float> floats_of_tensor(const at::Tensor& tensor) {
    return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

// Sends `sent` to the neighbour at `offset` and returns what it sends; zeros beyond the ends.
at::Tensor exchanged(const at::Tensor& sent, Group& part, int offset) {
    const int peer = part.rank() + offset;
    if (peer < 0 || peer >= part.size()) return at::zeros_like(sent);
    const at::Tensor out = sent.contiguous();
    at::Tensor in = at::empty_like(out);
    must(part.exchange(floats_of_tensor(out), floats_of_tensor(in), peer));
    return in;
}

Group& group_in(AutogradContext* context) {
    return *reinterpret_cast<Group*>(context->saved_data["part"].toInt());
}

class Halo : public torch::autograd::Function<Halo> {
  public:
    static at::Tensor forward(AutogradContext* context, const at::Tensor& slab, int64_t part) {
        context->saved_data["part"] = part;
        Group& group = group_in(context);
        const int64_t last = slab.size(kDepth) - 1;
        // The upper neighbours first on every rank: the last one has none, and so the chain resolves.
        const at::Tensor above = exchanged(slab.narrow(kDepth, last, 1), group, 1);
        const at::Tensor below = exchanged(slab.narrow(kDepth, 0, 1), group, -1);
        return at::cat({below, slab, above}, kDepth);
    }

    static tensor_list backward(AutogradContext* context, tensor_list gradients) {
        Group& group = group_in(context);
        const at::Tensor& padded = gradients[0];
        const int64_t depth = padded.size(kDepth) - 2;
        at::Tensor gradient = padded.narrow(kDepth, 1, depth).clone();
        const at::Tensor above = exchanged(padded.narrow(kDepth, depth + 1, 1), group, 1);
        const at::Tensor below = exchanged(padded.narrow(kDepth, 0, 1), group, -1);
        gradient.narrow(kDepth, depth - 1, 1).add_(above);
        gradient.narrow(kDepth, 0, 1).add_(below);
        return {gradient, at::Tensor()};
    }
};

class Gather : public torch::autograd::Function<Gather> {
  public:
    static at::Tensor forward(AutogradContext* context, const at::Tensor& slab, int64_t part) {
        context->saved_data["part"] = part;
        Group& group = group_in(context);
        const at::Tensor mine = slab.contiguous();
        std::vector<int64_t> shape = {group.size()};
        shape.insert(shape.end(), mine.sizes().begin(), mine.sizes().end());
        const at::Tensor all = at::empty(shape, mine.options());
        must(group.gather(floats_of_tensor(mine), floats_of_tensor(all)));
        return at::cat(all.unbind(0), kDepth);
    }

    static tensor_list backward(AutogradContext* context, tensor_list gradients) {
        Group& group = group_in(context);
        const int64_t depth = gradients[0].size(kDepth) / group.size();
        return {gradients[0].narrow(kDepth, group.rank() * depth, depth).mul(group.size()), at::Tensor()};
    }
};

}  // namespace

at::Tensor with_halo(const at::Tensor& slab, Group& part) {
    return Halo::apply(slab, reinterpret_cast<int64_t>(&part));
}

at::Tensor gathered(const at::Tensor& slab, Group& part) {
    return Gather::apply(slab, reinterpret_cast<int64_t>(&part));
}

}  // namespace belay::bench::cosmoflow
