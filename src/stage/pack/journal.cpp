#include "stage/pack/journal.h"

#include "core/json.h"
#include "core/text.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

namespace {

using core::Result;

// Nothing for a line that is not whole, or not ours.
std::optional<std::pair<std::string, shard::ManifestShard>> parse_line(std::string_view line) {
    const nlohmann::json json = core::parse_json(line);
    try {
        return std::pair(json.at("source_sha256").get<std::string>(),
                         shard::ManifestShard{.path = json.at("path").get<std::string>(),
                                       .bytes = core::integer_from<uint64_t>(json.at("bytes")),
                                       .records = core::integer_from<uint64_t>(json.at("records")),
                                       .samples = core::integer_from<uint64_t>(json.at("samples")),
                                       .sha256 = json.at("sha256").get<std::string>(),
                                       .index_sha256 = json.at("index_sha256").get<std::string>()});
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

}  // namespace

Result<Journal> Journal::open(const core::Directory& output) {
    std::string file_name = ".packing";
    BELAY_TRY(before, output.facts(file_name));
    BELAY_TRY(file, output.open_file(file_name, O_RDWR | O_CREAT | O_APPEND, 0644));
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return core::bad_input("another process packs into {}", output.path().string()).hint("wait for it, or name another directory");
        return core::errno_error(errno, fmt::format("cannot lock {}", output.path_of(file_name).string()));
    }
    // What it says is believed.
    struct stat status{};
    if (fstat(file.get(), &status) != 0 || status.st_uid != geteuid())
        return core::bad_input("another user began to pack into {}", output.path().string()).hint("name another directory");
    Journal journal(output, std::move(file_name), std::move(file));
    journal.was_there_ = before.has_value();
    BELAY_CHECK(journal.read());
    return journal;
}

Result<> Journal::read() {
    BELAY_TRY(text, core::read_opened(file_.get(), output_->path_of(file_name_), shard::kMostManifestBytes));
    const size_t end = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    // What was cut off would swallow the next line.
    if (end < text.size() && ftruncate(file_.get(), static_cast<off_t>(end)) != 0)
        return core::errno_error(errno, fmt::format("cannot write {}", output_->path_of(file_name_).string()));
    for (std::string_view line : core::split(std::string_view(text).substr(0, end), '\n'))
        if (auto shard = parse_line(line)) done_.insert_or_assign(shard->first, shard->second);
    return {};
}

std::optional<shard::ManifestShard> Journal::find(const std::string& source_sha256) const {
    const auto found = done_.find(source_sha256);
    if (found == done_.end()) return std::nullopt;
    return found->second;
}

Result<> Journal::add(const std::string& source_sha256, const shard::ManifestShard& shard) {
    const std::string line = nlohmann::json{{"source_sha256", source_sha256}, {"path", shard.path},       {"bytes", shard.bytes},
                                            {"records", shard.records},       {"samples", shard.samples}, {"sha256", shard.sha256},
                                            {"index_sha256", shard.index_sha256}}
                                 .dump() +
                             '\n';
    const std::lock_guard lock(*mutex_);
    const std::string path = output_->path_of(file_name_).string();
    BELAY_CHECK(core::write_all(file_.get(), line, path));
    if (fdatasync(file_.get()) != 0) return core::errno_error(errno, fmt::format("cannot sync {}", path));
    return {};
}

Result<> Journal::remove() && { return output_->remove_file(file_name_); }

}  // namespace belay::stage
