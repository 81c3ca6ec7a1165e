// Structures of OC20 in pickles and in files of ours: the first byte says which of them the rest is. Pickles come
// out of data sets that others made, and a pickle is a program.
#include "bench/models/oc20/files/pickle.h"
#include "bench/models/oc20/files/structure_pickle.h"
#include "bench/models/oc20/graph.h"
#include "bench/models/oc20/structure_file.h"
#include "many_parsers.h"

#include <cstdint>
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

constexpr void (*kParsers[])(std::string_view) = {read_structure_pickle, read_pickle, read_structure_file};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
