#include "stage/lint/names.h"

#include "core/text.h"

#include <algorithm>
#include <array>

namespace belay::stage {

namespace {

bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

size_t digits_at(std::string_view text, size_t at) {
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end - at;
}

std::optional<int64_t> number_at(std::string_view text, size_t at, size_t digits) {
    // What is added to it must not overflow.
    constexpr int64_t kMost = int64_t{1} << 60;
    const auto number = core::parse_number<int64_t>(text.substr(at, digits));
    return number && *number <= kMost ? number : std::nullopt;
}

bool match(std::string_view pattern, std::string_view name, std::vector<int64_t>& numbers) {
    while (!pattern.empty()) {
        if (pattern[0] == '*') {
            const size_t before = numbers.size();
            for (size_t skipped = 0; skipped <= name.size(); ++skipped) {
                if (match(pattern.substr(1), name.substr(skipped), numbers)) return true;
                numbers.resize(before);
            }
            return false;
        }
        if (name.empty()) return false;
        if (pattern[0] == '#') {
            const size_t digits = digits_at(name, 0);
            const auto number = number_at(name, 0, digits);
            if (!number) return false;
            numbers.push_back(*number);
            name.remove_prefix(digits);
        } else {
            if (pattern[0] != name[0]) return false;
            name.remove_prefix(1);
        }
        pattern.remove_prefix(1);
    }
    return name.empty();
}

std::string with_star(std::string_view name, size_t begin, size_t end) {
    return std::string(name.substr(0, begin)) + "*" + std::string(name.substr(end));
}

struct Span {
    size_t begin = 0;
    size_t digits = 0;
    size_t end() const { return begin + digits; }
};

// The digits behind "rank", with one of "_-=" between them or nothing.
std::optional<Span> rank_digits(std::string_view name) {
    for (size_t at = name.rfind("rank"); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : name.rfind("rank", at - 1)) {
        size_t begin = at + 4;
        if (begin < name.size() && std::string_view("_-=").find(name[begin]) != std::string_view::npos)
            ++begin;
        if (const size_t digits = digits_at(name, begin); digits > 0) return Span{begin, digits};
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::vector<int64_t>> numbers_of(std::string_view pattern, std::string_view name) {
    std::vector<int64_t> numbers;
    if (!match(pattern, name, numbers)) return std::nullopt;
    return numbers;
}

std::optional<RankName> rank_name(std::string_view name) {
    const auto at = rank_digits(name);
    if (!at) return std::nullopt;
    const auto rank = number_at(name, at->begin, at->digits);
    if (!rank) return std::nullopt;
    return RankName{.rank = *rank, .others = with_star(name, at->begin, at->end())};
}

std::optional<PartName> part_name(std::string_view name) {
    for (const std::string_view between : {"-of-", "_of_"}) {
        const size_t at = name.rfind(between);
        if (at == std::string_view::npos) continue;
        size_t begin = at;
        while (begin > 0 && is_digit(name[begin - 1])) --begin;
        const size_t digits = digits_at(name, at + between.size());
        const auto part = number_at(name, begin, at - begin);
        const auto parts = number_at(name, at + between.size(), digits);
        if (part && parts)
            return PartName{.part = *part,
                            .parts = *parts,
                            .others = with_star(name, begin, at + between.size() + digits)};
    }
    return std::nullopt;
}

std::string_view last_part(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

std::optional<int64_t> step_of(std::string_view path) {
    std::string name(last_part(path));
    if (const auto part = part_name(name)) name = part->others;
    if (const auto at = rank_digits(name)) name = with_star(name, at->begin, at->end());
    for (size_t end = name.size(); end > 0; --end) {
        if (!is_digit(name[end - 1])) continue;
        size_t begin = end;
        while (begin > 0 && is_digit(name[begin - 1])) --begin;
        return number_at(name, begin, end - begin);
    }
    return std::nullopt;
}

bool is_step_directory(std::string_view path) {
    static constexpr std::array<std::string_view, 7> kWords = {"iter",  "step",    "checkpoint", "ckpt",
                                                               "epoch", "release", "save"};
    const std::string name = core::lower_case(last_part(path));
    if (name == "release") return true;
    return step_of(name) &&
           std::ranges::any_of(kWords, [&](std::string_view word) { return name.contains(word); });
}

bool is_temporary_name(std::string_view path) {
    static constexpr std::array<std::string_view, 5> kEnds = {".tmp", ".temp", ".part", ".partial",
                                                              ".incomplete"};
    static constexpr std::array<std::string_view, 4> kBegins = {".tmp", "tmp-", "tmp_", "tmp."};
    const auto parts = core::split(path, '/');
    return std::ranges::any_of(parts, [](std::string_view part) {
        return std::ranges::any_of(kEnds, [&](std::string_view end) { return part.ends_with(end); }) ||
               std::ranges::any_of(kBegins,
                                   [&](std::string_view begin) { return part.starts_with(begin); }) ||
               part.contains(".tmp-") || part.contains(".tmp.");
    });
}

}  // namespace belay::stage
