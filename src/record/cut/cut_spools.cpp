#include "record/cut/cut_spools.h"

#include "record/new_segment.h"
#include "record/place.h"
#include "stream/spool_reader.h"

#include <functional>
#include <memory>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

// A stream, and what of it is read in both passes.
struct Source {
    stream::SpoolReader* spool = nullptr;
    stream::Cursor begin;
    stream::Cursor end;        // where the first pass ended
    uint64_t gone_blocks = 0;  // that it did not find
};

using BatchSink = std::function<Result<>(const stream::Batch&)>;

// Reads the blocks of a piece. Damage is told by the reader of the spool.
Result<stream::Session> read_piece(const stream::Piece& piece, stream::UnpackBudget& budget,
                                   const BatchSink& sink, std::vector<stream::Lost>& lost) {
    auto reader = stream::SegmentReader::of_bytes(piece.bytes, piece.next.stream.node, budget);
    for (;;) {
        BELAY_TRY(batch, reader.next());
        if (batch == nullptr) break;
        BELAY_CHECK(sink(*batch));
    }
    const stream::SegmentSummary& summary = reader.summary();
    lost.insert(lost.end(), summary.lost.begin(), summary.lost.end());
    if (!summary.session) return core::bad_input("a piece of a stream without its session");
    return *summary.session;
}

// First pass: what there is.
Result<StreamFacts> learn(Source& source, std::vector<stream::Lost>& lost) {
    stream::UnpackBudget budget;
    std::optional<StreamFacts> facts;
    const size_t lost_before = lost.size();
    bool is_damaged = false;
    for (source.end = source.begin;;) {
        BELAY_TRY(piece, source.spool->read(source.end));
        is_damaged |= piece.gone_blocks > 0 || !piece.lost.empty();
        source.gone_blocks += piece.gone_blocks;
        lost.insert(lost.end(), piece.lost.begin(), piece.lost.end());
        source.end = piece.next;
        if (piece.bytes.empty()) break;
        std::vector<stream::Batch> first;  // before the session is known
        auto sink = [&](const stream::Batch& batch) -> Result<> {
            if (facts)
                facts->add(batch);
            else
                first.push_back(batch);
            return {};
        };
        BELAY_TRY(session, read_piece(piece, budget, sink, lost));
        if (!facts) facts.emplace(std::move(session));
        for (const stream::Batch& batch : first) facts->add(batch);
    }
    if (!facts)
        facts.emplace(stream::Session{.node = source.begin.stream.node,
                                      .start = source.begin.stream.began,
                                      .cluster = source.begin.stream.cluster,
                                      .boot = source.begin.stream.boot,
                                      .source = source.begin.stream.source,
                                      .began = source.begin.stream.began});
    facts->is_damaged = is_damaged || lost.size() > lost_before;
    return std::move(*facts);
}

// Second pass: the job's rows of one stream into a segment of the record.
Result<> copy_rows(const Cut& cut, size_t stream, Source& source, stream::SegmentWriter& writer,
                   uint64_t& rows) {
    stream::UnpackBudget budget;
    std::vector<stream::Lost> told;  // by the first pass
    uint64_t gone_blocks = 0;
    stream::Cursor at = source.begin;
    while (at < source.end) {
        BELAY_TRY(piece, source.spool->read(at));
        at = piece.next;
        gone_blocks += piece.gone_blocks;
        // What was counted as there would be missing from the record.
        if (gone_blocks > source.gone_blocks || (piece.bytes.empty() && at < source.end))
            return core::system_error("the stream of {} lost blocks while it was read", at.stream.node)
                .hint("cut again; a spool at its limit gives up its oldest files while its agent runs");
        if (piece.bytes.empty()) break;
        auto sink = [&](const stream::Batch& batch) -> Result<> {
            const stream::Batch ours = cut.rows(stream, batch);
            rows += ours.rows();
            return writer.append(ours);
        };
        BELAY_CHECK(read_piece(piece, budget, sink, told));
    }
    return {};
}

// Each stream has a segment of its own; the facts of a node are in that of its first one.
Result<> write_record(const Cut& cut, std::vector<Source>& sources, const fs::path& path, core::Time now,
                      uint64_t& rows) {
    BELAY_TRY(record, join_record(path));
    std::vector<std::string> told;
    for (size_t i = 0; i < sources.size(); ++i) {
        if (!cut.concerns(i)) continue;
        stream::Session session = cut.streams()[i].session;
        session.first_block = 0;
        std::string name =
            fmt::format("{}-{:x}-cut-{}.seg", session.node, core::to_nanoseconds(session.began), i);
        std::ranges::replace(name, '/', '_');
        BELAY_TRY(writer, new_segment(record, name, session));
        BELAY_CHECK(copy_rows(cut, i, sources[i], writer, rows));
        if (std::ranges::find(told, session.node) == told.end()) {
            told.push_back(session.node);
            for (const stream::Batch& batch : cut.facts(session.node)) BELAY_CHECK(writer.append(batch));
        }
        BELAY_CHECK(writer.finish(now));
    }
    return {};
}

}  // namespace

Result<CutDone> cut_spools(const std::vector<fs::path>& spools, const CutRequest& request,
                           const fs::path& path, core::Time now) {
    CutDone done;
    std::vector<std::unique_ptr<stream::SpoolReader>> readers;
    std::vector<Source> sources;
    std::vector<StreamFacts> facts;
    for (const fs::path& spool : spools) {
        BELAY_TRY(reader, stream::SpoolReader::open(spool));
        readers.push_back(std::make_unique<stream::SpoolReader>(std::move(reader)));
        BELAY_TRY(streams, readers.back()->streams());
        const auto& left_out = readers.back()->left_out();
        done.lost.insert(done.lost.end(), left_out.begin(), left_out.end());
        for (stream::Cursor& begin : streams) {
            Source source{.spool = readers.back().get(), .begin = std::move(begin), .end = {}};
            BELAY_TRY(learned, learn(source, done.lost));
            facts.push_back(std::move(learned));
            sources.push_back(std::move(source));
        }
    }
    auto planned = Cut::plan(std::move(facts), request);
    if (!planned && !done.lost.empty())
        return std::unexpected(
            std::move(planned.error())
                .hint(fmt::format("{} parts of the spools could not be read, the first: {}: {}",
                                  done.lost.size(), done.lost.front().file, done.lost.front().reason)));
    if (!planned) return std::unexpected(std::move(planned.error()));
    const Cut& cut = *planned;
    BELAY_CHECK(check_place(path));
    std::error_code ignored;
    if (fs::exists(manifest_path(path), ignored))
        return core::bad_input("{} holds a record already", path.string()).hint("choose another directory");
    Manifest manifest = cut.manifest();
    manifest.created = now;
    manifest.lost = done.lost;
    BELAY_CHECK(begin_record(path, manifest));
    if (auto written = write_record(cut, sources, path, now, done.rows); !written)
        return std::unexpected(
            std::move(written.error()).context(fmt::format("{} is incomplete", path.string())));
    done.nodes = cut.nodes();
    return done;
}

}  // namespace belay::record
