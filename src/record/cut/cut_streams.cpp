#include "record/cut/cut_streams.h"

#include "record/new_segment.h"
#include "record/place.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::record {

using core::bad_input;
using core::Result;
namespace fs = std::filesystem;

namespace {

using BatchSink = std::function<Result<>(const stream::Session&, const stream::Batch&)>;

// Reads the blocks of a piece, and answers with its session; nothing where that could not be unpacked, which
// `lost` says. Other damage is told by the source of the pieces.
Result<std::optional<stream::Session>> read_piece(const stream::Piece& piece, stream::UnpackBudget& budget,
                                                  const BatchSink& sink, LostPlaces& lost) {
    auto reader = stream::SegmentReader::of_bytes(piece.bytes, piece.next.stream.node, budget);
    for (;;) {
        BELAY_TRY(batch, reader.next());
        if (batch == nullptr) break;
        if (reader.summary().session) BELAY_CHECK(sink(*reader.summary().session, *batch));
    }
    const stream::SegmentSummary& summary = reader.summary();
    lost.add(summary.lost);
    return summary.session;
}

stream::Session session_of(const stream::StreamId& stream) {
    return {.node = stream.node,
            .start = stream.began,
            .cluster = stream.cluster,
            .boot = stream.boot,
            .source = stream.source,
            .began = stream.began};
}

std::string segment_name(const stream::Session& session, size_t stream) {
    constexpr size_t kMostOfNode = 180;  // a file's name has at most 255 bytes
    std::string name = fmt::format("{}-{:x}-cut-{}.seg", session.node.substr(0, kMostOfNode),
                                   core::to_nanoseconds(session.began), stream);
    std::ranges::replace(name, '/', '_');
    return name;
}

}  // namespace

Result<bool> StreamsCut::add(std::unique_ptr<PieceSource> source) {
    BELAY_TRY(learned, learn(*source));
    if (!learned) return false;
    facts_.push_back(std::move(*learned));
    sources_.push_back(std::move(source));
    return true;
}

// First pass: what there is. Nothing of a stream that no agent can have written: `lost_` says why.
Result<std::optional<StreamFacts>> StreamsCut::learn(PieceSource& source) {
    std::optional<StreamFacts> facts;
    const stream::StreamId& stream = source.stream();
    const std::string name = fmt::format("{}-{:x}", stream.node, core::to_nanoseconds(stream.began));
    if (auto why = why_impossible(session_of(stream))) {
        lost_.add({name, 0, 0, "a stream was left out: " + *why});
        return std::nullopt;
    }
    const size_t lost_before = lost_.count();
    std::vector<stream::Lost> tail;
    std::optional<std::string> impossible;
    auto begin = [&](const stream::Session& session) {
        if (facts) return;
        impossible = why_impossible(session);
        facts.emplace(session);
    };
    auto sink = [&](const stream::Session& session, const stream::Batch& batch) -> Result<> {
        begin(session);
        if (!impossible) facts->add(batch, room_);
        return {};
    };
    bool is_damaged = false;
    BELAY_CHECK(source.read([&](const stream::Piece& piece) -> Result<bool> {
        is_damaged |= piece.gone_blocks > 0;
        lost_.add(piece.lost);
        tail = piece.tail;
        if (piece.bytes.empty() || impossible) return false;
        room_.add(piece.bytes.size());
        BELAY_TRY(session, read_piece(piece, *budget_, sink, lost_));
        if (session) begin(*session);  // also of a file without rows
        return true;
    }));
    if (impossible) {
        lost_.add({name, 0, 0, "a stream was left out: " + *impossible});
        return std::nullopt;
    }
    if (!facts) facts.emplace(session_of(stream));
    if (facts->lacked_room) lost_.add({name, 0, 0, "says more of jobs and devices than an agent does"});
    if (facts->impossible > 0)
        lost_.add({name, 0, 0, fmt::format("{} rows have times that cannot be", facts->impossible)});
    facts->is_damaged = is_damaged || lost_.count() > lost_before;
    // Counts come behind what they count, so those before it are right.
    for (stream::Lost& end : tail) {
        end.reason += ", at the end of the stream: half written, or damaged";
        lost_.add(std::move(end));
    }
    return facts;
}

Result<> StreamsCut::plan(const CutRequest& request) {
    BELAY_TRY(planned, Cut::plan(std::move(facts_), request));
    facts_.clear();
    cut_.emplace(std::move(planned));
    return {};
}

// Second pass: the record, of which as much is taken away again as was made.
class StreamsCut::Writing {
  public:
    Writing(const Cut& cut, std::vector<std::unique_ptr<PieceSource>>& sources, fs::path path, core::Time now)
        : cut_(cut), sources_(sources), path_(std::move(path)), now_(now) {
        std::error_code error;
        was_there_ = fs::exists(path_, error) || error;  // what cannot be known is not removed
    }

    Result<> run(const Manifest& manifest) {
        BELAY_CHECK(begin_record(path_, manifest));
        return write();
    }
    uint64_t rows() const { return rows_; }

    // Does what it can, after a failure.
    void undo() const {
        auto record = core::Directory::open(path_);
        if (!record) return;
        for (const std::string& name : made_)
            (void)record->remove_file(fmt::format("{}/{}", kSegmentsName, name));
        (void)record->remove_directory(kSegmentsName);  // which fails where others have written there
        const auto manifest = read_manifest(*record);
        const auto segments = record->facts(kSegmentsName);
        if (manifest && manifest->created == now_ && segments && !*segments)
            (void)record->remove_file(kManifestName);
        std::error_code ignored;
        if (!was_there_) fs::remove(path_, ignored);  // likewise
    }

  private:
    // Each stream has a segment of its own; the facts of a node are in that of its first one.
    Result<> write() {
        BELAY_TRY(record, join_record(path_));
        std::vector<std::string> told;
        for (size_t i = 0; i < sources_.size(); ++i) {
            if (!cut_.concerns(i)) continue;
            stream::Session session = cut_.streams()[i].session;
            session.first_block = 0;
            const std::string name = segment_name(session, i);
            BELAY_TRY(writer, new_segment(record, name, session));
            made_.push_back(name);
            BELAY_CHECK(copy_rows(i, writer));
            if (std::ranges::find(told, session.node) == told.end()) {
                told.push_back(session.node);
                for (const stream::Batch& batch : cut_.facts(session.node)) BELAY_CHECK(writer.append(batch));
            }
            BELAY_CHECK(writer.finish(now_));
        }
        return {};
    }

    // The job's rows of one stream.
    Result<> copy_rows(size_t stream, stream::SegmentWriter& writer) {
        LostPlaces told;  // by the first pass
        auto sink = [&](const stream::Session&, const stream::Batch& batch) -> Result<> {
            const stream::Batch ours = cut_.rows(stream, batch);
            rows_ += ours.rows();
            return writer.append(ours);
        };
        return sources_[stream]->read([&](const stream::Piece& piece) -> Result<bool> {
            BELAY_CHECK(read_piece(piece, budget_, sink, told));
            return true;
        });
    }

    const Cut& cut_;
    std::vector<std::unique_ptr<PieceSource>>& sources_;
    fs::path path_;
    core::Time now_;
    bool was_there_ = false;
    std::vector<std::string> made_;
    stream::UnpackBudget budget_;
    uint64_t rows_ = 0;
};

Result<CutDone> StreamsCut::write(const fs::path& path, core::Time now, const Amend& amend) {
    BELAY_CHECK(check_place(path));
    std::error_code error;
    const bool is_record = fs::exists(manifest_path(path), error);
    if (error)
        return core::errno_error(error, fmt::format("cannot look at {}", manifest_path(path).string()));
    if (is_record)
        return bad_input("{} holds a record already", path.string()).hint("choose another directory");
    Manifest manifest = cut_->manifest();
    if (amend) amend(manifest);
    manifest.created = now;
    manifest.lost = lost_.list();
    Writing writing(*cut_, sources_, path, now);
    if (auto written = writing.run(manifest); !written) {
        writing.undo();
        return std::unexpected(std::move(written.error()));
    }
    return CutDone{.nodes = cut_->nodes(), .rows = writing.rows(), .lost = lost_.list()};
}

}  // namespace belay::record
