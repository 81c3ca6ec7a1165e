#include "server/login/replay_cache.h"

#include "core/hash.h"

namespace belay::server {

void ReplayCache::forget_old() {
    const core::Duration now = clock_.monotonic();
    for (; !entries_.empty() && entries_.front().until <= now; entries_.pop_front()) {
        const Entry& old = entries_.front();
        digests_.erase(old.digest);
        if (--of_owner_[old.owner] == 0) of_owner_.erase(old.owner);
    }
}

ReplayCache::Answer ReplayCache::take(const std::string& credential, uint32_t owner) {
    const core::Sha256Digest hash = core::sha256(credential);
    const std::string digest(core::bytes_of(hash));
    const std::lock_guard lock(mutex_);
    forget_old();
    if (digests_.contains(digest)) return Answer::kAgain;
    const auto own = of_owner_.find(owner);
    if (entries_.size() >= most_ || (own != of_owner_.end() && own->second >= most_of_owner_))
        return Answer::kFull;
    entries_.push_back({.until = clock_.monotonic() + kept_, .digest = digest, .owner = owner});
    digests_.insert(digest);
    ++of_owner_[owner];
    return Answer::kFirst;
}

size_t ReplayCache::size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

}  // namespace belay::server
