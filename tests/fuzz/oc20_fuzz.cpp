// Structures of OC20 in pickles, in files of ours, and LMDB files: the first byte says which of them the rest is. Pickles
// come out of data sets that others made, and a pickle is a program.
#include "bench/models/oc20/files/lmdb_file.h"
#include "bench/models/oc20/files/pickle.h"
#include "bench/models/oc20/files/structure_pickle.h"
#include "bench/models/oc20/graph.h"
#include "bench/models/oc20/structure_file.h"
#include "many_parsers.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

using namespace belay::bench::oc20;

namespace {

constexpr double kCutoff = 4;

// What is accepted has a graph.
void use(const Structure& structure) {
    require(check_structure(structure, kCutoff).has_value());
    if (structure.atoms() > 64) return;
    Graph graph;
    add_to(graph, structure, kCutoff, 8);
    require(graph.source.size() <= 8 * structure.atoms() && graph.kj.size() <= 8 * graph.source.size());
}

void read_structure_pickle(std::string_view bytes) {
    const auto structure = structure_from_pickle(bytes);
    if (!structure)
        require(!structure.error().message().empty());
    else if (check_structure(*structure, kCutoff))
        use(*structure);
}

void read_pickle(std::string_view bytes) {
    const auto pickle = Pickle::read(bytes);
    if (!pickle) return require(!pickle.error().message().empty());
    require(pickle->length() <= bytes.size());
    (void)pickle->find(pickle->root(), "length");
    (void)integer_from_pickle(bytes);
}

void read_structure_file(std::string_view bytes) {
    if (const auto structure = decode_structure(bytes, kCutoff)) use(*structure);
}

void look_up(std::string_view bytes) {
    const auto file = LmdbFile::of_bytes(bytes);
    if (!file) return require(!file.error().message().empty());
    for (std::string_view key : {"length", "0", "1", "", "\xff"}) {
        const auto found = file->find(key);
        require(found ? !*found || (*found)->size() <= bytes.size() : !found.error().message().empty());
    }
}

void read_lmdb(std::string_view bytes) {
    look_up(bytes);
    // The same bytes as the pages behind two meta pages that are right, each with its number: else few inputs get there.
    constexpr size_t kPage = kSmallestLmdbPage;
    const size_t pages = 2 + bytes.size() / kPage;
    if (pages == 2) return;
    std::string file = std::string(2 * kPage, '\0') + std::string(bytes.substr(0, (pages - 2) * kPage));
    auto put = [&](size_t place, auto number) { std::memcpy(file.data() + place, &number, sizeof number); };
    for (size_t page = 0; page < pages; ++page) put(page * kPage, uint64_t{page});
    put(10, uint16_t{0x08});
    put(16, uint32_t{0xbeefc0de});
    put(20, uint32_t{1});
    put(40, static_cast<uint32_t>(kPage));
    put(128, uint64_t{2});  // the root
    put(136, uint64_t{pages - 1});
    look_up(file);
}

constexpr void (*kParsers[])(std::string_view) = {read_structure_pickle, read_pickle, read_structure_file,
                                                  read_lmdb};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
