#include "record/cut/cut_spools.h"

#include "record/cut/spool_source.h"

#include <cerrno>

#include <fmt/format.h>

namespace belay::record {

using core::bad_input;
using core::Result;
namespace fs = std::filesystem;

namespace {

Result<stream::SpoolReader> open_spool(const fs::path& spool) {
    auto reader = stream::SpoolReader::open(spool);
    if (reader ||
        (reader.error().cause() != core::Cause::kNotFound && reader.error().errno_value() != ENOTDIR))
        return reader;
    return std::unexpected(std::move(reader.error())
                               .as(core::ErrorKind::kBadInput)
                               .hint("name the directory that the agent has as --spool"));
}

// Whether there is anything in it, be it a stream or what could not be read.
Result<bool> add_spool(stream::SpoolReader& spool, StreamsCut& cut) {
    const size_t lost_before = cut.lost().count();
    bool has_streams = false;
    BELAY_TRY(streams, spool.streams());
    cut.lost().add(spool.left_out());
    for (stream::Cursor& begin : streams) {
        BELAY_TRY(is_taken, cut.add(std::make_unique<SpoolSource>(spool, std::move(begin))));
        has_streams |= is_taken;
    }
    return has_streams || cut.lost().count() > lost_before;
}

}  // namespace

Result<SpoolCut> SpoolCut::plan(const std::vector<fs::path>& spools, const CutRequest& request) {
    SpoolCut cut;
    for (const fs::path& spool : spools) {
        BELAY_TRY(reader, open_spool(spool));
        cut.readers_.push_back(std::make_unique<stream::SpoolReader>(std::move(reader)));
        BELAY_TRY(has_something, add_spool(*cut.readers_.back(), cut.streams_));
        if (!has_something)
            return bad_input("{} holds no stream of an agent", spool.string())
                .hint("name the directory that the agent has as --spool");
    }
    auto planned = cut.streams_.plan(request);
    const LostPlaces& lost = cut.streams_.lost();
    if (!planned && lost.count() > 0)
        return std::unexpected(
            std::move(planned.error())
                .hint(fmt::format("of the spools {} could not be read, the first: {}: {}",
                                  lost.count() == 1 ? "one part" : fmt::format("{} parts", lost.count()),
                                  lost.front().file, lost.front().reason)));
    if (!planned) return std::unexpected(std::move(planned.error()));
    return cut;
}

}  // namespace belay::record
