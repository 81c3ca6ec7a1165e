#include "core/config.h"

#include "core/config_toml.h"
#include "core/file.h"
#include "core/text.h"
#include "core/toml_limits.h"
#include "core/work.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <ranges>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void program_mistake(std::string_view what, std::string_view key) {
    std::fputs(fmt::format("belay: internal error: {}: {}\n", what, key).c_str(), stderr);
    std::abort();
}

Result<bool> parse_boolean(std::string_view text) {
    for (std::string_view word : {"true", "yes", "on", "1"})
        if (text == word) return true;
    for (std::string_view word : {"false", "no", "off", "0"})
        if (text == word) return false;
    return bad_input("\"{}\" is not a boolean", text).hint("write true or false");
}

template <typename Number>
Result<SettingValue> parse_as(std::string_view text, std::string_view what) {
    std::optional<Number> number = parse_number<Number>(trim(text));
    if (!number) return bad_input("\"{}\" is not {}", text, what);
    return SettingValue(*number);
}

template <typename Type>
Result<SettingValue> widen(Result<Type> value) {
    if (!value) return std::unexpected(std::move(value.error()));
    return SettingValue(std::move(*value));
}

Result<SettingValue> parse_value(SettingType type, std::string_view text) {
    switch (type) {
        case SettingType::kText:
            return SettingValue(std::string(text));
        case SettingType::kInteger:
            return parse_as<int64_t>(text, "an integer");
        case SettingType::kNumber:
            return parse_as<double>(text, "a number");
        case SettingType::kBoolean:
            return widen(parse_boolean(text));
        case SettingType::kDuration:
            return widen(parse_duration(text));
        case SettingType::kSize:
            return widen(parse_size(text));
        case SettingType::kTextList:
            return widen(parse_text_list(text));
    }
    program_mistake("unknown type of setting", text);
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    return out + "\"";
}

std::string text_of(const std::string& value) {
    return value;
}
std::string text_of(int64_t value) {
    return fmt::format("{}", value);
}
std::string text_of(double value) {
    return fmt::format("{}", value);
}
std::string text_of(bool value) {
    return value ? "true" : "false";
}
std::string text_of(Duration value) {
    return to_text(value);
}
std::string text_of(ByteSize value) {
    return to_text(value);
}
std::string text_of(const TextList& value) {
    std::vector<std::string> parts;
    std::transform(value.begin(), value.end(), std::back_inserter(parts), quoted);
    return "[" + join(parts, ", ") + "]";
}

// The *.toml of a directory by name; none if it is not there.
Result<std::vector<fs::path>> toml_files(const fs::path& directory, bool may_be_denied) {
    auto files = files_with_suffix(directory, ".toml");
    if (files) return files;
    const Cause cause = files.error().cause();
    const bool is_absent = cause == Cause::kNotFound || (may_be_denied && cause == Cause::kDenied);
    return is_absent ? Result<std::vector<fs::path>>(std::in_place) : files;
}

struct ConfigurationFile {
    std::string path;
    std::string text;
    bool is_believed = true;  // else the text names the owner
};

// Settings name programs and libraries that are run: those of another user are not for root who has kept that
// user's HOME (sudo -E). In a user namespace root's files may seem to belong to whoever owns "/".
bool may_configure(uid_t owner) {
    struct stat root{};
    return owner == geteuid() || owner == 0 || (stat("/", &root) == 0 && owner == root.st_uid);
}

Result<ConfigurationFile> read_configuration_file(const fs::path& path) {
    BELAY_TRY(file, open_file(path, O_RDONLY | O_NONBLOCK));
    struct stat status{};
    if (fstat(file.get(), &status) != 0)
        return errno_error(errno, fmt::format("cannot look at {}", path.string()));
    if (!may_configure(status.st_uid))
        return ConfigurationFile{path.string(), std::to_string(status.st_uid), false};
    BELAY_TRY(text, read_opened(file.get(), path, kMaxTomlBytes));
    return ConfigurationFile{path.string(), std::move(text)};
}

// Each as "PATH NUL BELIEVED NUL LENGTH NUL TEXT", all after each other.
Result<std::string> read_configuration_files(const ConfigurationSources& sources) {
    std::string all;
    for (const fs::path& directory : sources.directories) {
        BELAY_TRY(files, toml_files(directory, directory == sources.home));
        for (const fs::path& file : files) {
            BELAY_TRY(read, read_configuration_file(file));
            all += fmt::format("{}{}{}{}{}{}", read.path, '\0', read.is_believed ? 1 : 0, '\0',
                               read.text.size(), '\0');
            all += read.text;
        }
    }
    return all;
}

Result<std::vector<ConfigurationFile>> split_configuration_files(std::string_view all) {
    std::vector<ConfigurationFile> files;
    // Up to the next NUL, which is taken too; without one, nothing is left.
    auto take_word = [&] {
        const size_t end = std::min(all.find('\0'), all.size());
        const std::string_view word = all.substr(0, end);
        all.remove_prefix(std::min(end + 1, all.size()));
        return word;
    };
    while (!all.empty()) {
        ConfigurationFile file{
            .path = std::string(take_word()), .text = {}, .is_believed = take_word() == "1"};
        const auto size = parse_number<size_t>(take_word());
        if (!size || *size > all.size()) return system_error("the configuration was received incompletely");
        file.text = all.substr(0, *size);
        all.remove_prefix(*size);
        files.push_back(std::move(file));
    }
    return files;
}

}  // namespace

std::string_view type_name(SettingType type) {
    switch (type) {
        case SettingType::kText:
            return "text";
        case SettingType::kInteger:
            return "integer";
        case SettingType::kNumber:
            return "number";
        case SettingType::kBoolean:
            return "boolean";
        case SettingType::kDuration:
            return "duration";
        case SettingType::kSize:
            return "size";
        case SettingType::kTextList:
            return "list of text";
    }
    return "unknown";
}

Result<SettingValue> parse_setting(const Setting& setting, std::string_view text) {
    return with_context(parse_value(setting.type, text), setting.key);
}

std::string to_text(const SettingValue& value) {
    return std::visit([](const auto& held) { return text_of(held); }, value);
}

std::string environment_name(std::string_view key) {
    std::string name = "BELAY_";
    for (char c : key) name += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return name;
}

Configuration::Configuration(std::span<const Setting> settings) {
    values_.reserve(settings.size());
    for (const Setting& setting : settings) {
        for (const ConfiguredValue& other : values_)
            if (environment_name(other.setting.key) == environment_name(setting.key))
                program_mistake("setting declared twice", setting.key);
        Result<SettingValue> value = parse_setting(setting, setting.default_text);
        if (!value) program_mistake("default of the wrong type", value.error().message());
        values_.push_back({setting, std::move(*value), "default"});
    }
}

const ConfiguredValue* Configuration::find(std::string_view key) const {
    for (const ConfiguredValue& value : values_)
        if (value.setting.key == key) return &value;
    return nullptr;
}

ConfiguredValue* Configuration::find(std::string_view key) {
    return const_cast<ConfiguredValue*>(std::as_const(*this).find(key));
}

template <typename Type>
const Type& Configuration::get(std::string_view key) const {
    const ConfiguredValue* value = find(key);
    if (value == nullptr) program_mistake("setting that is not declared", key);
    const Type* held = std::get_if<Type>(&value->value);
    if (held == nullptr) program_mistake("setting read as another type than declared", key);
    return *held;
}
template const std::string& Configuration::get(std::string_view) const;
template const int64_t& Configuration::get(std::string_view) const;
template const double& Configuration::get(std::string_view) const;
template const bool& Configuration::get(std::string_view) const;
template const Duration& Configuration::get(std::string_view) const;
template const ByteSize& Configuration::get(std::string_view) const;
template const TextList& Configuration::get(std::string_view) const;

const std::string& Configuration::origin(std::string_view key) const {
    const ConfiguredValue* value = find(key);
    if (value == nullptr) program_mistake("setting that is not declared", key);
    return value->origin;
}

Result<> Configuration::merge_toml(std::string_view text, const std::string& file) {
    std::vector<Setting> settings;
    for (const ConfiguredValue& value : values_) settings.push_back(value.setting);
    BELAY_TRY(read, read_settings(settings, text, file));
    std::ranges::move(read.unknown, std::back_inserter(ignored_));
    for (TomlAssignment& assignment : read.assignments) {
        ConfiguredValue* value = find(assignment.key);
        value->value = std::move(assignment.value);
        value->origin = fmt::format("{}:{}", file, assignment.line);
    }
    return {};
}

// BELAY_RECORD_INTERVALL is a mistake; variables of ours that belong to no section of the settings are not
// looked at.
void Configuration::check_names(const Environment& environment) {
    std::vector<std::string> names;
    for (const ConfiguredValue& value : values_) names.push_back(environment_name(value.setting.key));
    std::vector<std::string_view> candidates(names.begin(), names.end());
    for (const auto& [name, text] : environment) {
        auto in_section = [&](const ConfiguredValue& value) {
            std::string_view section = value.setting.key.substr(0, value.setting.key.find('.') + 1);
            return name.starts_with(environment_name(section));
        };
        if (std::ranges::find(names, name) != names.end() || std::ranges::none_of(values_, in_section))
            continue;
        Error& error = ignored_.emplace_back(ErrorKind::kBadInput,
                                             fmt::format("environment {}: unknown setting, ignored", name));
        if (auto near = nearest(name, candidates))
            error = std::move(error).hint(fmt::format("did you mean {}?", *near));
    }
}

void Configuration::add_foreign(const std::string& file, const std::string& owner) {
    ignored_.push_back(
        Error(ErrorKind::kBadInput,
              fmt::format("{} belongs to the user {}, not to you or root, and is ignored", file, owner))
            .hint("is HOME yours? sudo -H sets it"));
}

std::string Configuration::ignored_text(std::string_view program) const {
    std::string text;
    for (const Error& error : ignored_ | std::views::take(kMostIgnoredShown)) text += error.render(program);
    if (ignored_.size() > kMostIgnoredShown)
        text += fmt::format("{}: {} more settings or files of settings are ignored\n", program,
                            ignored_.size() - kMostIgnoredShown);
    return text;
}

Result<> Configuration::merge_environment(const Environment& environment) {
    check_names(environment);
    std::vector<std::pair<ConfiguredValue*, SettingValue>> changes;
    for (ConfiguredValue& value : values_) {
        auto variable = environment.find(environment_name(value.setting.key));
        if (variable == environment.end()) continue;
        BELAY_TRY(parsed, with_context(parse_value(value.setting.type, variable->second),
                                       "environment " + variable->first));
        changes.emplace_back(&value, std::move(parsed));
    }
    for (auto& [value, parsed] : changes) {
        value->value = std::move(parsed);
        value->origin = "environment " + environment_name(value->setting.key);
    }
    return {};
}

Result<> Configuration::merge_flag(std::string_view key, std::span<const std::string> texts,
                                   const std::string& flag) {
    ConfiguredValue* value = find(key);
    if (value == nullptr) program_mistake("flag of a setting that is not declared", key);
    if (texts.empty()) return {};
    if (value->setting.type == SettingType::kTextList) {
        value->value = TextList(texts.begin(), texts.end());
    } else {
        BELAY_TRY(parsed, with_context(parse_value(value->setting.type, texts.back()), flag));
        value->value = std::move(parsed);
    }
    value->origin = flag;
    return {};
}

ConfigurationSources default_sources(const Environment& environment) {
    auto value = [&](const char* name) {
        auto variable = environment.find(name);
        return variable == environment.end() ? std::string() : variable->second;
    };
    ConfigurationSources sources{.directories = {}, .environment = environment};
    if (std::string own = value("BELAY_CONFIG_DIR"); !own.empty()) {
        for (std::string_view directory : split(own, ':'))
            if (!directory.empty()) sources.directories.emplace_back(directory);
        return sources;
    }
    sources.directories.emplace_back("/etc/belay");
    // A relative XDG_CONFIG_HOME is to be ignored (XDG Base Directory Specification 0.8).
    fs::path home = value("XDG_CONFIG_HOME");
    if (!home.is_absolute()) home = value("HOME").empty() ? fs::path() : fs::path(value("HOME")) / ".config";
    if (home.empty()) return sources;
    sources.home = home / "belay";
    sources.directories.push_back(sources.home);
    return sources;
}

Result<Configuration> load_configuration(std::span<const Setting> settings,
                                         const ConfigurationSources& sources) {
    Configuration configuration(settings);
    // A home directory may be on a file server that does not answer.
    BELAY_TRY(texts, run_within(sources.longest_reading,
                                {.what = "reading the configuration", .limit = size_t{256} << 20},
                                [&] { return read_configuration_files(sources); }));
    BELAY_TRY(files, split_configuration_files(texts));
    for (const ConfigurationFile& file : files) {
        if (file.is_believed)
            BELAY_CHECK(configuration.merge_toml(file.text, file.path));
        else
            configuration.add_foreign(file.path, file.text);
    }
    BELAY_CHECK(configuration.merge_environment(sources.environment));
    for (const SettingFlag& flag : sources.flags)
        BELAY_CHECK(configuration.merge_flag(flag.key, flag.texts, flag.flag));
    return configuration;
}

}  // namespace belay::core
