#include "env/edf_reader.h"

#include "core/text.h"
#include "core/toml.h"
#include "core/units.h"

#include <algorithm>
#include <array>

namespace belay::env {

namespace {

// One EDF, key by key. A handler takes what is right and reports the rest.
class EdfReader {
  public:
    EdfReader(std::string_view text, const std::string& file, const std::vector<std::string>& chain,
              Problems& problems)
        : source_(text, file), chain_(chain), problems_(problems) {}

    Definition read() {
        auto parsed = core::parse_toml(source_);
        if (!parsed) {
            const core::Error& error = parsed.error();
            problems_.push_back(make_problem(
                "E_TOML", {error.position().value_or(core::SourcePosition{.file = source_.file()}), chain_},
                error.message()));
            return {};
        }
        for (const auto& [key, node] : *parsed) read_key(key, node);
        return std::move(definition_);
    }

  private:
    using Handler = void (EdfReader::*)(const toml::node&);
    struct Key {
        std::string_view name;
        Handler handler;
    };
    static const std::array<Key, 10>& keys();

    void read_key(const toml::key& key, const toml::node& node) {
        const auto* known = std::ranges::find(keys(), key.str(), &Key::name);
        if (known != keys().end()) return (this->*known->handler)(node);
        std::vector<std::string_view> names;
        for (const Key& each : keys()) names.push_back(each.name);
        report_unknown(key, names, "");
    }

    void read_bases(const toml::node& node) {
        if (node.is_string())
            definition_.bases.push_back(*text_of(node, "base_environment"));
        else
            definition_.bases = texts_of(node, "base_environment", "a text or an array of texts");
    }
    void read_image(const toml::node& node) { definition_.image = text_of(node, "image"); }
    void read_workdir(const toml::node& node) { definition_.workdir = text_of(node, "workdir"); }
    void read_entrypoint(const toml::node& node) { definition_.entrypoint = flag_of(node, "entrypoint"); }
    void read_writable(const toml::node& node) { definition_.writable = flag_of(node, "writable"); }
    void read_mounts(const toml::node& node) {
        definition_.mounts = texts_of(node, "mounts", "an array of texts");
    }
    void read_devices(const toml::node& node) {
        definition_.devices = texts_of(node, "devices", "an array of texts");
    }

    void read_env(const toml::node& node) {
        const toml::table* table = table_of(node, "env");
        if (table == nullptr) return;
        for (const auto& [key, value] : *table) {
            std::string name(key.str());
            if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos)
                problems_.push_back(
                    make_problem("E_ENV", place(key.source()),
                                 fmt::format("\"{}\" cannot be the name of a variable", name)));
            else if (auto text = text_of(value, "env." + name, "write it as a text, in quotes"))
                definition_.env.emplace(name, std::move(*text));
        }
    }

    void read_annotations(const toml::node& node) {
        if (const toml::table* table = table_of(node, "annotations")) flatten(*table, "", 0);
    }

    // com = { hooks = … } and com.hooks.… and "com.hooks".… name the same key.
    void flatten(const toml::table& table, const std::string& prefix, int depth) {
        constexpr int kDeepest = 16;
        for (const auto& [key, value] : table) {
            std::string name = prefix + std::string(key.str());
            if (value.is_table() && depth < kDeepest) {
                flatten(*value.as_table(), name + ".", depth + 1);
                continue;
            }
            auto text = annotation_of(value, name);
            if (!text) continue;
            auto [same, first] = definition_.annotations.try_emplace(name, *text);
            if (!first)
                problems_.push_back(
                    make_problem("E_TOML", text->place,
                                 fmt::format("annotations.{} is given twice, first in line {}", name,
                                             same->second.place.position.line)));
        }
    }

    std::optional<WrittenText> annotation_of(const toml::node& value, const std::string& name) {
        std::string key = "annotations." + name;
        if (value.is_boolean() || value.is_integer()) {
            std::string text = value.is_boolean() ? (value.as_boolean()->get() ? "true" : "false")
                                                  : fmt::format("{}", value.as_integer()->get());
            Place at = place(value.source());
            problems_.push_back(make_problem(
                "W_TYPE", at,
                fmt::format("{} is {}; it is taken as the text \"{}\"", key, core::describe(value), text),
                fmt::format("write \"{}\"", text)));
            return WrittenText{text, std::move(at)};
        }
        return text_of(value, key);
    }

    void read_startup(const toml::node& node) {
        const toml::array* entries = node.as_array();
        if (entries == nullptr ||
            !std::ranges::all_of(*entries, [](const auto& each) { return each.is_table(); }))
            return report_type(node, "startup", "an array of tables");
        for (const toml::node& entry : *entries) read_startup_entry(*entry.as_table());
    }

    void read_startup_entry(const toml::table& table) {
        Startup entry{.place = place(table.source())};
        static constexpr std::array<std::string_view, 5> kNames = {"name", "command", "once", "timeout",
                                                                   "on_failure"};
        for (const auto& [key, value] : table) {
            if (key == "command") {
                entry.command = texts_of(value, "startup.command", "an array of texts");
                continue;
            }
            if (std::ranges::find(kNames, key.str()) == kNames.end()) {
                report_unknown(key, {kNames.begin(), kNames.end()}, "startup.");
                continue;
            }
            auto text = text_of(value, "startup." + std::string(key.str()));
            if (!text) continue;
            if (key == "name") entry.name = text->value;
            if (key == "once")
                choose(*text, entry.once, {{{"node", StartupScope::kNode}, {"task", StartupScope::kTask}}});
            if (key == "on_failure")
                choose(*text, entry.on_failure,
                       {{{"abort", StartupFailure::kAbort}, {"warn", StartupFailure::kWarn}}});
            if (key == "timeout") read_timeout(*text, entry.timeout);
        }
        for (std::string_view needed : {"name", "command"})
            if (!table.contains(needed))
                problems_.push_back(make_problem("E_STARTUP", entry.place,
                                                 fmt::format("a [[startup]] entry needs a {}", needed)));
        if (table.contains("command") && entry.command.empty())
            problems_.push_back(
                make_problem("E_STARTUP", entry.place, "the command of a [[startup]] entry is empty"));
        definition_.startup.push_back(std::move(entry));
    }

    template <typename Value>
    void choose(const WrittenText& text, Value& target,
                std::array<std::pair<std::string_view, Value>, 2> choices) {
        for (const auto& [name, value] : choices)
            if (text.value == name) {
                target = value;
                return;
            }
        problems_.push_back(make_problem("E_STARTUP", text.place,
                                         fmt::format("\"{}\" is neither \"{}\" nor \"{}\"", text.value,
                                                     choices[0].first, choices[1].first)));
    }

    void read_timeout(const WrittenText& text, core::Duration& target) {
        auto duration = core::parse_duration(text.value);
        if (duration)
            target = *duration;
        else
            problems_.push_back(make_problem("E_STARTUP", text.place, duration.error().message(),
                                             duration.error().hint_text()));
    }

    std::optional<WrittenText> text_of(const toml::node& node, const std::string& key,
                                       std::string hint = {}) {
        if (!node.is_string()) {
            report_type(node, key, "a text", std::move(hint));
            return std::nullopt;
        }
        WrittenText text{node.as_string()->get(), place(node.source())};
        if (text.value.find('\0') != std::string::npos) {
            problems_.push_back(
                make_problem("E_TYPE", text.place, fmt::format("{} holds a NUL character", key)));
            return std::nullopt;
        }
        // A literal or basic string on one line without escapes: what is wrong within it can be pointed at.
        const core::SourcePosition& at = text.place.position;
        std::string_view line = at.line_text;
        if (line.substr(std::min(static_cast<size_t>(at.column), line.size())).starts_with(text.value))
            text.text_column = at.column + 1;
        return text;
    }

    std::vector<WrittenText> texts_of(const toml::node& node, const std::string& key,
                                      std::string_view expected) {
        std::vector<WrittenText> texts;
        const toml::array* array = node.as_array();
        if (array == nullptr) {
            report_type(
                node, key, expected,
                node.is_string() ? fmt::format("write {} = [\"{}\"]", key, node.as_string()->get()) : "");
            return texts;
        }
        for (size_t i = 0; i < array->size(); ++i)
            if (auto text = text_of(*array->get(i), fmt::format("{}[{}]", key, i)))
                texts.push_back(std::move(*text));
        return texts;
    }

    std::optional<Written<bool>> flag_of(const toml::node& node, std::string_view key) {
        if (node.is_boolean()) return Written<bool>{node.as_boolean()->get(), place(node.source())};
        report_type(node, key, "a boolean", "write true or false, without quotes");
        return std::nullopt;
    }

    const toml::table* table_of(const toml::node& node, std::string_view key) {
        if (!node.is_table())
            report_type(node, key, "a table", fmt::format("write [{}], then a key on each line", key));
        return node.as_table();
    }

    void report_type(const toml::node& node, std::string_view key, std::string_view expected,
                     std::string hint = {}) {
        problems_.push_back(make_problem(
            "E_TYPE", place(node.source()),
            fmt::format("{} must be {}, not {}", key, expected, core::describe(node)), std::move(hint)));
    }

    void report_unknown(const toml::key& key, const std::vector<std::string_view>& names,
                        std::string_view prefix) {
        auto meant = core::nearest(key.str(), names);
        Problem problem = make_problem("W_UNKNOWN", place(key.source()),
                                       fmt::format("unknown key \"{}{}\" is ignored", prefix, key.str()),
                                       meant ? fmt::format("did you mean \"{}\"?", *meant)
                                             : fmt::format("the keys are {}", fmt::join(names, ", ")));
        problem.length = key.str().size();
        problems_.push_back(std::move(problem));
    }

    Place place(const toml::source_region& region) const {
        return {core::toml_position(source_, region.begin), chain_};
    }

    core::SourceText source_;
    const std::vector<std::string>& chain_;
    Problems& problems_;
    Definition definition_;
};

const std::array<EdfReader::Key, 10>& EdfReader::keys() {
    static const std::array<Key, 10> kKeys = {{{"base_environment", &EdfReader::read_bases},
                                               {"image", &EdfReader::read_image},
                                               {"workdir", &EdfReader::read_workdir},
                                               {"entrypoint", &EdfReader::read_entrypoint},
                                               {"writable", &EdfReader::read_writable},
                                               {"mounts", &EdfReader::read_mounts},
                                               {"devices", &EdfReader::read_devices},
                                               {"env", &EdfReader::read_env},
                                               {"annotations", &EdfReader::read_annotations},
                                               {"startup", &EdfReader::read_startup}}};
    return kKeys;
}

}  // namespace

Definition read_edf(std::string_view text, const std::string& file, const std::vector<std::string>& chain,
                    Problems& problems) {
    return EdfReader(text, file, chain, problems).read();
}

}  // namespace belay::env
