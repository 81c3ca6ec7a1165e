#include "server/records/adopt.h"

#include "core/json.h"
#include "core/text.h"
#include "core/utf8.h"
#include "record/place.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace belay::server {

using core::bad_input;
using core::Directory;
using core::Result;

namespace {

constexpr std::string_view kFolders[] = {record::kSegmentsName, record::kLostSegmentsName,
                                         record::kTablesName, record::kAnnexesName};

// Names of files, as records have them.
bool is_file_name(std::string_view name) {
    return core::is_name_beneath(name) && name.front() != '.' && core::printable(name) == name;
}

class Copying {
  public:
    explicit Copying(const AdoptLimits& limits) : limits_(limits) {}

    Result<> folder(const Directory& from, const Directory& to, std::string_view name) {
        BELAY_TRY(there, from.facts(name));
        if (!there) return {};
        if (there->type != core::FileType::kDirectory)
            return bad_input("{} is a {}, not a directory", name, there->type_name);
        BELAY_TRY(source, from.enter(name));
        BELAY_TRY(names, source.list());
        BELAY_CHECK(to.make_directory(name, 0700));
        BELAY_TRY(target, to.enter(name));
        for (const std::string& file_name : names) {
            if (!is_file_name(file_name))
                return bad_input("\"{}\" in {} is not the name of a part of a record",
                                 core::printable(file_name), name);
            BELAY_CHECK(core::with_context(file(source, target, file_name), name));
        }
        return target.sync();
    }

    Result<> file(const Directory& from, const Directory& to, std::string_view name) {
        if (++files_ > limits_.files) return bad_input("the record has more than {} files", limits_.files);
        BELAY_TRY(source, from.open_file(name, O_RDONLY));
        BELAY_TRY(target, to.open_file(name, O_WRONLY | O_CREAT | O_EXCL));
        for (;;) {
            const ssize_t got = ::read(source.get(), buffer_.data(), buffer_.size());
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return core::errno_error(errno, fmt::format("cannot read {}", name));
            if (got == 0) break;
            bytes_ += static_cast<uint64_t>(got);
            if (bytes_ > limits_.bytes) return bad_input("the record has more than {} bytes", limits_.bytes);
            BELAY_CHECK(core::write_all(target.get(), {buffer_.data(), static_cast<size_t>(got)}, name));
        }
        return close(target, name);
    }

  private:
    // Nobody writes to the copy: a segment that looks young would pass for one that somebody does.
    static Result<> close(const core::Descriptor& file, std::string_view name) {
        const std::array<timespec, 2> long_ago{};
        if (futimens(file.get(), long_ago.data()) != 0 || fsync(file.get()) != 0)
            return core::errno_error(errno, fmt::format("cannot sync {}", name));
        return {};
    }

    AdoptLimits limits_;
    size_t files_ = 0;
    uint64_t bytes_ = 0;
    std::vector<char> buffer_ = std::vector<char>(size_t{1} << 20);
};

// What `belay` printed. Its exit status says whose fault a failure is.
Result<std::string> ask(const std::vector<std::string>& command, const ProgramLimits& limits) {
    auto output = run_limited(command, limits);
    if (!output && output.error().cause() == core::Cause::kTimedOut)
        return bad_input("the record takes longer to open than is allowed").because(core::Cause::kTimedOut);
    if (!output) return std::unexpected(std::move(output.error()));
    const core::ExitStatus& status = output->status;
    if (status.success()) return std::move(output->out);
    constexpr size_t kMostShown = 500;
    const std::string why = core::printable(core::utf8_prefix(core::trim(output->err), kMostShown));
    const bool is_its_fault =
        status.signal != 0 || status.code == static_cast<int>(core::ErrorKind::kBadInput);
    const std::string text = fmt::format("the record cannot be opened: {}: {}", status.describe(), why);
    if (is_its_fault) return bad_input("{}", text);
    return core::system_error("{}", text);
}

}  // namespace

Result<> copy_record(const Directory& from, const Directory& to, const AdoptLimits& limits) {
    Copying copying(limits);
    auto manifest = copying.file(from, to, record::kManifestName);
    if (!manifest && manifest.error().cause() == core::Cause::kNotFound)
        return bad_input("it holds no {}, so it is not a record", record::kManifestName)
            .because(core::Cause::kNotFound);
    BELAY_CHECK(std::move(manifest));
    for (std::string_view folder : kFolders) BELAY_CHECK(copying.folder(from, to, folder));
    return to.sync();
}

Result<> check_record(const std::filesystem::path& path, const std::filesystem::path& belay,
                      const ProgramLimits& limits) {
    BELAY_TRY(manifest, record::read_manifest(path));
    const std::string program = belay.string(), name = path.string();
    BELAY_TRY(info, ask({program, "record", "info", "--json", name}, limits));
    if (core::parse_json(info).is_discarded())
        return bad_input("the record cannot be opened: {} printed no JSON about it", program);
    if (manifest.sealed) return {};
    BELAY_CHECK(ask({program, "record", "seal", "--json", name}, limits));
    BELAY_TRY(now, record::read_manifest(path));
    if (!now.sealed) return core::system_error("{} could not be sealed", name);
    return {};
}

}  // namespace belay::server
