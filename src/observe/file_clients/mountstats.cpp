#include "observe/file_clients/mountstats.h"

#include "observe/collect/units.h"
#include "procfs/mountinfo.h"
#include "procfs/scan.h"

#include <algorithm>
#include <span>
#include <utility>

namespace belay::observe::file_clients {

namespace {

using procfs::Lines;
using procfs::Words;

constexpr size_t kMostMounts = 4096;

// Operations on names and attributes, of all versions of the protocol, as the kernel prints them
// (p_name in fs/nfs/nfs3xdr.c, nfs4xdr.c and nfs42xdr.c). The others move data (COMMIT, COPY …), hold locks,
// delegations and layouts, or keep the session.
constexpr std::string_view kMetadata[] = {
    "ACCESS",      "CLOSE",       "CREATE",   "FS_LOCATIONS", "FSINFO",         "FSSTAT",      "GETACL",
    "GETATTR",     "GETXATTR",    "LINK",     "LISTXATTRS",   "LOOKUP",         "LOOKUP_ROOT", "LOOKUPP",
    "MKDIR",       "MKNOD",       "OPEN",     "OPEN_CONFIRM", "OPEN_DOWNGRADE", "OPEN_NOATTR", "PATHCONF",
    "READDIR",     "READDIRPLUS", "READLINK", "REMOVE",       "REMOVEXATTR",    "RENAME",      "RMDIR",
    "SERVER_CAPS", "SETACL",      "SETATTR",  "SETXATTR",     "STATFS",         "SYMLINK",
};

// Values of a line of an operation, by place.
enum Field : size_t {
    kOperations,
    kTransmissions,
    kTimeouts,
    kBytesSent,
    kBytesReceived,
    kQueue,
    kRoundTrip,
    kExecute,
    kErrors,
    kFields,
};
using Values = std::array<std::optional<int64_t>, kFields>;

template <size_t kSize>
void take_counts(Words words, std::array<std::optional<int64_t>, kSize>& values) {
    for (auto& value : values) value = procfs::count(words.next());
}

// Old kernels count an operation that they never sent, too.
std::optional<int64_t> retransmits_of(const Values& values) {
    if (!values[kOperations] || !values[kTransmissions]) return std::nullopt;
    return std::max<int64_t>(*values[kTransmissions] - *values[kOperations], 0);
}

void add(NfsOperations& sum, const Values& values) {
    sum.count = collect::sum(sum.count, values[kOperations]);
    sum.queue_milliseconds = collect::sum(sum.queue_milliseconds, values[kQueue]);
    sum.round_trip_milliseconds = collect::sum(sum.round_trip_milliseconds, values[kRoundTrip]);
    sum.execute_milliseconds = collect::sum(sum.execute_milliseconds, values[kExecute]);
}

// "        READ: 100 100 0 1000 2000 5 300 310 0"
void take_operation(std::string_view name, Words words, NfsMount& mount) {
    name.remove_suffix(1);
    Values values;
    take_counts(words, values);
    if (name == "READ") add(mount.reads, values);
    if (name == "WRITE") add(mount.writes, values);
    if (std::ranges::find(kMetadata, name) != std::end(kMetadata)) add(mount.metadata, values);
    mount.retransmits = collect::sum(mount.retransmits, retransmits_of(values));
    mount.major_timeouts = collect::sum(mount.major_timeouts, values[kTimeouts]);
    mount.errors = collect::sum(mount.errors, values[kErrors]);
}

// How many values stand before the number of connects, by name of the transport; udp has none.
constexpr std::pair<std::string_view, int> kBeforeConnects[] = {{"tcp", 2}, {"rdma", 2}, {"local", 1}};

void take_transport(Words words, NfsMount& mount, bool& connects_are_told) {
    const std::string_view name = words.next();
    if (mount.transport.empty()) mount.transport = name;
    const auto found = std::ranges::find(kBeforeConnects, name, &std::pair<std::string_view, int>::first);
    std::optional<int64_t> connects;
    if (found != std::end(kBeforeConnects)) {
        words.skip(found->second);
        connects = procfs::count(words.next());
    }
    const bool first = !std::exchange(connects_are_told, true);
    mount.connects = collect::sum(first ? 0 : mount.connects, connects);
}

// "rw,vers=4.2,rsize=…": "4.2"
std::string_view version_in(std::string_view options) {
    constexpr std::string_view kKey = "vers=";
    while (!options.empty()) {
        const size_t comma = std::min(options.find(','), options.size());
        const std::string_view option = options.substr(0, comma);
        if (option.starts_with(kKey)) return option.substr(kKey.size());
        options.remove_prefix(std::min(comma + 1, options.size()));
    }
    return {};
}

// "device SOURCE mounted on POINT with fstype TYPE"; nothing for mounts that are not of NFS.
std::optional<NfsMount> mount_of(Words words) {
    NfsMount mount;
    mount.source = procfs::unescape_octal(words.next());
    if (words.next() != "mounted" || words.next() != "on") return std::nullopt;
    mount.mount_point = procfs::unescape_octal(words.next());
    if (words.next() != "with" || words.next() != "fstype") return std::nullopt;
    mount.type = words.next();
    if (mount.type != "nfs" && mount.type != "nfs4") return std::nullopt;
    return mount;
}

class MountstatsParser {
  public:
    std::vector<NfsMount> parse(std::string_view text) {
        std::string_view line;
        for (Lines lines(text); lines.next(line);) take(line);
        if (text.ends_with('\n')) finish();
        return std::move(mounts_);
    }

  private:
    void take(std::string_view line) {
        Words words(line);
        const std::string_view key = words.next();
        if (!line.starts_with('\t') && (key == "device" || key == "no")) {
            finish();
            if (key == "device") current_ = mount_of(words);
        } else if (current_) {
            take_line(key, words);
        }
    }

    void take_line(std::string_view key, Words words) {
        NfsMount& mount = *current_;
        if (mount.has_operations) {
            if (key.ends_with(':')) take_operation(key, words, mount);
        } else if (key == "opts:") {
            mount.version = version_in(words.next());
        } else if (key == "age:") {
            mount.age_seconds = procfs::count(words.next());
        } else if (key == "bytes:") {
            take_counts(words, mount.bytes);
        } else if (key == "events:") {
            take_counts(words, mount.events);
        } else if (key == "xprt:") {
            take_transport(words, mount, connects_are_told_);
        } else if (key == "per-op") {
            mount.has_operations = true;
        }
    }

    void finish() {
        if (current_ && mounts_.size() < kMostMounts) mounts_.push_back(std::move(*current_));
        current_.reset();
        connects_are_told_ = false;
    }

    std::vector<NfsMount> mounts_;
    std::optional<NfsMount> current_;
    bool connects_are_told_ = false;
};

}  // namespace

std::vector<NfsMount> parse_mountstats(std::string_view text) {
    return MountstatsParser().parse(text);
}

}  // namespace belay::observe::file_clients
