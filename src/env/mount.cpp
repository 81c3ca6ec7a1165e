#include "env/mount.h"

#include "core/text.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

namespace belay::env {

namespace fs = std::filesystem;

namespace {

struct Flag {
    std::string_view name;
    std::string_view without_effect;  // why it grants nothing
};

constexpr std::array kFlags = {
    Flag{"ro", ""},
    Flag{"rw", ""},
    Flag{"bind", ""},
    Flag{"rbind", ""},
    Flag{"nosuid", ""},
    Flag{"suid", "mounts of a user never honour set-user-ID bits"},
    Flag{"nodev", ""},
    Flag{"dev", "mounts of a user never honour device files"},
    Flag{"noexec", ""},
    Flag{"exec", ""},
    Flag{"private", ""},
    Flag{"rprivate", ""},
    Flag{"slave", ""},
    Flag{"rslave", ""},
    Flag{"shared", "what is mounted in the container stays there: it is mounted as rslave"},
    Flag{"rshared", "what is mounted in the container stays there: it is mounted as rslave"},
    Flag{"x-create=dir", ""},
    Flag{"x-create=file", ""},
    Flag{"x-create=auto", ""},
    Flag{"sqsh", ""},
};

const Flag* find_flag(std::string_view name) {
    const auto* found = std::ranges::find(kFlags, name, &Flag::name);
    return found != kFlags.end() ? found : nullptr;
}

bool are_flags(std::string_view text) {
    return std::ranges::all_of(core::split(text, '+'),
                               [](std::string_view part) { return find_flag(part) != nullptr; });
}

class MountParser {
  public:
    MountParser(std::string_view text, const Host& host) : text_(text), host_(host) {}

    ParsedMount parse() {
        std::vector<Piece> pieces = split_outside_variables(text_, ':');
        if (pieces.size() > 3)
            add("E_MOUNT_FIELDS", pieces[3],
                fmt::format("\"{}\" has too many fields: write SRC:DST:FLAGS", text_),
                "put a path with a colon into a variable: what a variable holds is not split");
        else
            read_fields(pieces);
        return std::move(result_);
    }

  private:
    void read_fields(const std::vector<Piece>& pieces) {
        Mount& mount = result_.mount;
        bool readable = read_source(pieces[0]);
        if (pieces.size() > 2) read_flags(pieces[2]);
        if (pieces.size() > 1)
            read_destination(pieces[1], pieces[0].text);
        else if (readable)
            set_destination(mount.source, pieces[0]);
    }

    void set_destination(const std::string& path, const Piece& piece) {
        result_.mount.destination = without_slash(fs::path(path).lexically_normal());
        if (result_.mount.destination == "/")
            add("E_MOUNT_DST", piece, "nothing can be mounted over the root of the container",
                "name a directory in it");
        const std::string& destination = result_.mount.destination;
        if (destination == "/proc" || destination.starts_with("/proc/"))
            add("E_MOUNT_DST", piece,
                fmt::format("nothing can be mounted on {}: /proc is the kernel's", destination),
                "name another directory");
    }

    bool read_source(const Piece& piece) {
        auto source = expanded(piece);
        if (!source) return false;
        if (!source->starts_with('/') && !is_relative_to_caller(*source)) {
            add("E_MOUNT_SRC", piece, fmt::format("the source \"{}\" is not an absolute path", *source),
                source->empty() ? "write SRC:DST"
                                : fmt::format("for a path on this directory, write ./{}", *source));
            return false;
        }
        result_.mount.source = without_slash(from_caller(*source, host_));
        if (auto found = host_.files.identify(result_.mount.source); !found) {
            auto failure = failure_in(found.error());
            add("E_MOUNT_SRC", piece,
                why_not(found.error(), fmt::format("the source {} does not exist", result_.mount.source)),
                failure ? "" : "create it, or correct the path");
            result_.problems.back().failure = std::move(failure);
            return false;
        }
        return true;
    }

    void read_destination(const Piece& piece, std::string_view source_text) {
        auto destination = expanded(piece);
        if (!destination) return;
        if (!destination->starts_with('/')) {
            bool flags = !destination->empty() && are_flags(*destination);
            add("E_MOUNT_DST", piece,
                fmt::format("the destination \"{}\" is not an absolute path", *destination),
                flags ? fmt::format("write {0}:{0}:{1}", source_text, *destination)
                      : fmt::format("write the path in the container: {}:/…", source_text));
            return;
        }
        set_destination(*destination, piece);
    }

    void read_flags(const Piece& piece) {
        auto text = expanded(piece);
        if (!text) return;
        char separator = '+';
        if (text->find(',') != std::string::npos) {
            separator = ',';
            add("W_MOUNT_FLAG", piece, "flags are joined by \"+\"", "");
            std::ranges::replace(*text, '+', ',');
            result_.problems.back().hint = "write " + std::string(*text);
            std::ranges::replace(result_.problems.back().hint, ',', '+');
        }
        for (std::string_view name : core::split(*text, separator)) {
            const Flag* flag = find_flag(name);
            if (flag == nullptr) {
                report_unknown(piece, name);
            } else if (!flag->without_effect.empty()) {
                add("W_MOUNT_FLAG", piece,
                    fmt::format("\"{}\" has no effect: {}", name, flag->without_effect), "");
            }
            result_.mount.flags.emplace_back(name);
        }
        const auto& flags = result_.mount.flags;
        if (flags.size() > 1 && std::ranges::find(flags, "sqsh") != flags.end())
            add("E_MOUNT_FLAG", piece, "\"sqsh\" stands alone: a SquashFS file is always mounted read-only",
                "write sqsh");
        for (auto [one, other] : {std::pair{"ro", "rw"}, std::pair{"exec", "noexec"}})
            if (std::ranges::find(flags, one) != flags.end() &&
                std::ranges::find(flags, other) != flags.end())
                add("E_MOUNT_FLAG", piece, fmt::format("\"{}\" and \"{}\" exclude each other", one, other),
                    "keep one");
    }

    void report_unknown(const Piece& piece, std::string_view name) {
        std::vector<std::string_view> names;
        for (const Flag& each : kFlags) names.push_back(each.name);
        auto meant = core::nearest(name, names);
        add("E_MOUNT_FLAG", piece, fmt::format("unknown flag \"{}\"", name),
            meant ? fmt::format("did you mean \"{}\"?", *meant)
                  : fmt::format("the flags are {}", fmt::join(names, " ")));
    }

    std::optional<std::string> expanded(const Piece& piece) {
        Expansion expansion = expand(piece.text, {&host_.variables});
        for (const ExpansionProblem& problem : expansion.problems) {
            static constexpr std::array kCodes = {"E_UNDEF", "E_EXPAND", "W_BARE"};  // in the order of Kind
            result_.problems.push_back({kCodes[static_cast<size_t>(problem.kind)],
                                        piece.offset + problem.offset, problem.length, problem.message,
                                        problem.hint});
        }
        if (!expansion.ok()) return std::nullopt;
        return std::move(expansion.text);
    }

    void add(std::string_view code, const Piece& piece, std::string message, std::string hint) {
        result_.problems.push_back({std::string(code), piece.offset, std::max<size_t>(piece.text.size(), 1),
                                    std::move(message), std::move(hint)});
    }

    static std::string without_slash(const fs::path& path) {
        std::string text = path.string();
        while (text.size() > 1 && text.ends_with('/')) text.pop_back();
        return text;
    }

    std::string_view text_;
    const Host& host_;
    ParsedMount result_;
};

}  // namespace

std::string Mount::text() const {
    return source + ":" + destination + (flags.empty() ? "" : ":" + core::join(flags, "+"));
}

ParsedMount parse_mount(std::string_view text, const Host& host) {
    return MountParser(text, host).parse();
}

}  // namespace belay::env
