// What belayd's packing costs and leaves: uploads made-up streams of nodes that sample some 340 values a second each, packs them, and
// prints bytes for each value and values a second.
//   server_pack [NODES] [SECONDS] [LEVEL...]      (40 nodes, 600 s, levels of zstd 1 3 6 9 12)
//   server_pack SPOOL [LEVEL...]                  what a real agent left: belay-agent --spool SPOOL --for 600s
// Each node has 4 GPUs with noise as benchmarks/big_streams.cpp makes it, a host, 3 interfaces, 2 disks, 3 mounts and 8 processes.
#include "core/file.h"
#include "core/program.h"
#include "core/text.h"
#include "made_node.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/gpu.h"
#include "schema/tables/host.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"
#include "server/packed/history.h"
#include "stream/block_encoder.h"
#include "stream/spool_reader.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace belay {

namespace {

using core::Result;
namespace fs = std::filesystem;

constexpr int kFlush = 2;  // seconds

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Values that are samples: neither names nor times.
uint64_t samples_in(const Batch& rows) {
    uint64_t count = 0;
    const server::SampledTable* sampled = server::sampled_table(rows.table());
    if (sampled == nullptr) return 0;
    for (const server::SampledColumn& column : sampled->columns)
        for (const uint8_t present : rows.values(column.column).present) count += present;
    return count;
}

struct Uploaded {
    uint64_t values = 0, rows = 0, bytes = 0;
    double seconds = 0;
};

Uploaded upload(server::Intake& intake, int nodes, int seconds) {
    Uploaded uploaded;
    for (int number = 0; number < nodes; ++number) {
        MadeNode node(number);
        const stream::Session session{.node = node.name(),
                                      .start = kStart,
                                      .interval = std::chrono::seconds(1),
                                      .flush = std::chrono::seconds(kFlush),
                                      .version = "bench",
                                      .cluster = "bench",
                                      .boot = "boot",
                                      .source = "agent",
                                      .began = kStart};
        const std::string head = stream::encode_head(session);
        std::string piece = head;
        uint32_t sequence = 1;
        for (int begin = 0; begin < seconds; begin += kFlush) {
            std::vector<Batch> batches = {Batch(schema::kHost), Batch(schema::kGpu), Batch(schema::kNetwork),
                                          Batch(schema::kFilesystem), Batch(schema::kProcess)};
            for (int second = begin; second < std::min(begin + kFlush, seconds); ++second)
                node.sample(second, batches);
            for (const Batch& batch : batches) {
                uploaded.values += samples_in(batch);
                uploaded.rows += batch.rows();
                for (const stream::RowsPayload& part : stream::encode_rows(batch))
                    piece += stream::encode_rows_block(part, sequence++);
            }
            // As much as an agent sends in 30 s: a sync for each would measure the disk.
            if (begin + kFlush < seconds && begin % 30 != 0) continue;
            uploaded.bytes += piece.size() - head.size();
            uploaded.seconds += seconds_of([&] {
                if (const auto accepted = intake.accept(piece); !accepted)
                    fmt::print(stderr, "{}\n", accepted.error().message());
            });
            piece = head;
        }
    }
    return uploaded;
}

// The pieces of a spool, as an agent's shipper sends them.
Result<Uploaded> upload_spool(server::Intake& intake, const fs::path& directory) {
    Uploaded uploaded;
    BELAY_TRY(spool, stream::SpoolReader::open(directory));
    BELAY_TRY(cursors, spool.streams());
    for (stream::Cursor cursor : cursors)
        for (;;) {
            BELAY_TRY(piece, spool.read(cursor, size_t{4} << 20));
            if (piece.bytes.empty()) break;
            cursor = piece.next;
            uploaded.bytes += piece.bytes.size();
            BELAY_TRY(summary, stream::read_segment_bytes(piece.bytes, "piece", [&](const Batch& batch) {
                          uploaded.values += samples_in(batch);
                          uploaded.rows += batch.rows();
                      }));
            Result<server::Accepted> accepted;
            uploaded.seconds += seconds_of([&] { accepted = intake.accept(piece.bytes); });
            if (!accepted) return std::unexpected(accepted.error());
        }
    return uploaded;
}

Result<> pack_with(const fs::path& place, const Uploaded& uploaded, int level) {
    core::ManualClock clock(kStart + std::chrono::hours(5));
    const fs::path copy = place / fmt::format("level{}", level);
    fs::create_directories(copy);
    fs::copy(place / "blocks", copy / "blocks");
    fs::permissions(copy / "blocks", fs::perms::owner_all);
    BELAY_TRY(intake, server::Intake::open(copy / "blocks", "b", {}, clock));
    server::HistoryOptions options;
    options.packed.level = level;
    BELAY_TRY(history, server::History::open(copy / "packed", *intake, options, clock));
    Result<server::PackRound> round;
    const double seconds = seconds_of([&] { round = history->pack(true); });
    if (!round) return std::unexpected(round.error());
    const auto values = static_cast<double>(uploaded.values);
    fmt::print("level {:2}: ", level);
    for (const server::PackedFile& file : round->files)
        fmt::print("{} {:.3f} B/value  ", tier_name(file.tier), static_cast<double>(file.bytes) / values);
    fmt::print("| {:.2f} s, {:.0f} rows/s, {:.2f} million values/s\n", seconds,
               static_cast<double>(uploaded.rows) / seconds, values / seconds / 1e6);
    uint64_t rows = 0;
    const double one = seconds_of([&] {
        (void)history->read_rows({.tables = {&schema::kGpu}, .nodes = {"node0000"}, .range = {}},
                                 [&](const stream::Session&, const Batch& batch) -> Result<> {
                                     rows += batch.rows();
                                     return {};
                                 });
    });
    uint64_t spans = 0;
    const double all = seconds_of([&] {
        (void)history->read_spans({.table = &schema::kGpu,
                                   .nodes = {},
                                   .range = {},
                                   .resolution = server::Tier::kTenSeconds,
                                   .columns = {column(schema::kGpu, "sm_active_ratio")}},
                                  [&](const server::SpanSeries& series) -> Result<> {
                                      spans += series.spans.size();
                                      return {};
                                  });
    });
    fmt::print(
        "          gpu of one node: {} rows in {:.1f} ms; one column of all nodes: {} spans in {:.1f} ms\n",
        rows, one * 1e3, spans, all * 1e3);
    std::error_code ignored;
    fs::remove_all(copy, ignored);
    return {};
}

Result<int> run(std::vector<std::string> arguments) {
    std::optional<fs::path> spool;
    if (!arguments.empty() && fs::is_directory(arguments[0])) {
        spool = arguments[0];
        arguments.erase(arguments.begin());
    }
    std::vector<int> numbers;
    for (const std::string& argument : arguments) {
        const auto number = core::parse_number<int>(argument);
        if (!number) return core::bad_input("usage: server_pack [SPOOL | NODES SECONDS] [LEVEL...]");
        numbers.push_back(*number);
    }
    const size_t shape = spool ? 0 : std::min<size_t>(2, numbers.size());
    const int nodes = shape > 0 ? numbers[0] : 40, seconds = shape > 1 ? numbers[1] : 600;
    std::vector<int> levels(numbers.begin() + static_cast<std::ptrdiff_t>(shape), numbers.end());
    if (levels.empty()) levels = {1, 3, 6, 9, 12};
    BELAY_TRY(place, core::TemporaryDirectory::create("server_pack"));
    core::ManualClock clock(kStart);
    Uploaded uploaded;
    {
        BELAY_TRY(intake, server::Intake::open(place.path() / "blocks", "a", {}, clock));
        if (spool) {
            BELAY_TRY(sent, upload_spool(*intake, *spool));
            uploaded = sent;
        } else {
            uploaded = upload(*intake, nodes, seconds);
        }
    }
    if (!spool)
        fmt::print("{} nodes, {} s, {:.0f} values a node and second\n", nodes, seconds,
                   static_cast<double>(uploaded.values) / nodes / seconds);
    fmt::print("{:.2f} million values, {:.3f} million rows\n", static_cast<double>(uploaded.values) / 1e6,
               static_cast<double>(uploaded.rows) / 1e6);
    fmt::print("as uploaded: {:.3f} B/value; accepting them: {:.2f} million values/s\n",
               static_cast<double>(uploaded.bytes) / static_cast<double>(uploaded.values),
               static_cast<double>(uploaded.values) / uploaded.seconds / 1e6);
    for (const int level : levels) BELAY_CHECK(pack_with(place.path(), uploaded, level));
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("peak memory {:.0f} MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
    return 0;
}

}  // namespace

}  // namespace belay

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return belay::core::run_program("server_pack", [&] { return belay::run(arguments); });
}
