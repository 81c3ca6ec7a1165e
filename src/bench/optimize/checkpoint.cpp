#include "bench/optimize/checkpoint.h"

#include "core/directory.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/new_file.h"
#include "core/text.h"
#include "core/user.h"

#include <bit>
#include <cstring>
#include <limits>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace belay::bench {

using core::bad_input;
using core::Result;

namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are written as memory lies");

constexpr std::string_view kMagic = "BLYCKPT1";
constexpr size_t kDigestBytes = 32;
constexpr size_t kLargest = size_t{64} << 30;

Result<core::Directory> parent_of(const std::filesystem::path& path) {
    return core::Directory::open_trusted(path.has_parent_path() ? path.parent_path()
                                                                : std::filesystem::path("."));
}

// Where a number of the facts stands.
struct Fact {
    const char* name;
    int64_t Checkpoint::* place;
};
constexpr Fact kFacts[] = {{"step", &Checkpoint::step},
                           {"epoch", &Checkpoint::epoch},
                           {"step_of_epoch", &Checkpoint::step_of_epoch},
                           {"optimizer_steps", &Checkpoint::optimizer_steps}};
constexpr std::vector<float> Checkpoint::* kArrays[] = {&Checkpoint::parameters, &Checkpoint::optimizer_state,
                                                        &Checkpoint::buffers};

template <typename Number>
void append(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Takes `count` bytes from the front of `bytes`.
Result<std::string_view> take(std::string_view& bytes, size_t count) {
    if (count > bytes.size()) return bad_input("the checkpoint is cut off");
    const std::string_view taken = bytes.substr(0, count);
    bytes.remove_prefix(count);
    return taken;
}

template <typename Number>
Result<Number> take_number(std::string_view& bytes) {
    BELAY_TRY(taken, take(bytes, sizeof(Number)));
    Number number;
    std::memcpy(&number, taken.data(), sizeof number);
    return number;
}

Result<> read_facts(std::string_view text, Checkpoint& checkpoint) {
    const auto facts = core::parse_json(text);
    if (!facts.is_object() || !facts.contains("run") || !facts["run"].is_object())
        return bad_input("the checkpoint does not say what run it is of");
    checkpoint.run = facts["run"].dump();
    for (const Fact& fact : kFacts) {
        const auto member = facts.find(fact.name);
        if (member == facts.end() || !member->is_number_integer() || *member < 0 ||
            *member > std::numeric_limits<int32_t>::max())
            return bad_input("\"{}\" of the checkpoint is not a number of steps", fact.name);
        checkpoint.*fact.place = member->get<int64_t>();
    }
    return {};
}

Result<std::vector<float>> take_array(std::string_view& bytes) {
    BELAY_TRY(count, take_number<uint64_t>(bytes));
    if (count > bytes.size() / sizeof(float)) return bad_input("the checkpoint is cut off");
    BELAY_TRY(taken, take(bytes, count * sizeof(float)));
    std::vector<float> values(count);
    if (count > 0) std::memcpy(values.data(), taken.data(), taken.size());
    return values;
}

}  // namespace

std::string encode_checkpoint(const Checkpoint& checkpoint) {
    nlohmann::json facts = {{"run", core::parse_json(checkpoint.run)}};
    for (const Fact& fact : kFacts) facts[fact.name] = checkpoint.*fact.place;
    const std::string text = facts.dump();
    std::string bytes(kMagic);
    append(bytes, static_cast<uint32_t>(text.size()));
    bytes += text;
    for (const auto array : kArrays) {
        const std::vector<float>& values = checkpoint.*array;
        append(bytes, uint64_t{values.size()});
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    }
    bytes += core::bytes_of(core::sha256(bytes));
    return bytes;
}

Result<Checkpoint> decode_checkpoint(std::string_view bytes) {
    if (!bytes.starts_with(kMagic)) return bad_input("it is not a checkpoint of belay-train");
    if (bytes.size() < kMagic.size() + kDigestBytes) return bad_input("the checkpoint is cut off");
    const std::string_view digest = bytes.substr(bytes.size() - kDigestBytes);
    bytes.remove_suffix(kDigestBytes);
    if (core::bytes_of(core::sha256(bytes)) != digest)
        return bad_input("the checkpoint is damaged: its checksum does not match");
    bytes.remove_prefix(kMagic.size());
    Checkpoint checkpoint;
    BELAY_TRY(length, take_number<uint32_t>(bytes));
    BELAY_TRY(text, take(bytes, length));
    BELAY_CHECK(read_facts(text, checkpoint));
    for (const auto array : kArrays) {
        BELAY_TRY(values, take_array(bytes));
        checkpoint.*array = std::move(values);
    }
    if (!bytes.empty())
        return bad_input("the checkpoint goes on for {} behind its end",
                         core::format_count(bytes.size(), "byte"));
    return checkpoint;
}

Result<> write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
    BELAY_TRY(directory, parent_of(path));
    BELAY_TRY(file, core::NewFile::begin(directory, path.filename().string(), 0644));
    BELAY_CHECK(core::write_all(file.fd(), encode_checkpoint(checkpoint), path.string()));
    return std::move(file).replace();
}

Result<Checkpoint> read_checkpoint(const std::filesystem::path& path) {
    BELAY_TRY(directory, parent_of(path));
    const std::string name = path.filename();
    BELAY_TRY(facts, directory.facts(name));
    if (facts && facts->owner != geteuid() && facts->owner != 0)
        return bad_input("{} belongs to {}, who decides by it what this training goes on from", path.string(),
                         core::user_name(facts->owner))
            .because(core::Cause::kDenied)
            .hint("where that is meant, go on from a copy of your own");
    BELAY_TRY(bytes, directory.read_file(name, kLargest));
    return core::with_context(decode_checkpoint(bytes), path.string());
}

}  // namespace belay::bench
