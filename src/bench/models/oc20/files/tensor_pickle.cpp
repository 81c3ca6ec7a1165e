#include "bench/models/oc20/files/tensor_pickle.h"

#include <array>
#include <cstring>
#include <string_view>

namespace belay::bench::oc20 {

using core::bad_input;
using core::Result;

namespace {

using TensorKind = Pickle::Kind;

// Little-endian; torch/serialization.py: 0x1950a86a20f9469cfc6c.
constexpr std::string_view kTorchMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int64_t kTorchProtocol = 1001;

template <typename Stored>
double stored_value(const char* bytes) {
    Stored value;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
}

struct ElementType {
    std::string_view storage;  // torch's name of the class
    size_t width;
    double (*read)(const char*);
};
constexpr ElementType kElementTypes[] = {
    {"FloatStorage", 4, stored_value<float>},   {"DoubleStorage", 8, stored_value<double>},
    {"LongStorage", 8, stored_value<int64_t>},  {"IntStorage", 4, stored_value<int32_t>},
    {"ShortStorage", 2, stored_value<int16_t>}, {"CharStorage", 1, stored_value<int8_t>},
    {"ByteStorage", 1, stored_value<uint8_t>},  {"BoolStorage", 1, stored_value<uint8_t>},
};

struct Storage {
    const ElementType* type = nullptr;
    std::string_view bytes;  // of its elements
    size_t elements() const { return bytes.size() / type->width; }
};

// Pickles that stand one after the other.
class Sequence {
  public:
    explicit Sequence(std::string_view bytes) : rest_(bytes) {}
    Result<Pickle> next() {
        BELAY_TRY(pickle, Pickle::read(rest_));
        rest_.remove_prefix(pickle.length());
        return pickle;
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

// ('storage', torch.FloatStorage, '0', 'cpu', 48, None), by which a storage is described.
Result<std::pair<const ElementType*, int64_t>> described_storage(const Pickle& pickle) {
    const auto wrong = [] { return bad_input("a tensor's storage is not described as torch does"); };
    if (pickle.kind(pickle.root()) != TensorKind::kPersistent) return wrong();
    const Pickle::Number id = pickle.parts(pickle.root())[0];
    if (pickle.kind(id) != TensorKind::kTuple || pickle.parts(id).size() < 5) return wrong();
    const auto& parts = pickle.parts(id);
    if (pickle.kind(parts[1]) != TensorKind::kName || pickle.module(parts[1]) != "torch" ||
        pickle.kind(parts[4]) != TensorKind::kInteger)
        return wrong();
    for (const ElementType& type : kElementTypes)
        if (type.storage == pickle.text(parts[1])) return std::pair(&type, pickle.integer(parts[4]));
    return bad_input("a tensor has elements of torch.{}, which are not read", pickle.text(parts[1]));
}

Result<Storage> saved_storage(std::string_view bytes) {
    Sequence sequence(bytes);
    BELAY_TRY(magic, sequence.next());
    BELAY_TRY(protocol, sequence.next());
    if (magic.text(magic.root()) != kTorchMagic || protocol.integer(protocol.root()) != kTorchProtocol)
        return bad_input("a tensor's storage was not written by torch.save without zip");
    BELAY_TRY(system, sequence.next());
    const auto little_endian = system.find(system.root(), "little_endian");
    if (!little_endian || system.integer(*little_endian) != 1)
        return bad_input("a tensor's storage is not little-endian");
    BELAY_TRY(description, sequence.next());
    BELAY_TRY(described, described_storage(description));
    BELAY_CHECK(sequence.next());  // the keys of storages, of which there is one
    const auto [type, count] = described;
    int64_t stored = 0;
    std::string_view rest = sequence.rest();
    if (rest.size() < sizeof stored) return bad_input("a tensor's storage is cut off");
    std::memcpy(&stored, rest.data(), sizeof stored);
    rest.remove_prefix(sizeof stored);
    if (stored != count || count < 0 || static_cast<uint64_t>(count) > rest.size() / type->width)
        return bad_input("a tensor's storage has {} bytes and should have {} elements of {}", rest.size(),
                         count, type->width);
    return Storage{type, rest.substr(0, static_cast<size_t>(count) * type->width)};
}

Result<std::vector<int64_t>> integers_of(const Pickle& pickle, Pickle::Number tuple) {
    std::vector<int64_t> integers;
    if (pickle.kind(tuple) != TensorKind::kTuple || pickle.parts(tuple).size() > 8)
        return bad_input("a tensor's shape or strides are not a tuple of up to 8");
    for (Pickle::Number part : pickle.parts(tuple)) {
        if (pickle.kind(part) != TensorKind::kInteger || pickle.integer(part) < 0)
            return bad_input("a tensor's shape or strides are not numbers from 0");
        integers.push_back(pickle.integer(part));
    }
    return integers;
}

// The arguments of a call of module.name, if the value is one.
const std::vector<Pickle::Number>* arguments_of(const Pickle& pickle, Pickle::Number value,
                                                std::string_view module, std::string_view name) {
    if (pickle.kind(value) != TensorKind::kCall) return nullptr;
    const auto& parts = pickle.parts(value);
    if (!pickle.is_name(parts[0], module, name) || pickle.kind(parts[1]) != TensorKind::kTuple)
        return nullptr;
    return &pickle.parts(parts[1]);
}

// How many elements a tensor has. Errors: kBadInput, above `maximum`, or beyond the storage.
Result<size_t> checked_size(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                            int64_t offset, const Storage& storage, size_t maximum) {
    size_t count = 1;
    for (int64_t length : shape) {
        if (length == 0) return size_t{0};
        if (static_cast<uint64_t>(length) > maximum / count)
            return bad_input("a tensor has more than {} values", maximum);
        count *= static_cast<size_t>(length);
    }
    const auto elements = static_cast<uint64_t>(storage.elements());
    const auto outside = [] { return bad_input("a tensor reaches beyond its storage"); };
    auto last = static_cast<uint64_t>(offset);
    if (last >= elements) return outside();
    for (size_t i = 0; i < shape.size(); ++i) {
        const auto steps = static_cast<uint64_t>(shape[i] - 1), stride = static_cast<uint64_t>(strides[i]);
        if (steps > 0 && stride > (elements - 1 - last) / steps) return outside();
        last += steps * stride;
    }
    return count;
}

}  // namespace

Result<PickledTensor> tensor_from_pickle(const Pickle& pickle, Pickle::Number value, size_t maximum) {
    const auto* arguments = arguments_of(pickle, value, "torch._utils", "_rebuild_tensor_v2");
    if (arguments == nullptr || arguments->size() < 4) return bad_input("it is not a tensor");
    const auto* load = arguments_of(pickle, (*arguments)[0], "torch.storage", "_load_from_bytes");
    if (load == nullptr || load->size() != 1 || pickle.kind((*load)[0]) != TensorKind::kBytes)
        return bad_input("a tensor's storage is not among its values");
    BELAY_TRY(storage, saved_storage(pickle.text((*load)[0])));
    const Pickle::Number offset_value = (*arguments)[1];
    if (pickle.kind(offset_value) != TensorKind::kInteger || pickle.integer(offset_value) < 0)
        return bad_input("a tensor's offset is not a number from 0");
    const int64_t offset = pickle.integer(offset_value);
    PickledTensor tensor;
    BELAY_TRY(shape, integers_of(pickle, (*arguments)[2]));
    BELAY_TRY(strides, integers_of(pickle, (*arguments)[3]));
    if (shape.size() != strides.size())
        return bad_input("a tensor has {} lengths and {} strides", shape.size(), strides.size());
    BELAY_TRY(count, checked_size(shape, strides, offset, storage, maximum));

    tensor.values.reserve(count);
    std::vector<int64_t> place(shape.size());
    for (size_t number = 0; number < count; ++number) {
        int64_t element = offset;
        for (size_t i = 0; i < shape.size(); ++i) element += place[i] * strides[i];
        tensor.values.push_back(
            storage.type->read(storage.bytes.data() + static_cast<size_t>(element) * storage.type->width));
        for (size_t i = shape.size(); i-- > 0 && ++place[i] == shape[i];) place[i] = 0;
    }
    tensor.shape = std::move(shape);
    return tensor;
}

}  // namespace belay::bench::oc20
