#include "bench/models/oc20/structure_file.h"

#include "bench/schedule/share.h"

#include <bit>
#include <cstring>

namespace belay::bench::oc20 {

namespace {

using core::bad_input;

static_assert(std::endian::native == std::endian::little,
              "files are little-endian, and written as they lie in memory");

struct FileHeader {
    std::array<char, 8> magic{'B', 'L', 'Y', 'A', 'T', 'O', 'M', '1'};
    uint32_t atoms = 0;
    uint32_t zero = 0;
    double energy = 0;
    std::array<Vector, 3> cell{};
};
static_assert(sizeof(FileHeader) == 96);

struct FileAtom {
    Vector position{}, force{};
    uint8_t number = 0, fixed = 0;
    std::array<uint8_t, 6> zero{};
};
static_assert(sizeof(FileAtom) == 56);

}  // namespace

std::string structure_name(Split split, uint32_t index) {
    return sample_name(split, index, "structure");
}

size_t maximum_structure_bytes() {
    return sizeof(FileHeader) + kMaximumAtoms * sizeof(FileAtom);
}

std::string encode_structure(const Structure& structure) {
    const FileHeader header{.atoms = static_cast<uint32_t>(structure.atoms()),
                            .energy = structure.energy,
                            .cell = structure.cell};
    std::string bytes(sizeof header + structure.atoms() * sizeof(FileAtom), '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    for (size_t i = 0; i < structure.atoms(); ++i) {
        const FileAtom atom{.position = structure.positions[i],
                            .force = structure.forces[i],
                            .number = structure.numbers[i],
                            .fixed = structure.fixed[i]};
        std::memcpy(bytes.data() + sizeof header + i * sizeof atom, &atom, sizeof atom);
    }
    return bytes;
}

core::Result<Structure> decode_structure(std::string_view bytes, double cutoff) {
    FileHeader header;
    const auto magic = header.magic;
    if (bytes.size() < sizeof header)
        return bad_input("it is not a structure: it has {} bytes", bytes.size());
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != magic) return bad_input("it is not a structure");
    const size_t expected = sizeof header + size_t{header.atoms} * sizeof(FileAtom);
    if (bytes.size() != expected)
        return bad_input("it has {} bytes and should have {}: it is cut off or damaged", bytes.size(),
                         expected);
    Structure structure;
    structure.cell = header.cell;
    structure.energy = header.energy;
    for (size_t i = 0; i < header.atoms; ++i) {
        FileAtom atom;
        std::memcpy(&atom, bytes.data() + sizeof header + i * sizeof atom, sizeof atom);
        structure.positions.push_back(atom.position);
        structure.forces.push_back(atom.force);
        structure.numbers.push_back(atom.number);
        structure.fixed.push_back(atom.fixed != 0 ? 1 : 0);
    }
    BELAY_CHECK(check_structure(structure, cutoff));
    return structure;
}

}  // namespace belay::bench::oc20
