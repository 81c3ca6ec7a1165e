// Entries by key, at most so many: for a new one the one that was put first goes. Not thread-safe.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace belay::server {

template <typename Value>
class Recent {
  public:
    explicit Recent(size_t most) : most_(most) {}
    Recent(const Recent&) = delete;
    Recent& operator=(const Recent&) = delete;

    // Null where it is not there; valid until the next put() or remove().
    Value* find(const std::string& key) {
        const auto place = places_.find(key);
        return place == places_.end() ? nullptr : &place->second->second;
    }
    void put(const std::string& key, Value value) {
        remove(key);
        if (entries_.size() == most_) {
            places_.erase(entries_.front().first);
            entries_.pop_front();
        }
        entries_.emplace_back(key, std::move(value));
        places_.emplace(key, std::prev(entries_.end()));
    }
    void remove(const std::string& key) {
        const auto place = places_.find(key);
        if (place == places_.end()) return;
        entries_.erase(place->second);
        places_.erase(place);
    }
    size_t size() const { return entries_.size(); }

  private:
    using Entries = std::list<std::pair<std::string, Value>>;

    const size_t most_;  // at least 1
    Entries entries_;    // in the order in which they were put
    std::unordered_map<std::string, typename Entries::iterator> places_;
};

}  // namespace belay::server
