// For tests: pickles as Python writes them, put together opcode by opcode.
#pragma once

#include "bench/models/oc20/structure.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::bench::oc20 {

template <typename Number>
std::string raw(Number number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}
inline std::string text_opcode(std::string_view text) {
    return "X" + raw(static_cast<uint32_t>(text.size())) + std::string(text);
}
inline std::string integer_opcode(int32_t number) {
    return "J" + raw(number);
}
inline std::string global_opcode(std::string_view module, std::string_view name) {
    return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline std::string pickle_of(const std::string& value, char protocol = 2) {
    return std::string("\x80") + protocol + value + ".";
}

// What torch.save wrote of a storage before it wrote zip files.
template <typename Element>
std::string saved_storage_bytes(std::string_view type, const std::vector<Element>& values) {
    const auto count = static_cast<int32_t>(values.size());
    std::string bytes = pickle_of(std::string("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12));
    bytes += pickle_of("M\xe9\x03");
    bytes += pickle_of("}(" + text_opcode("protocol_version") + "M\xe9\x03" + text_opcode("little_endian") +
                       "\x88u");
    bytes += pickle_of("(" + text_opcode("storage") + global_opcode("torch", type) + text_opcode("0") +
                       text_opcode("cpu") + integer_opcode(count) + "NtQ");
    bytes += pickle_of("]" + text_opcode("0") + "a");
    bytes += raw(int64_t{count});
    for (Element value : values) bytes += raw(value);
    return bytes;
}

// A tensor whose rows lie one after the other.
template <typename Element>
std::string tensor_opcodes(std::string_view type, const std::vector<Element>& values,
                           const std::vector<int>& shape) {
    const std::string storage = saved_storage_bytes(type, values);
    std::string lengths = "(", strides = "(";
    int stride = static_cast<int>(values.size());
    for (int length : shape) {
        stride = length == 0 ? 0 : stride / length;
        lengths += integer_opcode(length);
        strides += integer_opcode(stride);
    }
    return global_opcode("torch._utils", "_rebuild_tensor_v2") + "(" +
           global_opcode("torch.storage", "_load_from_bytes") + "B" +
           raw(static_cast<uint32_t>(storage.size())) + storage + "\x85R" + integer_opcode(0) + lengths +
           "t" + strides + "t" + "\x89" + global_opcode("collections", "OrderedDict") + ")R" + "tR";
}

using Attributes = std::vector<std::pair<std::string, std::string>>;

inline std::string dictionary_opcodes(const Attributes& attributes) {
    std::string opcodes = "}(";
    for (const auto& [name, value] : attributes) opcodes += text_opcode(name) + value;
    return opcodes + "u";
}

inline Attributes attributes_of_structure(const Structure& structure) {
    std::vector<float> cell, positions, forces, numbers, fixed;
    auto append = [](std::vector<float>& values, const Vector& vector) {
        for (double value : vector) values.push_back(static_cast<float>(value));
    };
    for (const Vector& side : structure.cell) append(cell, side);
    for (size_t atom = 0; atom < structure.atoms(); ++atom) {
        append(positions, structure.positions[atom]);
        append(forces, structure.forces[atom]);
        numbers.push_back(structure.numbers[atom]);
        fixed.push_back(structure.fixed[atom]);
    }
    const int atoms = static_cast<int>(structure.atoms());
    const double energy = structure.energy;
    std::string big_endian = raw(energy);
    for (size_t i = 0; i < 4; ++i) std::swap(big_endian[i], big_endian[7 - i]);
    return {{"x", "N"},
            {"edge_index", tensor_opcodes<int64_t>("LongStorage", {0, 1}, {2, 1})},
            {"pos", tensor_opcodes("FloatStorage", positions, {atoms, 3})},
            {"cell", tensor_opcodes("FloatStorage", cell, {1, 3, 3})},
            {"atomic_numbers", tensor_opcodes("FloatStorage", numbers, {atoms})},
            {"natoms", integer_opcode(atoms)},
            {"force", tensor_opcodes("FloatStorage", forces, {atoms, 3})},
            {"fixed", tensor_opcodes("FloatStorage", fixed, {atoms})},
            {"y", "G" + big_endian}};
}

// As version 1 of torch_geometric is pickled.
inline std::string data_pickle(const Attributes& attributes) {
    return pickle_of(global_opcode("torch_geometric.data.data", "Data") + ")\x81" +
                     dictionary_opcodes(attributes) + "b");
}

// As version 2: the values are in a store, which refers back to the object that it belongs to.
inline std::string data_pickle_of_version_2(const Attributes& attributes) {
    const std::string store = global_opcode("torch_geometric.data.storage", "GlobalStorage") + ")\x81" +
                              "}(" + text_opcode("_mapping") + dictionary_opcodes(attributes) +
                              text_opcode("_parent") + std::string("h\0", 2) + "ub";
    return pickle_of(global_opcode("torch_geometric.data.data", "Data") + ")\x81" + std::string("q\0", 2) +
                         "}(" + text_opcode("_store") + store + "ub",
                     4);
}

}  // namespace belay::bench::oc20
