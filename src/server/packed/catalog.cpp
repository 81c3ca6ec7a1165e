#include "server/packed/catalog.h"

#include "core/new_file.h"
#include "core/text.h"
#include "stream/cursor.h"
#include "stream/segment_format.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kFirstLine = "belay-packed 1";
constexpr std::string_view kCatalogSuffix = ".catalog";
constexpr std::string_view kPackedSuffix = ".pak";
constexpr size_t kSequenceDigits = 16;

std::optional<uint64_t> sequence_at(std::string_view name) {
    if (name.size() < kSequenceDigits) return std::nullopt;
    uint64_t number = 0;
    for (const char c : name.substr(0, kSequenceDigits)) {
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (c < 'a' || c > 'f')) return std::nullopt;
        number = number << 4 | static_cast<uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
    }
    return number;
}

std::string time_text(core::Time time) {
    return fmt::format("{}", core::to_nanoseconds(time));
}

// Takes the fields of a line, one after the other; what is wrong is told at the end.
class Fields {
  public:
    explicit Fields(std::string_view line) : fields_(core::split(line, '\t')) {}

    std::string_view text() {
        if (at_ < fields_.size()) return fields_[at_++];
        is_right_ = false;
        return {};
    }
    template <typename Number>
    Number number() {
        const auto value = core::parse_number<Number>(text());
        is_right_ &= value.has_value();
        return value.value_or(Number());
    }
    core::Time time() { return core::time_from_nanoseconds(number<int64_t>()); }
    bool are_right() const { return is_right_ && at_ == fields_.size(); }

  private:
    std::vector<std::string_view> fields_;
    size_t at_ = 0;
    bool is_right_ = true;
};

Result<> take_line(std::string_view line, Catalog& catalog) {
    Fields fields(line);
    const std::string_view kind = fields.text();
    if (kind == "sequence") {
        catalog.sequence = fields.number<uint64_t>();
    } else if (kind == "file") {
        PackedFile file;
        const auto tier = tier_named(fields.text());
        file.name = fields.text();
        file.bytes = fields.number<uint64_t>();
        file.rows = fields.number<uint64_t>();
        file.values = fields.number<uint64_t>();
        file.first_time = fields.time();
        file.last_time = fields.time();
        file.arrived_from = fields.time();
        file.arrived_until = fields.time();
        if (!tier) return bad_input("a file of an unknown tier");
        file.tier = *tier;
        catalog.files.push_back(std::move(file));
    } else if (kind == "log") {
        const std::string_view name = fields.text();
        catalog.packed_logs.emplace(name, fields.number<uint64_t>());
    } else if (kind == "stream") {
        BELAY_TRY(cursor, stream::parse_cursor(fields.text()));
        PackedBlocks packed;
        packed.arrived = fields.time();
        BELAY_TRY(blocks, parse_block_runs(fields.text()));
        packed.blocks = std::move(blocks);
        catalog.streams[cursor.stream] = std::move(packed);
    } else {
        return bad_input("a line of an unknown kind");
    }
    if (!fields.are_right()) return bad_input("a line that is malformed");
    return {};
}

}  // namespace

uint64_t Catalog::bytes() const {
    return std::accumulate(files.begin(), files.end(), uint64_t{0},
                           [](uint64_t sum, const PackedFile& file) { return sum + file.bytes; });
}

const PackedFile* Catalog::find(std::string_view name) const {
    const auto found = std::ranges::find(files, name, &PackedFile::name);
    return found == files.end() ? nullptr : &*found;
}

void Catalog::sort_files() {
    std::ranges::sort(files, {}, [](const PackedFile& file) {
        return std::tuple(file.tier, file.arrived_until, std::string_view(file.name));
    });
}

std::string encode_catalog(const Catalog& catalog) {
    std::string text = fmt::format("{}\nsequence\t{}\n", kFirstLine, catalog.sequence);
    const auto out = std::back_inserter(text);
    for (const PackedFile& file : catalog.files)
        fmt::format_to(out, "file\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", tier_name(file.tier), file.name,
                       file.bytes, file.rows, file.values, time_text(file.first_time),
                       time_text(file.last_time), time_text(file.arrived_from),
                       time_text(file.arrived_until));
    for (const auto& [log, bytes] : catalog.packed_logs) fmt::format_to(out, "log\t{}\t{}\n", log, bytes);
    for (const auto& [stream, packed] : catalog.streams)
        fmt::format_to(out, "stream\t{}\t{}\t{}\n", stream::to_text({stream, packed.blocks.end()}),
                       time_text(packed.arrived), to_text(packed.blocks));
    const uint32_t sum = stream::checksum(text);
    fmt::format_to(out, "end\t{:08x}\n", sum);
    return text;
}

Result<Catalog> decode_catalog(std::string_view text) {
    constexpr std::string_view kEnd = "end\t";
    constexpr size_t kEndBytes = kEnd.size() + 8 + 1;
    if (!text.starts_with(kFirstLine)) return bad_input("does not begin as a catalog of packed files");
    if (text.size() < kEndBytes) return bad_input("is cut off");
    const std::string_view body = text.substr(0, text.size() - kEndBytes);
    if (text.substr(body.size()) != fmt::format("{}{:08x}\n", kEnd, stream::checksum(body)))
        return bad_input("is damaged or cut off");
    Catalog catalog;
    bool is_first = true;
    for (std::string_view line : core::split(body, '\n')) {
        if (std::exchange(is_first, false) || line.empty()) continue;
        BELAY_CHECK(take_line(line, catalog));
    }
    return catalog;
}

std::string catalog_file_name(uint64_t sequence) {
    return fmt::format("{:016x}{}", sequence, kCatalogSuffix);
}

std::optional<uint64_t> sequence_of_catalog(std::string_view name) {
    if (name.size() != kSequenceDigits + kCatalogSuffix.size() || !name.ends_with(kCatalogSuffix))
        return std::nullopt;
    return sequence_at(name);
}

std::optional<uint64_t> sequence_of_packed(std::string_view name) {
    return tier_of_packed(name) ? sequence_at(name) : std::nullopt;
}

Result<std::string> new_packed_name(uint64_t sequence, Tier tier) {
    BELAY_TRY(start, core::random_name(fmt::format("{:016x}-", sequence)));
    return fmt::format("{}-{}{}", start, tier_name(tier), kPackedSuffix);
}

std::optional<Tier> tier_of_packed(std::string_view name) {
    if (!name.ends_with(kPackedSuffix)) return std::nullopt;
    name.remove_suffix(kPackedSuffix.size());
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    return tier_named(name.substr(dash + 1));
}

}  // namespace belay::server
