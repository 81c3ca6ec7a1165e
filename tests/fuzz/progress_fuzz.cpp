#include "progress/output_tail.h"
#include "progress/reader.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

// Whatever a job prints, in whatever pieces: no crash, and the same events and the same tail as in one piece.
// The first byte says how long the pieces are.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay::progress;
    static const std::vector<Pattern> patterns = [] {
        std::vector<std::string> expressions = {
            R"(step[: ]+(?P<step>[\d,]+)(?:/\s*(?P<total>\d+))?.*loss[: ]+(?P<loss>\S+))"
            R"((?:.*tps: (?P<tokens_per_second>[\d,.]+))?)",
            R"((?P<metric>[\d.]+)$)"};
        auto compiled = compile_patterns(expressions);
        if (!compiled) std::abort();
        return *compiled;
    }();
    if (size == 0) return 0;
    size_t piece = size_t{data[0]} + 1;
    std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);

    std::vector<ProgressEvent> whole, pieces;
    ReaderOptions options{.lines_per_second = 1 << 30};
    ProgressReader at_once(patterns, [&](const ProgressEvent& event) { whole.push_back(event); }, options);
    at_once.feed(text);
    at_once.finish();
    OutputTail whole_tail, tail_of_pieces;
    whole_tail.feed(text);
    ProgressReader in_pieces(patterns, [&](const ProgressEvent& event) { pieces.push_back(event); }, options);
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
        in_pieces.feed(text.substr(0, piece)), tail_of_pieces.feed(text.substr(0, piece));
    in_pieces.finish();
    if (whole != pieces) std::abort();
    const std::vector<std::string> lines = whole_tail.lines();
    if (lines != tail_of_pieces.lines() || lines.size() > OutputTail::kMostLines) std::abort();
    return 0;
}
