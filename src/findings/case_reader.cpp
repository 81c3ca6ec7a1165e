#include "core/file.h"
#include "findings/cases.h"
#include "findings/rule_keys.h"

#include <algorithm>
#include <map>
#include <system_error>

// shapes.toml, embedded
extern "C" const char belay_shapes[], belay_shapes_end[];

namespace belay::findings {

using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kCaseKeys[] = {"rule",    "name",  "fires", "severity",
                                          "seconds", "nodes", "use",   "fill"};
constexpr std::string_view kShapeKeys[] = {"name", "fill"};
constexpr std::string_view kFillKeys[] = {"table",    "every", "from", "to",
                                          "per_node", "where", "set",  "rates"};
constexpr double kMostSeconds = 1e6;
constexpr double kMostRows = 5e6;  // of one fill
constexpr std::string_view kExtension = ".cases.toml";

class Reader {
  public:
    Reader(std::string_view text, const std::string& file) : source_(text, file), keys_(source_) {}

    using Shapes = std::map<std::string, std::vector<Fill>, std::less<>>;

    // With the shapes of another text. Errors: kBadInput.
    Result<std::vector<Case>> read(Shapes shapes) {
        shapes_ = std::move(shapes);
        BELAY_TRY(table, core::parse_toml(source_));
        for (auto&& [key, value] : table)
            if ((key.str() != "case" && key.str() != "shape") || !value.is_array_of_tables())
                return keys_.wrong_key(key, "a file of cases has nothing but [[case]] and [[shape]]");
        if (const auto* shapes = table["shape"].as_array())
            for (const toml::node& node : *shapes) BELAY_CHECK(read_shape(*node.as_table()));
        std::vector<Case> cases;
        if (const auto* list = table["case"].as_array())
            for (const toml::node& node : *list) {
                BELAY_TRY(spec, read_case(*node.as_table()));
                cases.push_back(std::move(spec));
            }
        return cases;
    }

    const Shapes& shapes() const { return shapes_; }

  private:
    Result<> read_shape(const toml::table& table) {
        BELAY_CHECK(keys_.check(table, kShapeKeys));
        BELAY_TRY(name, keys_.text(table, "name"));
        return read_fills(table, shapes_[name]);
    }

    Result<Case> read_case(const toml::table& table) {
        BELAY_CHECK(keys_.check(table, kCaseKeys));
        Case out;
        out.place = keys_.position(table);
        BELAY_TRY(rule, keys_.text(table, "rule"));
        BELAY_TRY(name, keys_.text(table, "name"));
        BELAY_TRY(seconds, keys_.number(table, "seconds", 600, 1, kMostSeconds));
        BELAY_TRY(nodes, keys_.number(table, "nodes", 1, 1, 10'000));
        const toml::node* fires = table.get("fires");
        auto flag = fires != nullptr ? fires->value_exact<bool>() : std::nullopt;
        if (!flag) return keys_.wrong(table, "fires must be there, true or false");
        out.rule = std::move(rule);
        out.name = std::move(name);
        out.seconds = seconds;
        out.nodes = static_cast<int64_t>(nodes);
        out.fires = *flag;
        BELAY_TRY(severity, keys_.text(table, "severity", ""));
        if (!severity.empty()) out.severity = severity_named(severity);
        if (!severity.empty() && (!out.severity || !out.fires))
            return keys_.wrong(*table.get("severity"),
                               "severity is info, warning or critical, of a case in which the rule fires");
        BELAY_CHECK(use_shapes(table, out));
        BELAY_CHECK(read_fills(table, out.fills));
        if (out.fills.empty()) return keys_.wrong(table, "a case needs [[case.fill]] or use");
        for (const Fill& fill : out.fills)
            if (rows_of(fill, out) > kMostRows) return keys_.wrong(table, "more than {:g} rows", kMostRows);
        return out;
    }

    Result<> use_shapes(const toml::table& table, Case& out) {
        BELAY_TRY(used, keys_.texts(table, "use"));
        for (const std::string& shape : used) {
            auto found = shapes_.find(shape);
            if (found == shapes_.end())
                return keys_.wrong(*table.get("use"), "there is no shape \"{}\"", shape);
            out.fills.insert(out.fills.end(), found->second.begin(), found->second.end());
        }
        return {};
    }

    static double rows_of(const Fill& fill, const Case& spec) {
        return (fill.to.value_or(spec.seconds) - fill.from) / fill.every *
               static_cast<double>(fill.per_node) * static_cast<double>(spec.nodes);
    }

    Result<> read_fills(const toml::table& table, std::vector<Fill>& fills) {
        const toml::node* node = table.get("fill");
        if (node == nullptr) return {};
        if (!node->is_array_of_tables())
            return keys_.wrong(*node, "fill must be an array of tables, not {}", core::describe(*node));
        for (const toml::node& each : *node->as_array()) {
            BELAY_TRY(fill, read_fill(*each.as_table()));
            fills.push_back(std::move(fill));
        }
        return {};
    }

    Result<Fill> read_fill(const toml::table& table) {
        BELAY_CHECK(keys_.check(table, kFillKeys));
        Fill fill;
        fill.place = keys_.position(table);
        BELAY_TRY(name, keys_.text(table, "table"));
        if (!std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; }))
            return keys_.wrong(*table.get("table"), "\"{}\" is not a table", name);
        BELAY_TRY(every, keys_.number(table, "every", 1, 0.001, kMostSeconds));
        BELAY_TRY(from, keys_.number(table, "from", 0, 0, kMostSeconds));
        BELAY_TRY(to, keys_.number(table, "to", 0, 0, kMostSeconds));
        BELAY_TRY(per_node, keys_.number(table, "per_node", 1, 1, 10'000));
        BELAY_TRY(where, keys_.text(table, "where", ""));
        BELAY_TRY(set, expressions(table, "set"));
        BELAY_TRY(rates, expressions(table, "rates"));
        fill.table = std::move(name);
        fill.every = every;
        fill.from = from;
        if (table.contains("to")) fill.to = to;
        fill.per_node = static_cast<int64_t>(per_node);
        fill.where = std::move(where);
        fill.set = std::move(set);
        fill.rates = std::move(rates);
        return fill;
    }

    // Values are SQL as texts, or numbers.
    Result<Expressions> expressions(const toml::table& table, std::string_view key) {
        Expressions out;
        BELAY_TRY(section, keys_.section(table, key));
        if (section == nullptr) return out;
        for (auto&& [column, value] : *section) {
            if (!std::ranges::all_of(column.str(), [](char c) {
                    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                }))
                return keys_.wrong_key(column, "a column of the table");
            if (auto text = value.value_exact<std::string>()) {
                out.emplace_back(column.str(), *text);
                continue;
            }
            if (auto flag = value.value_exact<bool>()) {
                out.emplace_back(column.str(), *flag ? "true" : "false");
                continue;
            }
            BELAY_TRY(number, keys_.number_of(value, -1e18, 1e18));
            out.emplace_back(column.str(), fmt::format("({})", number));
        }
        return out;
    }

    core::SourceText source_;
    TomlKeys keys_;
    Shapes shapes_;
};

}  // namespace

Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& file) {
    static const std::string kShapes = "belay:shapes.toml";
    Reader known({belay_shapes, belay_shapes_end}, kShapes);
    BELAY_CHECK(known.read({}));
    return Reader(text, file).read(known.shapes());
}

Result<std::vector<Case>> load_cases(const fs::path& path) {
    std::vector<fs::path> files;
    BELAY_TRY(type, core::type_of_file(path));
    if (type == fs::file_type::directory) {
        BELAY_TRY(found, core::files_with_suffix(path, kExtension));
        files = std::move(found);
    } else if (path.string().ends_with(kExtension)) {
        files.push_back(path);
    } else {
        const fs::path beside = fs::path(path).replace_extension(kExtension);
        BELAY_TRY(type_beside, core::type_of_file(beside));
        if (type_beside != fs::file_type::not_found) files.push_back(beside);
    }
    std::vector<Case> cases;
    for (const fs::path& file : files) {
        BELAY_TRY(text, core::read_file(file, size_t{1} << 20));
        BELAY_TRY(read, parse_cases(text, file.string()));
        std::ranges::move(read, std::back_inserter(cases));
    }
    return cases;
}

}  // namespace belay::findings
