#include "bench/models/oc20/training/network.h"

#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/training/dimenet.h"
#include "bench/train/torch_network.h"

namespace belay::bench::oc20 {

namespace {

class Oc20 : public TorchNetwork {
  public:
    Oc20(const Size& size, uint64_t seed)
        : size_(size),
          basis_(size.cutoff, size.spherical, size.radial),
          table_(basis_, size.cutoff),
          layers_(size, DimeNet::parameters_from(size, starting_values(size, seed))) {
        keep(layers_.parameters());
    }

  protected:
    Tensor forward(const Batch& batch, bool training) override {
        Graph graph;
        for_each_structure(batch.inputs, [&](std::span<const float> structure, size_t) {
            add_to(graph, structure_from(structure), size_.cutoff, size_.maximum_neighbors);
        });
        Geometry geometry = GeometryMaker<float>(basis_, table_).make(graph);
        return layers_.evaluate(geometry, training).forces * size_.force_sigma;
    }

    Tensor loss(const Tensor& predictions, const Batch& batch) override {
        return weighted_loss((predictions - view_of(batch.targets, predictions.sizes())) / size_.force_sigma,
                             force_weights(batch.inputs, batch.samples));
    }

  private:
    static Tensor starting_values(const Size& size, uint64_t seed) {
        const std::vector<float> values = starting_parameters(size, seed);
        return view_of(values, {static_cast<int64_t>(values.size())}).clone();
    }

    Size size_;
    SphericalBasis basis_;
    RadialTable table_;
    DimeNet layers_;
};

}  // namespace

std::unique_ptr<Network> make_network(const Size& size, uint64_t seed) {
    return std::make_unique<Oc20>(size, seed);
}

}  // namespace belay::bench::oc20
