#include "transfer/shortage.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace belay::transfer {

namespace {

constexpr core::Duration kRest = std::chrono::milliseconds(100);
// A node whose connection was not taken gives up after two seconds and tries again after half a second.
constexpr core::Duration kComingAgain = std::chrono::seconds(3);

struct Lack {
    int error;
    std::string_view hint;  // with the limit of open files in place of {}
};
constexpr Lack kLacks[] = {
    {EMFILE,
     "raise this node's hard limit of open files (RLIMIT_NOFILE, now {}) above the number of nodes of the "
     "step"},
    {ENFILE, "raise this node's limit of open files (sysctl fs.file-max)"},
    {ENOBUFS, "this node has no memory left for sockets"},
    {ENOMEM, "this node has no memory left for sockets"},
    {Shortage::kPlaces,
     "look for what connects to ports 16384 to 32767 of this node, such as a port scanner"},
};

const Lack* find(int error) {
    const auto* row = std::ranges::find(kLacks, error, &Lack::error);
    return row == std::end(kLacks) ? nullptr : row;
}

}  // namespace

MoreFiles::MoreFiles() {
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0) return;
    rlimit more = before_;
    more.rlim_cur = more.rlim_max;
    raised_ = more.rlim_cur != before_.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0;
}

MoreFiles::~MoreFiles() {
    if (raised_) setrlimit(RLIMIT_NOFILE, &before_);
}

bool Shortage::is_lack(int error) {
    return error != kPlaces && find(error) != nullptr;
}

void Shortage::note(int lack, core::Duration now) {
    lack_ = lack;
    if (!since_) since_ = now;
    last_ = now;
    resting_until_ = now + kRest;
}

void Shortage::relieve() {
    resting_until_ = {};
    since_.reset();
}

std::optional<core::Error> Shortage::why(core::Duration now) const {
    if (!lack_ || now > last_ + kComingAgain) return std::nullopt;
    constexpr std::string_view kWhat = "cannot take the connections of all nodes";
    core::Failure failure =
        *lack_ == kPlaces ? core::system_error("{}: too many came that do not belong to the step", kWhat)
                          : core::errno_error(*lack_, kWhat);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    return std::move(failure).hint(fmt::format(fmt::runtime(find(*lack_)->hint), files.rlim_max)).error();
}

bool Shortage::lasts(core::Duration now) const {
    return lack_ == EMFILE && since_ && now > *since_ + kComingAgain;
}

}  // namespace belay::transfer
