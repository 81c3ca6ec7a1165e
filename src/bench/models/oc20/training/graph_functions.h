// Functions on rows of tensors that libtorch differentiates twice. For dimenet.h only.
#pragma once

#include "bench/models/oc20/rows.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <cstdint>
#include <span>

#include <torch/csrc/autograd/custom_function.h>

namespace belay::bench::oc20 {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;

inline std::span<const int64_t> numbers_in(const Tensor& tensor) {
    return {tensor.data_ptr<int64_t>(), static_cast<size_t>(tensor.numel())};
}

// out[i] = x[rows[i]], and the other way round: each is the other's gradient, so both can be derived as often as
// wanted. libtorch's own index_add takes half a microsecond a row.
struct TakeRows : Function<TakeRows> {
    static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& rows);
    static tensor_list backward(AutogradContext* context, tensor_list gradients);
};
struct AddRows : Function<AddRows> {
    static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& rows, int64_t size);
    static tensor_list backward(AutogradContext* context, tensor_list gradients);
};

inline Tensor TakeRows::forward(AutogradContext* context, const Tensor& x, const Tensor& rows) {
    context->save_for_backward({rows});
    context->saved_data["size"] = x.size(0);
    const Tensor in = x.contiguous();
    Tensor out = at::empty({rows.numel(), x.size(1)}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "take_rows", [&] {
        take_rows(in.data_ptr<scalar_t>(), numbers_in(rows), static_cast<size_t>(x.size(1)),
                  out.data_ptr<scalar_t>());
    });
    return out;
}

inline tensor_list TakeRows::backward(AutogradContext* context, tensor_list gradients) {
    const Tensor rows = context->get_saved_variables()[0];
    return {AddRows::apply(gradients[0], rows, context->saved_data["size"].toInt()), Tensor()};
}

inline Tensor AddRows::forward(AutogradContext* context, const Tensor& x, const Tensor& rows, int64_t size) {
    context->save_for_backward({rows});
    const Tensor in = x.contiguous();
    Tensor out = at::zeros({size, x.size(1)}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_rows", [&] {
        add_rows(in.data_ptr<scalar_t>(), numbers_in(rows), static_cast<size_t>(x.size(1)),
                 out.data_ptr<scalar_t>());
    });
    return out;
}

inline tensor_list AddRows::backward(AutogradContext* context, tensor_list gradients) {
    return {TakeRows::apply(gradients[0], context->get_saved_variables()[0]), Tensor(), Tensor()};
}

// g times the derivative of x / (1 + exp(-x)); differentiable by both, which libtorch's is only in seven steps.
struct SwishSlope : Function<SwishSlope> {
    static Tensor forward(AutogradContext* context, const Tensor& gradient, const Tensor& x) {
        context->save_for_backward({gradient, x});
        return at::silu_backward(gradient, x);
    }
    static tensor_list backward(AutogradContext* context, tensor_list gradients) {
        const auto saved = context->get_saved_variables();
        const Tensor &gradient = saved[0], &x = saved[1];
        const Tensor incoming = gradients[0].contiguous(), old = gradient.contiguous(), in = x.contiguous();
        const Tensor sigmoid = at::sigmoid(in);
        Tensor by_x = at::empty_like(in);
        AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "swish_curvature", [&] {
            const scalar_t *s = sigmoid.data_ptr<scalar_t>(), *v = in.data_ptr<scalar_t>();
            const scalar_t *a = incoming.data_ptr<scalar_t>(), *b = old.data_ptr<scalar_t>();
            scalar_t* out = by_x.data_ptr<scalar_t>();
            for (int64_t i = 0, count = in.numel(); i < count; ++i)
                out[i] = a[i] * b[i] * s[i] * (1 - s[i]) * (2 + v[i] * (1 - 2 * s[i]));
        });
        return {at::silu_backward(incoming, in), by_x};
    }
};

struct Swish : Function<Swish> {
    static Tensor forward(AutogradContext* context, const Tensor& x) {
        context->save_for_backward({x});
        return at::silu(x);
    }
    static tensor_list backward(AutogradContext* context, tensor_list gradients) {
        return {SwishSlope::apply(gradients[0], context->get_saved_variables()[0])};
    }
};

inline Tensor swish(const Tensor& x) {
    return Swish::apply(x);
}

}  // namespace belay::bench::oc20
