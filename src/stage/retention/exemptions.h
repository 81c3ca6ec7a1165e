// What a policy exempts of one tree.
//
// A pattern (glob.h) without "/" is compared with each part of a path: ".uenv-images" exempts what is called
// so, and everything beneath it, wherever it lies; "keep/" is "keep". One with "/" is compared with the path
// from the root of the tree on: "ada/keep" exempts that file, or everything beneath that directory. The path
// may also be written with the root's own, as it was named or as it is, and through links above the root:
// "/scratch/ada/keep". A tree that lies in "/x/.uenv-images" itself, or in "/scratch" where that is the
// pattern, is exempt as a whole.
//
// Where a pattern can be understood in two ways, it exempts both: what it misses is deleted.
#pragma once

#include "core/error.h"
#include "stage/retention/glob.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// The directory that a policy is about.
struct RetentionRoot {
    std::filesystem::path canonical;                // absolute, without links
    std::vector<std::filesystem::path> names = {};  // as it was named: absolute, and relative where it was
};
// Of a directory that exists, as it was named. Errors: kSystem.
core::Result<RetentionRoot> retention_root(const std::filesystem::path& named);

class Exemptions {
  public:
    // Nothing is exempt.
    Exemptions() = default;
    // `canonical` says where a path leads, an empty path where that is not known.
    Exemptions(std::span<const std::string> patterns, const RetentionRoot& root,
               const std::function<std::filesystem::path(const std::filesystem::path&)>& canonical = {});

    // A file or directory beneath the root.
    bool covers(std::string_view path) const;

    size_t size() const { return rules_.size(); }
    const std::string& pattern(size_t number) const { return rules_[number].pattern; }
    bool covers(size_t number, std::string_view path) const;
    // The pattern by which the whole tree is exempt.
    std::optional<size_t> of_everything() const;

  private:
    struct Rule {
        std::string pattern;
        std::vector<Glob> paths = {};  // from the root on
        std::vector<Glob> parts = {};
        bool is_everything = false;
    };
    std::vector<Rule> rules_;
};

}  // namespace belay::stage
