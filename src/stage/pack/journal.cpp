#include "stage/pack/journal.h"

#include "core/deadline.h"
#include "core/json.h"
#include "core/text.h"
#include "core/utf8.h"
#include "stage/dataset/dataset.h"

#include <cerrno>
#include <fcntl.h>
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

std::optional<std::string> parse_name(std::string_view line) {
    const nlohmann::json json = core::parse_json(line);
    const auto name = json.is_object() ? json.find("packing") : json.end();
    if (name == json.end() || !name->is_string()) return std::nullopt;
    return name->get<std::string>();
}

// For a pack that was killed just now: a process of it may still be ending.
constexpr core::Duration kEnding = std::chrono::seconds(2);

core::Failure is_held(const std::string& where) {
    return core::bad_input("another process packs into {}, or repairs what is there", where)
        .hint("wait for it, or name another directory");
}

}  // namespace

Result<Journal> Journal::open(const core::Directory& output) {
    std::string file_name(kJournalName);
    const std::string where = core::printable(output.path().string());
    BELAY_TRY(before, output.facts(file_name));
    auto opened = output.open_file(file_name, O_RDWR | O_APPEND | (before ? 0 : O_CREAT | O_EXCL), 0600);
    if (!opened && !before && opened.error().errno_value() == EEXIST) return is_held(where);
    if (!opened) return std::unexpected(std::move(opened.error()));
    core::Descriptor file = std::move(*opened);
    (void)fchmod(file.get(), 0600);  // whoever can open it can lock it
    BELAY_TRY(lock, core::FileLock::acquire(file.get(), output, file_name + ".lease",
                                            core::Deadline::after(kEnding)));
    if (!lock) return is_held(where);
    struct stat status{};
    if (fstat(file.get(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", output.path_of(file_name).string()));
    if (status.st_nlink == 0)
        return core::bad_input("another process packed into {} just now", where)
            .hint("give the command again");
    // What it says is believed. Some file systems give what one makes to another user.
    if (before && status.st_uid != geteuid())
        return core::bad_input("another user began to pack into {}", where).hint("name another directory");
    Journal journal(output, std::move(file_name), std::move(file), std::move(*lock));
    journal.is_new_ = !before;
    BELAY_CHECK(journal.read());
    return journal;
}

Result<> Journal::read() {
    BELAY_TRY(text, core::read_opened(file_.get(), output_->path_of(file_name_), shard::kMostManifestBytes));
    const size_t end = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    // What was cut off would swallow the next line.
    if (end < text.size() && ftruncate(file_.get(), static_cast<off_t>(end)) != 0)
        return core::errno_error(errno,
                                 fmt::format("cannot write {}", output_->path_of(file_name_).string()));
    for (std::string_view line : core::split(std::string_view(text).substr(0, end), '\n'))
        if (auto shard = parse_line(line))
            done_.insert_or_assign(shard->first, shard->second);
        else if (auto name = parse_name(line))
            names_.insert(std::move(*name));
    return {};
}

std::optional<shard::ManifestShard> Journal::find(const std::string& source_sha256) const {
    const auto found = done_.find(source_sha256);
    if (found == done_.end()) return std::nullopt;
    return found->second;
}

Result<> Journal::begin(const std::string& name) {
    names_.insert(name);
    return append({{"packing", name}});
}

Result<> Journal::add(const std::string& source_sha256, const shard::ManifestShard& shard) {
    return append({{"source_sha256", source_sha256},
                   {"path", shard.path},
                   {"bytes", shard.bytes},
                   {"records", shard.records},
                   {"samples", shard.samples},
                   {"sha256", shard.sha256},
                   {"index_sha256", shard.index_sha256}});
}

Result<> Journal::append(const nlohmann::json& line) {
    const std::lock_guard lock(*mutex_);
    const std::string path = output_->path_of(file_name_).string();
    BELAY_CHECK(core::write_all(file_.get(), line.dump() + '\n', path));
    if (fdatasync(file_.get()) != 0) return core::errno_error(errno, fmt::format("cannot sync {}", path));
    return {};
}

Result<> Journal::remove() && {
    return output_->remove_file(file_name_);
}

}  // namespace belay::stage
