#include "core/yaml.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace belay::core {

namespace {

constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 18> kBooleans{"true", "True", "TRUE", "false", "False", "FALSE",
                                                     "yes",  "Yes",  "YES",  "no",    "No",    "NO",
                                                     "on",   "On",   "ON",   "off",   "Off",   "OFF"};

template <size_t count>
bool contains(const std::array<std::string_view, count>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

YamlType type_of_plain(std::string_view text) {
    if (contains(kNulls, text)) return YamlType::kNull;
    if (contains(kBooleans, text)) return YamlType::kBoolean;
    std::string_view digits = text;
    if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
    if (digits.empty() || digits[0] < '0' || digits[0] > '9') return YamlType::kText;
    if (parse_number<uint64_t>(digits)) return YamlType::kInteger;
    return parse_number<double>(digits) ? YamlType::kNumber : YamlType::kText;
}

struct Place {
    int line = 1;
    int column = 1;
};

class Converter {
  public:
    explicit Converter(const SourceText& source) : source_(source) {}

    Result<YamlNode> convert(const YAML::Node& node, int depth) {
        Place place = place_of(node.Mark());
        YamlNode out{.line = place.line, .column = place.column};
        if (depth > kMaxYamlDepth)
            return fail(place, "nested more than {} levels deep, or an alias inside its own anchor",
                        kMaxYamlDepth);
        if (++count_ > kMaxYamlNodes) return fail(place, "more than {} values", kMaxYamlNodes);
        if (node.IsSequence()) return convert_list(node, depth, std::move(out));
        if (node.IsMap()) return convert_map(node, depth, std::move(out));
        if (!node.IsScalar()) return out;
        BELAY_TRY(text, text_of(node, place));
        out.text = std::move(text);
        out.type = node.Tag() == "?" || node.Tag().empty() ? type_of_plain(out.text) : YamlType::kText;
        return out;
    }

    // The library counts lines and bytes from 0.
    static Place place_of(const YAML::Mark& mark) {
        if (mark.is_null()) return {};
        return {mark.line + 1, mark.column + 1};
    }

    template <typename... Args>
    Failure fail(Place place, fmt::format_string<Args...> format, Args&&... args) const {
        return bad_input(format, std::forward<Args>(args)...).at(source_.at(place.line, place.column));
    }

  private:
    // A long text may have many aliases.
    Result<std::string> text_of(const YAML::Node& scalar, Place place) {
        bytes_ += scalar.Scalar().size();
        if (bytes_ > kMaxYamlText)
            return fail(place, "more than {} KiB of text, aliases written out", kMaxYamlText / 1024);
        return scalar.Scalar();
    }

    Result<YamlNode> convert_list(const YAML::Node& node, int depth, YamlNode out) {
        out.type = YamlType::kList;
        for (const auto& item : node) {
            BELAY_TRY(converted, convert(item, depth + 1));
            out.items.push_back(std::move(converted));
        }
        return out;
    }

    Result<YamlNode> convert_map(const YAML::Node& node, int depth, YamlNode out) {
        out.type = YamlType::kMap;
        std::set<std::string> keys;
        for (const auto& entry : node) {
            Place place = place_of(entry.first.Mark());
            if (!entry.first.IsScalar()) return fail(place, "a key must be a word");
            BELAY_TRY(key, text_of(entry.first, place));
            if (key == "<<")
                return fail(place, "merging with << is not supported").hint("write the keys out");
            if (!keys.insert(key).second) return fail(place, "the key \"{}\" stands twice", key);
            BELAY_TRY(value, convert(entry.second, depth + 1));
            // An empty value has no place of its own.
            if (value.type == YamlType::kNull && value.text.empty()) {
                value.line = place.line;
                value.column = place.column;
            }
            out.entries.push_back({std::move(key), place.line, place.column, std::move(value)});
        }
        return out;
    }

    const SourceText& source_;
    size_t count_ = 0;
    size_t bytes_ = 0;
};

// Stops the library at the first thing that is too much: for some texts (",") it finds documents without end.
class Bounds : public YAML::EventHandler {
  public:
    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1)
            throw YAML::ParserException(mark, "unexpected content after the end of the document");
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
    void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
        count(mark);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        count(mark);
    }
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {
        count(mark);
    }
    void OnMapEnd() override {}

    bool any() const { return documents_ > 0; }

  private:
    void count(const YAML::Mark& mark) {
        if (++nodes_ > 2 * kMaxYamlNodes) throw YAML::ParserException(mark, "too many values");
    }
    int documents_ = 0;
    size_t nodes_ = 0;
};

// Where the text stops being what we read: bytes that are not UTF-8, or a NUL.
std::optional<Place> first_foreign_byte(std::string_view text) {
    if (text.find('\0') == std::string_view::npos && to_valid_utf8(text) == text) return std::nullopt;
    int line = 1;
    for (std::string_view part : split(text, '\n')) {
        if (part.find('\0') != std::string_view::npos || to_valid_utf8(part) != part) return Place{line, 1};
        ++line;
    }
    return Place{};
}

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
    for (const YamlEntry& entry : entries)
        if (entry.key == key) return &entry;
    return nullptr;
}

std::string describe(const YamlNode& node) {
    switch (node.type) {
        case YamlType::kNull:
            return "nothing";
        case YamlType::kBoolean:
            return fmt::format("the boolean {}", node.text);
        case YamlType::kInteger:
            return fmt::format("the integer {}", node.text);
        case YamlType::kNumber:
            return fmt::format("the number {}", node.text);
        case YamlType::kText:
            return fmt::format("the text \"{}\"", utf8_prefix(node.text, 60));
        case YamlType::kList:
            return "a list";
        case YamlType::kMap:
            return "a map";
    }
    return "";
}

Result<YamlNode> parse_yaml(const SourceText& source) {
    Converter converter(source);
    std::string_view text = source.text();
    if (text.size() > kMaxYamlBytes)
        return converter.fail({}, "the file is larger than {} KiB", kMaxYamlBytes / 1024);
    if (auto place = first_foreign_byte(text)) return converter.fail(*place, "the line is not UTF-8 text");
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        Bounds bounds;
        while (parser.HandleNextDocument(bounds)) continue;
        if (!bounds.any()) return YamlNode{};
        return converter.convert(YAML::Load(std::string(text)), 1);
    } catch (const YAML::Exception& error) {
        return converter.fail(converter.place_of(error.mark), "{}", error.msg)
            .hint(
                "correct it there: YAML goes by indentation, and what [, { or a quote opens must be closed");
    } catch (const std::bad_alloc&) {
        throw;  // no mistake in the file
    } catch (const std::exception& error) {
        return converter.fail({}, "{}", error.what());
    }
}

}  // namespace belay::core
