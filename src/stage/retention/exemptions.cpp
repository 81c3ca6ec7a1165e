#include "stage/retention/exemptions.h"

#include "core/text.h"

#include <algorithm>
#include <system_error>

namespace belay::stage {

namespace {

namespace fs = std::filesystem;
using core::Result;

constexpr std::string_view kSpecial = "*?[";

// Without what changes nothing in a path: "./a//b/." is "a/b".
std::string tidy(std::string_view pattern) {
    std::string text = pattern.starts_with('/') ? "/" : "";
    for (const std::string_view part : core::split(pattern, '/')) {
        if (part.empty() || part == ".") continue;
        if (!text.empty() && !text.ends_with('/')) text += '/';
        text += part;
    }
    return text;
}

// The pattern, and where a bracket in it may be the name's own also that.
void add_pattern(std::vector<Glob>& globs, std::string_view pattern) {
    globs.emplace_back(pattern);
    if (pattern.contains('[')) globs.push_back(Glob::of_text(pattern));
}

void add_pattern_after(std::vector<Glob>& globs, std::string_view pattern, const std::string& directory) {
    std::vector<Glob> whole;
    add_pattern(whole, pattern);
    const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
    for (const Glob& glob : whole)
        if (Glob rest = glob.after(prefix); !rest.is_empty()) globs.push_back(std::move(rest));
}

// Of "/scratch/ada/keep", what follows the first directory that is the root, which "/scratch" may be by a
// link. Links beneath it belong to those whose files are purged: they are not followed.
std::optional<std::string_view> beneath_root(std::string_view pattern, const fs::path& root,
                                             const std::function<fs::path(const fs::path&)>& canonical) {
    for (size_t end = pattern.find('/', 1); end != std::string_view::npos; end = pattern.find('/', end + 1)) {
        const std::string_view directory = pattern.substr(0, end);
        if (directory.find_first_of(kSpecial) != std::string_view::npos) return std::nullopt;
        if (canonical(fs::path(directory)) == root) return pattern.substr(end + 1);
    }
    return std::nullopt;
}

bool covers_any_part(std::span<const Glob> globs, std::string_view path) {
    while (true) {
        const size_t end = path.find('/');
        const std::string_view part = path.substr(0, end);
        if (std::ranges::any_of(globs, [&](const Glob& glob) { return glob.matches(part); })) return true;
        if (end == std::string_view::npos) return false;
        path.remove_prefix(end + 1);
    }
}

}  // namespace

Result<RetentionRoot> retention_root(const fs::path& named) {
    std::error_code code;
    RetentionRoot root{.canonical = fs::canonical(named, code)};
    if (code) return core::errno_error(code, fmt::format("cannot tell the path of {}", named.string()));
    const fs::path absolute = fs::absolute(named, code);
    if (code) return core::errno_error(code, fmt::format("cannot tell the path of {}", named.string()));
    root.names.push_back(absolute);
    if (named.is_relative()) root.names.push_back(named);
    return root;
}

Exemptions::Exemptions(std::span<const std::string> patterns, const RetentionRoot& root,
                       const std::function<fs::path(const fs::path&)>& canonical) {
    std::vector<std::string> roots = {root.canonical.string()};
    for (const fs::path& name : root.names)
        if (std::string text = tidy(name.lexically_normal().string());
            !text.empty() && std::ranges::find(roots, text) == roots.end())
            roots.push_back(std::move(text));
    for (const std::string& written : patterns) {
        Rule rule{.pattern = written};
        const std::string pattern = tidy(written);
        if (!pattern.contains('/')) {
            add_pattern(rule.parts, pattern);
            // "s*" is about files, and no reason to leave out all of "/scratch".
            if (pattern.find_first_of(kSpecial) == std::string::npos)
                rule.is_everything = std::ranges::any_of(
                    roots, [&](const std::string& each) { return covers_any_part(rule.parts, each); });
        } else {
            const bool is_absolute = pattern.starts_with('/');
            add_pattern(rule.paths, std::string_view(pattern).substr(is_absolute ? 1 : 0));
            for (const std::string& each : roots)
                if (is_absolute == each.starts_with('/') &&
                    (is_absolute || pattern == each || pattern.starts_with(each + "/")))
                    add_pattern_after(rule.paths, pattern, each);
            if (is_absolute && canonical)
                if (const auto rest = beneath_root(pattern, root.canonical, canonical))
                    add_pattern(rule.paths, *rest);
            rule.is_everything = std::ranges::any_of(rule.paths, &Glob::is_everything);
        }
        rules_.push_back(std::move(rule));
    }
}

bool Exemptions::covers(size_t number, std::string_view path) const {
    const Rule& rule = rules_[number];
    if (rule.is_everything) return true;
    if (std::ranges::any_of(rule.paths, [&](const Glob& glob) { return glob.covers(path); })) return true;
    return !rule.parts.empty() && covers_any_part(rule.parts, path);
}

bool Exemptions::covers(std::string_view path) const {
    for (size_t number = 0; number < rules_.size(); ++number)
        if (covers(number, path)) return true;
    return false;
}

std::optional<size_t> Exemptions::of_everything() const {
    for (size_t number = 0; number < rules_.size(); ++number)
        if (rules_[number].is_everything) return number;
    return std::nullopt;
}

}  // namespace belay::stage
