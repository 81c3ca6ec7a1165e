// Layered configuration: defaults, then *.toml of /etc/belay, then of ~/.config/belay, then the environment,
// then flags; each value remembers where it came from. Settings are declared as data by the modules that read
// them:
//
//   constexpr Setting kSettings[] = {
//       {"record.interval", SettingType::kDuration, "1s", "time between two samples"},
//   };
//   BELAY_TRY(configuration, load_configuration(kSettings, default_sources()));
//   configuration.duration("record.interval")
//
// In a file that is `[record]` and `interval = "1s"`, in the environment BELAY_RECORD_INTERVAL=1s.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "core/time.h"
#include "core/units.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::core {

enum class SettingType { kText, kInteger, kNumber, kBoolean, kDuration, kSize, kTextList };

// The strings are literals: a Setting is copied without them.
struct Setting {
    std::string_view key;  // "section.name", lower case with "_"
    SettingType type;
    std::string_view default_text;  // as it would stand in the environment; an empty text is an empty list
    std::string_view meaning;       // one line
};

using TextList = std::vector<std::string>;
using SettingValue = std::variant<std::string, int64_t, double, bool, Duration, ByteSize, TextList>;

// "duration": what `belay config` and messages call it.
std::string_view type_name(SettingType type);

// A value as written in the environment or after a flag. A list is a TOML array, or else one element, so that
// a pattern needs no quoting. Errors: kBadInput, naming the setting.
Result<SettingValue> parse_setting(const Setting& setting, std::string_view text);

// The inverse, except that a list is always an array.
std::string to_text(const SettingValue& value);

// The variable of a setting: "BELAY_RECORD_INTERVAL".
std::string environment_name(std::string_view key);

struct ConfiguredValue {
    Setting setting;
    SettingValue value;
    std::string
        origin;  // "default", "/etc/belay/a.toml:3", "environment BELAY_RECORD_INTERVAL", "--interval"
};

class Configuration {
  public:
    // All at their defaults. A default that its type does not admit, or a key declared twice, is a mistake in
    // the program and ends it.
    explicit Configuration(std::span<const Setting> settings);

    // The accessors end the program on a key that is not declared with that type: a mistake in the program,
    // not of the user.
    const std::string& text(std::string_view key) const { return get<std::string>(key); }
    int64_t integer(std::string_view key) const { return get<int64_t>(key); }
    double number(std::string_view key) const { return get<double>(key); }
    bool boolean(std::string_view key) const { return get<bool>(key); }
    Duration duration(std::string_view key) const { return get<Duration>(key); }
    ByteSize size(std::string_view key) const { return get<ByteSize>(key); }
    const TextList& text_list(std::string_view key) const { return get<TextList>(key); }
    const std::string& origin(std::string_view key) const;

    // In the order of declaration.
    std::span<const ConfiguredValue> values() const { return values_; }

    // What is ignored, each with its place, and said by whoever loads the configuration: what was given for
    // settings that there are none of (a key of a later version, or a mistake), and files of another user.
    std::span<const Error> ignored() const { return ignored_; }
    // The same as PROGRAM prints it: the first kMostIgnoredShown, and how many more there are.
    std::string ignored_text(std::string_view program = "belay") const;
    static constexpr size_t kMostIgnoredShown = 10;

    // Each layer overwrites what the earlier ones set, only if all of it is right. Errors: kBadInput.
    Result<> merge_toml(std::string_view text, const std::string& file);
    Result<> merge_environment(const Environment& environment);
    Result<> merge_flag(std::string_view key, std::span<const std::string> texts, const std::string& flag);
    // A file of another user's, which is ignored.
    void add_foreign(const std::string& file, const std::string& owner);

  private:
    void check_names(const Environment& environment);
    template <typename Type>
    const Type& get(std::string_view key) const;
    const ConfiguredValue* find(std::string_view key) const;
    ConfiguredValue* find(std::string_view key);

    std::vector<ConfiguredValue> values_;
    std::vector<Error> ignored_;
};

// What a person gave on the command line for a setting; several texts only for a list.
struct SettingFlag {
    std::string key;
    std::string flag;
    std::vector<std::string> texts;
};

struct ConfigurationSources {
    std::vector<std::filesystem::path> directories;  // later ones win; one that is not there is empty
    // Of those, the one below HOME, which may still be another user's (sudo, setpriv): where it may not be
    // read, it is not this user's.
    std::filesystem::path home = {};
    Environment environment;
    std::vector<SettingFlag> flags = {};
    Duration longest_reading = std::chrono::seconds(10);  // of all files; then kTimedOut
};

// /etc/belay and $XDG_CONFIG_HOME/belay (or ~/.config/belay), or the directories in $BELAY_CONFIG_DIR,
// separated by ":".
ConfigurationSources default_sources(const Environment& environment = current_environment());

// Merges the *.toml of each directory in the order of their names, then environment and flags. Errors:
// kBadInput with file, line and column for a value of the wrong type or what is not TOML; kSystem
// for a file that cannot be read; kTimedOut for files that cannot be read in time, with the first of them.
Result<Configuration> load_configuration(std::span<const Setting> settings,
                                         const ConfigurationSources& sources);

}  // namespace belay::core
