#include "bench/models/oc20/files/trajectories.h"

#include "bench/models/oc20/files/structure_pickle.h"

#include <algorithm>
#include <cerrno>
#include <lmdb.h>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace belay::bench::oc20 {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;

namespace {

core::Error lmdb_error(int code, const fs::path& path) {
    const auto text = fmt::format("{}: {}", path.string(), mdb_strerror(code));
    // Codes of the system are positive, of liblmdb negative.
    return code > 0 ? core::Error(core::ErrorKind::kSystem, text).because(core::cause_of_errno(code))
                    : core::Error(core::ErrorKind::kBadInput, text);
}

}  // namespace

// One file, open for reading by one transaction for as long as this lives.
struct Trajectories::File {
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (transaction != nullptr) mdb_txn_abort(transaction);
        if (environment != nullptr) mdb_env_close(environment);
    }

    Result<> open();
    // Pages that are not there would end the process by SIGBUS, since liblmdb maps the file.
    Result<> check_length() const;
    // Valid as long as the file. Nothing where the key is not there.
    Result<std::string_view> value(const std::string& key) const;

    fs::path path;
    MDB_env* environment = nullptr;
    MDB_txn* transaction = nullptr;
    MDB_dbi database = 0;
    uint64_t first = 0, count = 0;  // places in the list
};

struct Trajectories::Files {
    std::vector<std::unique_ptr<File>> list;
    uint64_t size = 0;
    std::mutex mutex;  // a transaction is used by one thread at a time
};

Result<> Trajectories::File::check_length() const {
    MDB_envinfo info;
    MDB_stat statistics;
    if (int code = mdb_env_info(environment, &info)) return std::unexpected(lmdb_error(code, path));
    if (int code = mdb_env_stat(environment, &statistics)) return std::unexpected(lmdb_error(code, path));
    std::error_code ignored;
    const uint64_t length = fs::file_size(path, ignored);
    if (info.me_last_pgno >= length / statistics.ms_psize)
        return bad_input("{}: it has {} bytes, and its last page is {} of {} bytes: it is cut off",
                         path.string(), length, info.me_last_pgno, statistics.ms_psize);
    return {};
}

Result<> Trajectories::File::open() {
    if (int code = mdb_env_create(&environment)) return std::unexpected(lmdb_error(code, path));
    constexpr unsigned kFlags = MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK | MDB_NORDAHEAD | MDB_NOTLS;
    if (int code = mdb_env_open(environment, path.c_str(), kFlags, 0))
        return std::unexpected(lmdb_error(code, path));
    BELAY_CHECK(check_length());
    if (int code = mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction))
        return std::unexpected(lmdb_error(code, path));
    if (int code = mdb_dbi_open(transaction, nullptr, 0, &database))
        return std::unexpected(lmdb_error(code, path));
    BELAY_TRY(length, value("length"));
    BELAY_TRY(structures, core::with_context(integer_from_pickle(length),
                                             fmt::format("{}: key \"length\"", path.string())));
    if (structures < 0 || structures > int64_t{1} << 40)
        return bad_input("{}: key \"length\": {} is not a number of structures", path.string(), structures);
    count = static_cast<uint64_t>(structures);
    return {};
}

Result<std::string_view> Trajectories::File::value(const std::string& key) const {
    MDB_val name{key.size(), const_cast<char*>(key.data())}, found{};
    const int code = mdb_get(transaction, database, &name, &found);
    if (code == MDB_NOTFOUND) return bad_input("{}: it has no key \"{}\"", path.string(), key);
    if (code != 0) return std::unexpected(lmdb_error(code, path));
    return std::string_view(static_cast<const char*>(found.mv_data), found.mv_size);
}

Trajectories::Trajectories(std::unique_ptr<Files> files) : files_(std::move(files)) {}
Trajectories::Trajectories(Trajectories&&) noexcept = default;
Trajectories& Trajectories::operator=(Trajectories&&) noexcept = default;
Trajectories::~Trajectories() = default;

namespace {

std::vector<fs::path> lmdb_files_in(const fs::path& directory, std::error_code& error) {
    std::vector<fs::path> found;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
        if (entry->path().extension() == ".lmdb") found.push_back(entry->path());
    std::ranges::sort(found);
    return found;
}

}  // namespace

bool Trajectories::are_in(const fs::path& directory) {
    std::error_code ignored;
    return !lmdb_files_in(directory, ignored).empty();
}

Result<Trajectories> Trajectories::open(const fs::path& directory) {
    std::error_code error;
    auto files = std::make_unique<Files>();
    for (const fs::path& path : lmdb_files_in(directory, error)) {
        auto file = std::make_unique<File>();
        file->path = path;
        BELAY_CHECK(file->open());
        file->first = files->size;
        files->size += file->count;
        files->list.push_back(std::move(file));
    }
    if (error) return core::errno_error(error, fmt::format("cannot list {}", directory.string()));
    if (files->list.empty())
        return bad_input("{} has no .lmdb files", directory.string())
            .hint("name a directory with train/*.lmdb and eval/*.lmdb");
    return Trajectories(std::move(files));
}

uint64_t Trajectories::size() const {
    return files_->size;
}

Result<Structure> Trajectories::read(uint64_t place, double cutoff) const {
    if (place >= files_->size)
        return bad_input("{}: it has {} structures, and number {} is needed",
                         files_->list[0]->path.parent_path().string(), files_->size, place)
            .hint("train on fewer samples: --train-samples, --eval-samples");
    const auto after =
        std::ranges::upper_bound(files_->list, place, {}, [](const auto& file) { return file->first; });
    // Files without structures share their first place with the next one, which is the last of them.
    const File& file = **std::prev(after);
    const std::string key = std::to_string(place - file.first);
    std::string_view bytes;
    {
        const std::lock_guard lock(files_->mutex);
        BELAY_TRY(found, file.value(key));
        bytes = found;
    }
    auto decode = [&]() -> Result<Structure> {
        BELAY_TRY(structure, structure_from_pickle(bytes));
        BELAY_CHECK(check_structure(structure, cutoff));
        return structure;
    };
    return core::with_context(decode(), fmt::format("{}: key \"{}\"", file.path.string(), key));
}

}  // namespace belay::bench::oc20
