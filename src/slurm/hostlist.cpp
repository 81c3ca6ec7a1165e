#include "slurm/hostlist.h"

#include "core/text.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace belay::slurm {
namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kSeparators = ", \t\n";
constexpr std::string_view kNotInNames = ", \t\n[]";
constexpr std::string_view kExample = "a hostlist looks like n[1-3,07-09],gpu[01-02]-x[1-2]";

struct Range {
    uint64_t low = 0;
    uint64_t high = 0;
    size_t width = 0;  // digits at least
};

using Bracket = std::vector<Range>;

// literals[0] brackets[0] literals[1] brackets[1] …
struct Element {
    std::vector<std::string_view> literals;
    std::vector<Bracket> brackets;
};

// "number" with zeros before it up to `width` digits.
std::string padded(uint64_t number, size_t width) {
    return fmt::format("{:0{}}", number, width);
}

class Parser {
  public:
    Parser(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

    Result<std::vector<std::string>> parse() {
        std::vector<std::string> names;
        while (true) {
            at_ = text_.find_first_not_of(kSeparators, at_);
            if (at_ == std::string_view::npos) return names;
            size_t start = at_;
            BELAY_TRY(element, parse_element());
            BELAY_CHECK(append(element, start, names));
        }
    }

  private:
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool at_separator() const {
        return at_ >= text_.size() || kSeparators.find(text_[at_]) != std::string_view::npos;
    }

    core::Failure fail(size_t offset, std::string_view what, std::string_view hint = kExample) const {
        size_t line_start = text_.substr(0, offset).rfind('\n') + 1;  // npos + 1 is 0
        size_t column = offset - line_start;
        std::string_view line = text_.substr(line_start, text_.find('\n', line_start) - line_start);
        return bad_input("{}", what)
            .hint(hint)
            .at({.file = std::string(origin_),
                 .line = 1 + static_cast<int>(std::ranges::count(text_.substr(0, offset), '\n')),
                 .column = 1 + static_cast<int>(column),
                 .line_text = std::string(line)});
    }

    Result<Element> parse_element() {
        Element element;
        while (true) {
            size_t start = at_;
            at_ = std::min(text_.find_first_of(kNotInNames, at_), text_.size());
            element.literals.push_back(text_.substr(start, at_ - start));
            if (at_separator()) {
                if (!element.brackets.empty() && at_ != start)
                    return fail(start, "nothing may follow the last bracket of a host name",
                                "Slurm itself takes no such name; write the hosts one by one");
                return element;
            }
            if (peek() == ']') return fail(at_, "\"]\" without \"[\"");
            BELAY_TRY(bracket, parse_bracket());
            element.brackets.push_back(std::move(bracket));
        }
    }

    Result<Bracket> parse_bracket() {
        size_t open = at_++;
        Bracket bracket;
        while (true) {
            BELAY_TRY(range, parse_range(open));
            bracket.push_back(range);
            if (peek() == ',') {
                ++at_;
            } else if (peek() == ']') {
                ++at_;
                return bracket;
            } else {
                return unexpected(open);
            }
        }
    }

    Result<Range> parse_range(size_t open) {
        size_t start = at_;
        Range range;
        BELAY_TRY(low, parse_digits(open));
        range.low = range.high = low;
        range.width = at_ - start;
        if (peek() == '-') {
            ++at_;
            BELAY_TRY(high, parse_digits(open));
            range.high = high;
        }
        if (range.high < range.low) return fail(start, "the range ends before it starts");
        return range;
    }

    Result<uint64_t> parse_digits(size_t open) {
        size_t start = at_;
        at_ = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
        if (at_ == start) return unexpected(open);
        std::string_view digits = text_.substr(start, at_ - start);
        auto number = core::parse_number<uint64_t>(digits);
        if (!number || digits.size() > kMaxHostNameBytes) return fail(start, "the number is too large");
        return *number;
    }

    core::Failure unexpected(size_t open) const {
        if (at_ >= text_.size()) return fail(open, "\"[\" without \"]\"");
        return fail(at_, "brackets hold numbers and ranges of them");
    }

    Result<> append(const Element& element, size_t start, std::vector<std::string>& names) const;

    std::string_view text_;
    std::string_view origin_;
    size_t at_ = 0;
};

// The numbers of a bracket, one after the other.
class Counter {
  public:
    explicit Counter(const Bracket& bracket) : bracket_(&bracket) { rewind(); }

    // The next number; false, and the first one again, after the last.
    bool advance() {
        if (number_ < (*bracket_)[range_].high) {
            ++number_;
            return true;
        }
        if (++range_ < bracket_->size()) {
            number_ = (*bracket_)[range_].low;
            return true;
        }
        rewind();
        return false;
    }
    std::string text() const { return padded(number_, (*bracket_)[range_].width); }

  private:
    void rewind() {
        range_ = 0;
        number_ = bracket_->front().low;
    }
    const Bracket* bracket_;
    size_t range_ = 0;
    uint64_t number_ = 0;
};

// How many numbers, or `limit` + 1 if there are more than `limit`.
size_t count_of(const Bracket& bracket, size_t limit) {
    size_t count = 0;
    for (const Range& range : bracket) {
        uint64_t more = range.high - range.low;  // one less than there are, which always fits
        if (more >= limit - count) return limit + 1;
        count += more + 1;
    }
    return count;
}

Result<> Parser::append(const Element& element, size_t start, std::vector<std::string>& names) const {
    const size_t limit = kMaxHosts - names.size();
    size_t count = 1;
    size_t longest = 0;
    for (std::string_view literal : element.literals) longest += literal.size();
    for (const Bracket& bracket : element.brackets) {
        size_t here = count_of(bracket, limit);
        count = here > limit / count ? limit + 1 : count * here;
        if (count > limit) break;
        size_t width = 0;
        for (const Range& range : bracket) width = std::max(width, padded(range.high, range.width).size());
        longest += width;
    }
    if (count > limit) return fail(start, fmt::format("more than {} hosts", kMaxHosts), "");
    if (longest > kMaxHostNameBytes)
        return fail(start, fmt::format("a host name of more than {} bytes", kMaxHostNameBytes), "");

    std::vector<Counter> counters;
    for (const Bracket& bracket : element.brackets) counters.emplace_back(bracket);
    while (true) {
        std::string name(element.literals[0]);
        for (size_t i = 0; i < counters.size(); ++i) {
            name += counters[i].text();
            name += element.literals[i + 1];
        }
        names.push_back(std::move(name));
        // The last bracket varies fastest, then the first, the second, …
        if (counters.empty()) return {};
        if (counters.back().advance()) continue;
        size_t i = 0;
        while (i + 1 < counters.size() && !counters[i].advance()) ++i;
        if (i + 1 == counters.size()) return {};
    }
}

// A name cut before its trailing digits, or a run of names that continue each other.
struct Run {
    std::string_view prefix;
    std::optional<Range> numbers;  // nothing if the name has none (or more than 64 bits of them)
};

Run split_number(std::string_view name) {
    size_t digits = name.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
    std::optional<uint64_t> number = core::parse_number<uint64_t>(name.substr(digits));
    if (!number) return {name, std::nullopt};
    return {name.substr(0, digits), Range{*number, *number, name.size() - digits}};
}

// The width with which both numbers are written as they are now, if there is one: 9 and 10, 09 and 10, not 9
// and 010.
std::optional<size_t> common_width(const Range& run, const Range& next) {
    for (size_t width : {run.width, next.width}) {
        if (padded(run.low, width) == padded(run.low, run.width) &&
            padded(next.low, width) == padded(next.low, next.width))
            return width;
    }
    return std::nullopt;
}

bool extend(Run& run, const Run& next) {
    if (!run.numbers || !next.numbers || run.prefix != next.prefix) return false;
    if (next.numbers->low == 0 || run.numbers->high != next.numbers->low - 1) return false;
    std::optional<size_t> width = common_width(*run.numbers, *next.numbers);
    if (!width) return false;
    run.numbers->high = next.numbers->high;
    run.numbers->width = *width;
    return true;
}

std::string format_range(const Range& range) {
    std::string low = padded(range.low, range.width);
    return range.low == range.high ? low : low + "-" + padded(range.high, range.width);
}

}  // namespace

Result<std::vector<std::string>> expand(std::string_view text, std::string_view origin) {
    return Parser(text, origin).parse();
}

Result<std::string> compress(std::span<const std::string> names) {
    std::vector<Run> runs;
    for (const std::string& name : names) {
        if (name.size() > kMaxHostNameBytes)
            return bad_input("a host name of more than {} bytes", kMaxHostNameBytes);
        if (name.empty() || name.find_first_of(kNotInNames) != std::string::npos)
            return bad_input("\"{}\" is not a host name: it is empty or holds a comma, a blank or a bracket",
                             name);
        Run run = split_number(name);
        if (runs.empty() || !extend(runs.back(), run)) runs.push_back(run);
    }

    std::string out;
    for (size_t i = 0; i < runs.size();) {
        size_t end = i + 1;  // runs of the same prefix share a bracket
        while (end < runs.size() && runs[i].numbers && runs[end].numbers &&
               runs[end].prefix == runs[i].prefix)
            ++end;
        if (i > 0) out += ',';
        out += runs[i].prefix;
        if (runs[i].numbers) {
            bool single = end == i + 1 && runs[i].numbers->low == runs[i].numbers->high;
            if (!single) out += '[';
            for (size_t k = i; k < end; ++k) {
                if (k > i) out += ',';
                out += format_range(*runs[k].numbers);
            }
            if (!single) out += ']';
        }
        i = end;
    }
    return out;
}

}  // namespace belay::slurm
