#include "bench/train/staging.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/new_file.h"
#include "shard/manifest.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace belay::bench {

namespace fs = std::filesystem;
using core::Result;

namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;

Result<std::vector<std::string>> names_beneath(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
        if (it->is_regular_file(error)) names.push_back(it->path().lexically_relative(directory).string());
    if (error) return core::errno_error(error, fmt::format("cannot list {}", directory.string()));
    std::ranges::sort(names);
    return names;
}

// What a packed data set is made of.
Result<std::vector<std::string>> names_of_packed(const core::Directory& directory) {
    const std::string name(shard::kManifestName);
    BELAY_TRY(text, directory.read_file(name, shard::kMostManifestBytes));
    BELAY_TRY(manifest, shard::parse_manifest(text, directory.path_of(name).string()));
    std::vector<std::string> names;
    for (const shard::ManifestShard& part : manifest.shards) {
        names.push_back(part.path);
        if (manifest.format == shard::Format::kTar)
            names.push_back(fs::path(part.path).replace_extension(".idx").string());
    }
    names.push_back(name);
    return names;
}

Result<std::vector<std::string>> names_of_all(const core::Directory& directory) {
    BELAY_TRY(manifest, directory.facts(shard::kManifestName));
    if (manifest) return names_of_packed(directory);
    return names_beneath(directory.path());
}

Result<uint64_t> copy_content(const core::Directory& from, const core::Directory& to, const std::string& name,
                              const std::string& new_name, std::vector<char>& buffer) {
    BELAY_TRY(in, from.open_file(name, O_RDONLY));
    BELAY_TRY(out, to.open_file(new_name, O_WRONLY | O_CREAT | O_EXCL, 0600));
    uint64_t bytes = 0;
    for (;;) {
        const ssize_t count = ::read(in.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return core::errno_error(errno, fmt::format("cannot read {}", from.path_of(name).string()));
        if (count == 0) return bytes;
        BELAY_CHECK(core::write_all(out.get(), {buffer.data(), static_cast<size_t>(count)},
                                    to.path_of(name).string()));
        bytes += static_cast<uint64_t>(count);
    }
}

// As a file that appears whole: ranks that share samples copy the same ones at the same time. It is not synced, as it is
// copied again where the node goes down.
Result<uint64_t> copy_file(const core::Directory& from, const core::Directory& to, const std::string& name,
                           std::vector<char>& buffer) {
    BELAY_TRY(new_name, core::random_name(name + ".part-"));
    auto bytes = copy_content(from, to, name, new_name, buffer);
    if (bytes)
        if (auto renamed = to.rename(new_name, name); !renamed) bytes = std::unexpected(renamed.error());
    if (!bytes) static_cast<void>(to.remove_file(new_name));
    return bytes;
}

bool is_within(const fs::path& inner, const fs::path& outer) {
    const fs::path way = inner.lexically_relative(outer);
    return !way.empty() && *way.begin() != "..";
}

}  // namespace

Result<Staged> stage_files(const fs::path& from, const fs::path& to, std::vector<std::string> names,
                           Sharing sharing, const std::atomic<bool>& stop) {
    BELAY_TRY(out, core::Directory::make_guarded(to, 0700));
    std::error_code error;
    const fs::path source = fs::canonical(from, error);
    if (error) return core::errno_error(error, fmt::format("cannot find {}", from.string()));
    const fs::path target = fs::canonical(to, error);
    if (error) return core::errno_error(error, fmt::format("cannot find {}", to.string()));
    if (is_within(source, target) || is_within(target, source))
        return core::bad_input("--stage-to: {} and {}, the data, are within one another", to.string(),
                               from.string())
            .hint("name a directory of the node's own storage");
    BELAY_TRY(in, core::Directory::open(source));
    if (names.empty()) {
        BELAY_TRY(found, names_of_all(in));
        names = std::move(found);
    }
    std::vector<char> buffer(kCopyBytes);
    Staged staged;
    for (auto i = static_cast<size_t>(sharing.number); i < names.size();
         i += static_cast<size_t>(sharing.ranks)) {
        if (stop) return core::system_error("staging was stopped").because(core::Cause::kCancelled);
        std::string parent;
        for (const fs::path& level : fs::path(names[i]).parent_path()) {
            parent = (fs::path(parent) / level).string();
            BELAY_TRY(made, out.make_directory(parent));
            static_cast<void>(made);
        }
        BELAY_TRY(bytes, copy_file(in, out, names[i], buffer));
        ++staged.files;
        staged.bytes += bytes;
    }
    return staged;
}

}  // namespace belay::bench
