#include "core/log.h"

#include "core/process.h"
#include "core/text.h"
#include "core/utf8.h"

#include <atomic>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace belay::core {

namespace {

struct LevelName {
    std::string_view name;
    LogLevel level;
    spdlog::level::level_enum spdlog_level;
};
constexpr LevelName kLevels[] = {
    {"debug", LogLevel::kDebug, spdlog::level::debug},    {"info", LogLevel::kInfo, spdlog::level::info},
    {"warning", LogLevel::kWarning, spdlog::level::warn}, {"error", LogLevel::kError, spdlog::level::err},
    {"off", LogLevel::kOff, spdlog::level::off},
};

std::shared_ptr<spdlog::logger> make_logger(std::string_view program) {
    auto logger = std::make_shared<spdlog::logger>(std::string(program),
                                                   std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %n %l: %v", spdlog::pattern_time_type::utc);
    logger->set_level(spdlog::level::trace);  // log_enabled() decides
    logger->flush_on(spdlog::level::trace);
    return logger;
}

std::shared_ptr<spdlog::logger>& logger() {
    static std::shared_ptr<spdlog::logger> instance = make_logger("belay");
    return instance;
}

std::atomic<LogLevel> current_level{LogLevel::kWarning};

std::string on_one_line(std::string_view text) {
    std::string valid = to_valid_utf8(text);
    std::string out;
    for (char c : valid) {
        if (c == '\n')
            out += "\\n";
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += fmt::format("\\x{:02x}", c);
        else
            out += c;
    }
    return out;
}

}  // namespace

Result<> start_logging(std::string_view program, LogLevel level) {
    if (auto word = environment_variable("BELAY_LOG")) {
        std::vector<std::string_view> names;
        const LevelName* chosen = nullptr;
        for (const LevelName& each : kLevels) {
            names.push_back(each.name);
            if (each.name == *word) chosen = &each;
        }
        if (chosen == nullptr) {
            auto meant = nearest(*word, names);
            return bad_input("environment BELAY_LOG: unknown level \"{}\"", *word)
                .hint(meant ? fmt::format("did you mean \"{}\"?", *meant)
                            : "one of debug, info, warning, error, off");
        }
        level = chosen->level;
    }
    logger() = make_logger(program);
    current_level = level;
    return {};
}

bool log_enabled(LogLevel level) {
    return level != LogLevel::kOff && level >= current_level;
}

void log_text(LogLevel level, std::string_view text) {
    if (!log_enabled(level)) return;
    for (const LevelName& each : kLevels)
        if (each.level == level) logger()->log(each.spdlog_level, "{}", on_one_line(text));
}

}  // namespace belay::core
