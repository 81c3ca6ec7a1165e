#include "vet/protocol.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/process.h"
#include "core/text.h"
#include "core/yaml.h"
#include "vet/parameter.h"

#include <algorithm>
#include <array>
#include <map>

namespace belay::vet {

namespace {

using core::bad_input;
using core::parse_yaml;
using core::Result;
using core::YamlEntry;
using core::YamlNode;
using core::YamlType;
using Words = std::vector<std::string_view>;

// Keys that every entry of `checks` and every entry of `evals` may have.
constexpr std::array<std::string_view, 4> kCheckKeys{"type", "name", "severity", "timeout"};
constexpr std::array<std::string_view, 3> kEvalKeys{"type", "name", "requirements"};
constexpr std::array<std::string_view, 3> kBelayRoot{"name", "checks", "timeout"};
constexpr std::array<std::string_view, 4> kVetnodeRoot{"name", "evals", "scheduler", "pip"};

class Reader {
  public:
    Reader(std::string_view text, const std::string& file, std::string_view fallback_name)
        : source_(text, file), fallback_name_(fallback_name), protocol_{.file = file} {}

    std::expected<Protocol, Mistakes> read() {
        if (auto whole = read_all(); !whole) mistakes_.push_back(std::move(whole.error()));
        if (!mistakes_.empty()) return std::unexpected(std::move(mistakes_));
        return std::move(protocol_);
    }

  private:
    Result<> read_all() {
        BELAY_TRY(root, parse_yaml(source_));
        if (root.type != YamlType::kMap)
            return fail(root, "a protocol is a map with name and checks, not {}", describe(root));
        protocol_.digest = core::fnv1a(source_.text());
        const bool vetnode = root.find("evals") != nullptr && root.find("checks") == nullptr;
        return vetnode ? read_vetnode_root(root) : read_belay_root(root);
    }

    template <typename Place, typename... Args>
    core::Failure fail(const Place& place, fmt::format_string<Args...> format, Args&&... args) const {
        return bad_input(format, std::forward<Args>(args)...).at(position(place));
    }
    template <typename Place>
    core::SourcePosition position(const Place& place) const {
        return source_.at(place.line, place.column);
    }
    template <typename Place>
    void warn(const Place& place, std::string message) {
        protocol_.warnings.push_back(
            core::Error(core::ErrorKind::kBadInput, std::move(message)).at(position(place)));
    }

    core::Failure unknown(const YamlEntry& entry, std::string_view what, const Words& known) const {
        auto near = core::nearest(entry.key, known);
        return fail(entry, "unknown {} \"{}\"", what, entry.key)
            .hint(near ? fmt::format("did you mean \"{}\"?", *near) : "there are: " + listed(known));
    }

    static std::string listed(const Words& words) {
        return core::join(std::vector<std::string>(words.begin(), words.end()), ", ");
    }

    template <size_t count>
    Result<> check_root(const YamlNode& root, const std::array<std::string_view, count>& known) const {
        for (const YamlEntry& entry : root.entries)
            if (std::find(known.begin(), known.end(), entry.key) == known.end())
                return unknown(entry, "key", Words(known.begin(), known.end()));
        return {};
    }

    Result<> read_name(const YamlNode& root, std::string_view fallback) {
        const YamlEntry* name = root.find("name");
        if (name == nullptr && !fallback.empty()) {
            protocol_.name = fallback;
            return {};
        }
        if (name == nullptr)
            return fail(root, "the protocol has no name").hint("add a line such as name: my-protocol");
        if (name->value.type != YamlType::kText || name->value.text.empty())
            return fail(name->value, "name must be a text, not {}", describe(name->value));
        protocol_.name = name->value.text;
        return {};
    }

    Result<> read_belay_root(const YamlNode& root) {
        BELAY_CHECK(check_root(root, kBelayRoot));
        BELAY_CHECK(read_name(root, {}));
        const YamlEntry* checks = root.find("checks");
        if (checks == nullptr)
            return fail(root, "the protocol has no checks")
                .hint("add checks: and a list; `belay vet list` shows the types");
        if (const YamlEntry* timeout = root.find("timeout")) {
            BELAY_TRY(value, read_duration(*timeout));
            protocol_.timeout = value;
        }
        return read_entries(*checks, false);
    }

    Result<> read_vetnode_root(const YamlNode& root) {
        BELAY_CHECK(check_root(root, kVetnodeRoot));
        BELAY_CHECK(read_name(root, fallback_name_));
        if (const YamlEntry* scheduler = root.find("scheduler"))
            if (const YamlNode& value = scheduler->value; value.text != "slurm" && value.text != "standalone")
                return fail(value, "scheduler must be slurm or standalone, not {}", describe(value));
        if (const YamlEntry* pip = root.find("pip"); pip != nullptr && pip->value.type != YamlType::kNull) {
            if (pip->value.type != YamlType::kMap)
                return fail(pip->value, "pip must be a map with index_url, not {}", describe(pip->value));
            for (const YamlEntry& entry : pip->value.entries)
                if (entry.key != "index_url") return unknown(entry, "key of pip", {"index_url"});
        }
        return read_entries(*root.find("evals"), true);
    }

    Result<> read_entries(const YamlEntry& list, bool vetnode) {
        if (list.value.type != YamlType::kList)
            return fail(list.value, "{} must be a list, not {}", list.key, describe(list.value));
        if (list.value.items.empty())
            return fail(list.value, "{} is empty: a protocol without checks would pass every node", list.key);
        if (list.value.items.size() > kMaxChecksPerProtocol)
            return fail(list.value, "more than {} checks", kMaxChecksPerProtocol);
        for (const YamlNode& item : list.value.items) {
            auto check = read_check(item, vetnode);
            if (check)
                protocol_.checks.push_back(std::move(*check));
            else
                mistakes_.push_back(std::move(check.error()));
        }
        return mistakes_.empty() ? make_names_distinct(list.value, vetnode) : Result<>();
    }

    // A report knows a check by its name. Given names come first; of checks without one that are of the same
    // type, the second gets a number.
    Result<> make_names_distinct(const YamlNode& list, bool vetnode) {
        std::map<std::string, int> lines;  // of the names, where they were given
        for (size_t i = 0; i < list.items.size(); ++i) {
            const YamlEntry* name = list.items[i].find("name");
            if (name == nullptr) continue;
            auto [earlier, is_new] = lines.emplace(name->value.text, name->value.line);
            if (is_new) continue;
            if (!vetnode)
                return fail(name->value, "the name \"{}\" stands in line {} already", name->value.text,
                            earlier->second)
                    .hint("reports tell checks apart by their names");
            protocol_.checks[i].name = numbered(name->value.text, lines);
            warn(name->value, fmt::format("the name \"{}\" stands in line {} already; this check is reported "
                                          "as \"{}\"",
                                          name->value.text, earlier->second, protocol_.checks[i].name));
            lines.emplace(protocol_.checks[i].name, name->value.line);
        }
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (list.items[i].find("name") != nullptr) continue;
            std::string& name = protocol_.checks[i].name;
            if (lines.contains(name)) name = numbered(name, lines);
            lines.emplace(name, list.items[i].line);
        }
        return {};
    }

    static std::string numbered(const std::string& name, const std::map<std::string, int>& taken) {
        for (int number = 2;; ++number)
            if (std::string next = fmt::format("{} {}", name, number); !taken.contains(next)) return next;
    }

    Result<const CheckType*> read_type(const YamlNode& item, bool vetnode) const {
        const YamlEntry* type = item.find("type");
        if (type == nullptr)
            return fail(item, "the check has no type").hint("`belay vet list` shows the types");
        if (type->value.type != YamlType::kText)
            return fail(type->value, "type must be a text, not {}", describe(type->value));
        const CheckType* found = find_check_type(type->value.text);
        if (found == nullptr) {
            Words names;
            for (const CheckType& each : catalogue())
                if (each.vetnode == vetnode) names.push_back(each.type);
            auto near = core::nearest(type->value.text, names);
            return fail(type->value, "unknown check type \"{}\"", type->value.text)
                .hint(near ? fmt::format("did you mean \"{}\"?", *near) : "`belay vet list` shows the types");
        }
        if (vetnode && !found->vetnode)
            return fail(type->value, "\"{}\" is one of Belay's types, which stand in checks", found->type)
                .hint("rename evals to checks in a file of Belay's own form");
        return found;
    }

    Result<Check> read_check(const YamlNode& item, bool vetnode) {
        if (item.type != YamlType::kMap)
            return fail(item, "a check is a map with type, not {}", describe(item))
                .hint("write \"- type: mem.free\"");
        BELAY_TRY(type, read_type(item, vetnode));
        Check check{.type = type,
                    .written_type = item.find("type")->value.text,
                    .timeout = type->timeout,
                    .line = item.line};
        check.name = type->type;
        if (const YamlEntry* name = item.find("name")) {
            if (name->value.type != YamlType::kText || name->value.text.empty())
                return fail(name->value, "name must be a text, not {}", describe(name->value));
            check.name = name->value.text;
        } else if (vetnode) {
            return fail(item, "the eval has no name").hint("add a line such as name: Check GPUs");
        }
        if (!vetnode) BELAY_CHECK(read_common(item, check));
        BELAY_CHECK(check_keys(item, *type, vetnode));
        BELAY_CHECK(read_parameters(item, check));
        return check;
    }

    Result<> read_common(const YamlNode& item, Check& check) const {
        if (const YamlEntry* severity = item.find("severity")) {
            const std::string& text = severity->value.text;
            if (text != "essential" && text != "warning")
                return fail(severity->value, "severity must be essential or warning, not {}",
                            describe(severity->value));
            if (text == "warning") check.severity = Severity::kWarning;
        }
        if (const YamlEntry* timeout = item.find("timeout"); timeout != nullptr && !check.type->vetnode) {
            BELAY_TRY(value, read_duration(*timeout));
            check.timeout = value;
        }
        return {};
    }

    Result<core::Duration> read_duration(const YamlEntry& entry) const {
        constexpr Parameter kTimeout{"timeout", Kind::kDuration, "s", "", true, ""};
        auto parsed = parse_parameter(kTimeout, entry.value);
        if (!parsed)
            return fail(entry.value, "{}: {}", entry.key, parsed.error().message).hint(parsed.error().hint);
        auto value = std::get<core::Duration>(*parsed->value);
        if (value <= core::Duration::zero()) return fail(entry.value, "{} must be more than 0", entry.key);
        return value;
    }

    Result<> check_keys(const YamlNode& item, const CheckType& type, bool vetnode) {
        Words known;
        if (vetnode)
            known.assign(kEvalKeys.begin(), kEvalKeys.end());
        else
            known.assign(kCheckKeys.begin(), kCheckKeys.end());
        for (const Parameter& parameter : type.parameters) known.push_back(parameter.name);
        for (const YamlEntry& entry : item.entries) {
            if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
            if (!vetnode) return unknown(entry, fmt::format("key of {}", type.type), known);
            // vetnode takes any key, and files in the wild carry a stray scheduler.
            if (entry.key == "scheduler") continue;
            auto near = core::nearest(entry.key, known);
            warn(entry, fmt::format("\"{}\" means nothing to this check{}", entry.key,
                                    near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
        }
        return {};
    }

    static bool has_default(const Parameter& parameter, const YamlNode& item) {
        const YamlEntry* other =
            parameter.no_default_with.empty() ? nullptr : item.find(parameter.no_default_with);
        return !parameter.default_text.empty() && (other == nullptr || other->value.type == YamlType::kNull);
    }

    Result<> read_parameters(const YamlNode& item, Check& check) {
        for (const Parameter& parameter : check.type->parameters) {
            const YamlEntry* entry = item.find(parameter.name);
            if (entry == nullptr && parameter.required)
                return fail(item, "{} needs {}: {}", check.type->type, parameter.name, parameter.meaning);
            if (entry == nullptr && !has_default(parameter, item)) continue;
            // vetnode refuses it: its types have no way to say that nothing is meant.
            if (entry != nullptr && check.type->vetnode && entry->value.type == YamlType::kNull)
                return fail(entry->value, "{} must have a value", parameter.name)
                    .hint(parameter.default_text.empty() || parameter.required
                              ? std::string(parameter.meaning)
                              : fmt::format("leave it out for the default, {}", parameter.default_text));
            YamlNode value;
            if (entry != nullptr) {
                value = entry->value;
            } else {
                BELAY_TRY(written, parse_yaml({parameter.default_text, "default"}));
                value = std::move(written);
            }
            auto parsed = parse_parameter(parameter, value);
            if (!parsed)
                return fail(value, "{}: {}", parameter.name, parsed.error().message)
                    .hint(parsed.error().hint);
            if (!parsed->warning.empty()) warn(value, parsed->warning);
            if (parsed->value) check.parameters.emplace(parameter.name, std::move(*parsed->value));
        }
        return {};
    }

    core::SourceText source_;
    std::string_view fallback_name_;
    Protocol protocol_;
    Mistakes mistakes_;
};

}  // namespace

std::expected<Protocol, Mistakes> read_protocol(std::string_view text, const std::string& file,
                                                std::string_view fallback_name) {
    return Reader(text, file, fallback_name).read();
}

Result<Protocol> parse_protocol(std::string_view text, const std::string& file,
                                std::string_view fallback_name) {
    auto protocol = read_protocol(text, file, fallback_name);
    if (!protocol) return std::unexpected(std::move(protocol.error().front()));
    return std::move(*protocol);
}

std::string name_of_environment() {
    return core::environment_variable("NAME").value_or("");
}

std::expected<Protocol, Mistakes> load_protocol(const std::string& path) {
    auto text = core::read_file(path, core::kMaxYamlBytes + 1);
    if (text) return read_protocol(*text, path, name_of_environment());
    core::Error error =
        std::move(text.error()).hint("a protocol is a YAML file; `belay vet list` shows what it may check");
    // Its name is what the person wrote.
    if (error.cause() == core::Cause::kNotFound) error = std::move(error).as(core::ErrorKind::kBadInput);
    return std::unexpected(Mistakes{std::move(error)});
}

std::string to_text(const ParameterValue& value) {
    struct Writer {
        std::string operator()(const std::string& text) const { return text; }
        std::string operator()(int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return fmt::format("{}", number); }
        std::string operator()(bool flag) const { return flag ? "true" : "false"; }
        std::string operator()(core::Duration duration) const { return core::to_text(duration); }
        std::string operator()(core::ByteSize size) const { return core::to_text(size); }
        // Both figures where a power of 1024 was written.
        std::string operator()(core::Bandwidth bandwidth) const {
            return fmt::format("{} ({})", core::format_bytes_per_second(bandwidth.bytes_per_second()),
                               core::format_bits_per_second(static_cast<double>(bandwidth.bits_per_second)));
        }
        std::string operator()(const TextList& list) const { return "[" + core::join(list, ", ") + "]"; }
        std::string operator()(const Variables& variables) const {
            std::vector<std::string> parts;
            for (const auto& [name, wanted] : variables)
                parts.push_back(wanted ? name + "=" + *wanted : name);
            return core::join(parts, " ");
        }
    };
    return std::visit(Writer{}, value);
}

}  // namespace belay::vet
