#include "bench/models/oc20/files/structure_pickle.h"

#include "bench/models/oc20/files/pickle.h"
#include "bench/models/oc20/files/tensor_pickle.h"

#include <cmath>
#include <cstring>

namespace belay::bench::oc20 {

using core::bad_input;
using core::Result;

namespace {

// Of a tensor: three for each atom.
constexpr size_t kMaximumValues = 3 * kMaximumAtoms;

// The dictionary of what a Data has: its state in version 1 of torch_geometric, the mapping of its store in 2.
Result<Pickle::Number> attributes_of(const Pickle& pickle) {
    const auto wrong = [] { return bad_input("it is not a torch_geometric.data.Data"); };
    const Pickle::Number root = pickle.root();
    if (pickle.kind(root) != Pickle::Kind::kCall || pickle.parts(root).size() != 3) return wrong();
    const Pickle::Number what = pickle.parts(root)[0];
    const bool is_data = pickle.kind(what) == Pickle::Kind::kName && pickle.text(what) == "Data" &&
                         pickle.module(what).starts_with("torch_geometric.data");
    if (!is_data) return wrong();
    const Pickle::Number state = pickle.parts(root)[2];
    const auto store = pickle.find(state, "_store");
    if (!store) return state;
    if (pickle.kind(*store) != Pickle::Kind::kCall || pickle.parts(*store).size() != 3) return wrong();
    const auto mapping = pickle.find(pickle.parts(*store)[2], "_mapping");
    return mapping ? Result<Pickle::Number>(*mapping) : wrong();
}

Result<PickledTensor> attribute(const Pickle& pickle, Pickle::Number attributes, std::string_view name) {
    const auto value = pickle.find(attributes, name);
    if (!value) return bad_input("it has no \"{}\"", name);
    return core::with_context(tensor_from_pickle(pickle, *value, kMaximumValues), name);
}

Result<std::vector<Vector>> vectors_in(const Pickle& pickle, Pickle::Number attributes,
                                       std::string_view name) {
    BELAY_TRY(tensor, attribute(pickle, attributes, name));
    if (tensor.values.size() % 3 != 0 || tensor.shape.empty() || tensor.shape.back() != 3)
        return bad_input("{}: it does not have three values in a row", name);
    std::vector<Vector> vectors;
    for (size_t i = 0; i < tensor.values.size(); i += 3)
        vectors.push_back({tensor.values[i], tensor.values[i + 1], tensor.values[i + 2]});
    return vectors;
}

Result<std::vector<uint8_t>> small_numbers_in(const Pickle& pickle, Pickle::Number attributes,
                                              std::string_view name) {
    BELAY_TRY(tensor, attribute(pickle, attributes, name));
    std::vector<uint8_t> numbers;
    for (double value : tensor.values) {
        if (!(value >= 0 && value <= 255) || value != std::floor(value))
            return bad_input("{}: {} is not a number from 0 to 255", name, value);
        numbers.push_back(static_cast<uint8_t>(value));
    }
    return numbers;
}

// A number of Python, of numpy (numpy.core.multiarray.scalar of a float64), or a tensor with one value.
Result<double> energy_in(const Pickle& pickle, Pickle::Number attributes) {
    const auto value = pickle.find(attributes, "y");
    if (!value) return bad_input("it has no \"y\"");
    switch (pickle.kind(*value)) {
        case Pickle::Kind::kReal:
            return pickle.real(*value);
        case Pickle::Kind::kInteger:
            return static_cast<double>(pickle.integer(*value));
        case Pickle::Kind::kCall: {
            const auto& call = pickle.parts(*value);
            if (pickle.kind(call[0]) == Pickle::Kind::kName && pickle.text(call[0]) == "scalar" &&
                pickle.module(call[0]).starts_with("numpy") && pickle.kind(call[1]) == Pickle::Kind::kTuple &&
                pickle.parts(call[1]).size() == 2) {
                const std::string_view bytes = pickle.text(pickle.parts(call[1])[1]);
                if (bytes.size() != sizeof(double)) return bad_input("y: it is not a float64");
                double energy = 0;
                std::memcpy(&energy, bytes.data(), sizeof energy);
                return energy;
            }
            BELAY_TRY(tensor, attribute(pickle, attributes, "y"));
            if (tensor.values.size() != 1) return bad_input("y: it has {} values", tensor.values.size());
            return tensor.values[0];
        }
        default:
            return bad_input("y: it is not a number");
    }
}

}  // namespace

Result<Structure> structure_from_pickle(std::string_view bytes) {
    BELAY_TRY(pickle, Pickle::read(bytes));
    BELAY_TRY(attributes, attributes_of(pickle));
    Structure structure;
    BELAY_TRY(cell, vectors_in(pickle, attributes, "cell"));
    if (cell.size() != 3) return bad_input("cell: it has {} vectors", cell.size());
    std::ranges::copy(cell, structure.cell.begin());
    BELAY_TRY(positions, vectors_in(pickle, attributes, "pos"));
    BELAY_TRY(forces, vectors_in(pickle, attributes, "force"));
    BELAY_TRY(numbers, small_numbers_in(pickle, attributes, "atomic_numbers"));
    BELAY_TRY(fixed, small_numbers_in(pickle, attributes, "fixed"));
    BELAY_TRY(energy, energy_in(pickle, attributes));
    structure.positions = std::move(positions);
    structure.forces = std::move(forces);
    structure.numbers = std::move(numbers);
    structure.fixed = std::move(fixed);
    structure.energy = energy;
    return structure;
}

Result<int64_t> integer_from_pickle(std::string_view bytes) {
    BELAY_TRY(pickle, Pickle::read(bytes));
    if (pickle.kind(pickle.root()) != Pickle::Kind::kInteger) return bad_input("it is not a whole number");
    return pickle.integer(pickle.root());
}

}  // namespace belay::bench::oc20
