#include "env/environment.h"

#include "core/text.h"
#include "env/annotation.h"
#include "env/device.h"
#include "env/inheritance.h"

#include <algorithm>
#include <array>

namespace belay::env {

namespace {

// A problem at some bytes of a value: within the line where the file spells the value as it is, else at its
// start.
Problem problem_within(std::string_view code, const WrittenText& text, size_t offset, size_t length,
                       std::string message, std::string hint) {
    Problem problem = make_problem(code, text.place, std::move(message), std::move(hint));
    if (text.text_column > 0) {
        problem.place.position.column = text.text_column + static_cast<int>(offset);
        problem.length = length;
    }
    return problem;
}

std::optional<std::string> expand_value(const WrittenText& text, std::string_view key,
                                        const std::vector<const core::Environment*>& scopes,
                                        Problems& problems) {
    static constexpr std::array<std::string_view, 3> kCodes = {"E_UNDEF", "E_EXPAND",
                                                               "W_BARE"};  // in the order of Kind
    Expansion expansion = expand(text.value, scopes);
    for (const ExpansionProblem& problem : expansion.problems)
        problems.push_back(problem_within(kCodes[static_cast<size_t>(problem.kind)], text, problem.offset,
                                          problem.length, fmt::format("{} (key {})", problem.message, key),
                                          problem.hint));
    if (!expansion.ok()) return std::nullopt;
    return std::move(expansion.text);
}

class Resolver {
  public:
    Resolver(const Host& host, Problems& problems) : host_(host), problems_(problems) {}

    Environment resolve(Merged merged, std::string_view name) {
        Definition& definition = merged.definition;
        result_.name = name;
        result_.files = std::move(merged.files);
        resolve_image(definition.image);
        if (auto workdir = expanded(definition.workdir, "workdir")) result_.workdir = std::move(*workdir);
        if (!result_.workdir.empty() && !result_.workdir.starts_with('/'))
            problems_.push_back(
                make_problem("E_WORKDIR", definition.workdir->place,
                             fmt::format("workdir \"{}\" is not an absolute path", result_.workdir)));
        result_.entrypoint = flag(definition.entrypoint, "entrypoint", false);
        result_.writable = flag(definition.writable, "writable", true);
        resolve_mounts(definition.mounts);
        resolve_devices(definition.devices);
        resolve_variables(definition.env);
        check_annotations(definition.annotations, problems_);
        for (const auto& [key, text] : definition.annotations)
            if (auto value = expanded(text, "annotations." + key))
                result_.annotations[key] = std::move(*value);
        resolve_startup(definition.startup);
        return std::move(result_);
    }

  private:
    std::optional<std::string> expanded(const std::optional<WrittenText>& text, const std::string& key) {
        if (!text) return std::nullopt;
        note_origin(key, text->place);
        return expand_value(*text, key, {&host_.variables}, problems_);
    }

    bool flag(const std::optional<Written<bool>>& written, const std::string& key, bool standard) {
        if (written) note_origin(key, written->place);
        return written ? written->value : standard;
    }

    void resolve_image(const std::optional<WrittenText>& written) {
        if (!written) {
            if (!has_errors(problems_))
                problems_.push_back(make_problem(
                    "W_NOIMAGE", {},
                    fmt::format("no image in {}: the command will run on the host",
                                core::join(result_.files, ", ")),
                    "write image = \"…\" to run in a container, or image = \"\" if the host is meant"));
            return;
        }
        auto image = expanded(written, "image");
        if (!image) return;
        result_.image = *image;
        // Only a file that says so itself means the host: a variable may be empty by mistake.
        if (image->empty() && !written->value.empty()) {
            problems_.push_back(
                make_problem("E_IMAGE", written->place,
                             fmt::format("the image \"{}\" is an empty text here", written->value),
                             "set its variables, or write image = \"\" if the host is meant"));
            return;
        }
        if (image->empty()) {
            problems_.push_back(
                make_problem("W_HOST", written->place, "the command will run on the host: image is \"\""));
            return;
        }
        auto reference = image::parse_reference(*image);
        if (!reference) {
            const core::Error& error = reference.error();
            bool as_written = *image == written->value && error.position().has_value();
            auto offset = as_written ? static_cast<size_t>(std::max(error.position()->column - 1, 0)) : 0;
            problems_.push_back(problem_within("E_IMAGE", *written, offset,
                                               as_written ? 1 : written->value.size(), error.message(),
                                               error.hint_text()));
            return;
        }
        if (reference->is_file()) {
            reference->file = from_caller(reference->file, host_).string();
            if (auto found = host_.files.identify(reference->file); !found) {
                problems_.push_back(make_problem(
                    "E_IMAGE", written->place,
                    why_not(found.error(), fmt::format("there is no image file {}", reference->file))));
                problems_.back().failure = failure_in(found.error());
            }
        }
        result_.reference = std::move(*reference);
    }

    void resolve_mounts(const std::vector<WrittenText>& entries) {
        for (size_t i = 0; i < entries.size(); ++i) {
            const WrittenText& entry = entries[i];
            std::string key = fmt::format("mounts[{}]", i);
            ParsedMount parsed = parse_mount(entry.value, host_);
            bool usable = true;
            for (MountProblem& problem : parsed.problems) {
                usable = usable && problem.code.starts_with("W_");
                problems_.push_back(problem_within(problem.code, entry, problem.offset, problem.length,
                                                   fmt::format("{} (key {})", problem.message, key),
                                                   problem.hint));
                problems_.back().failure = std::move(problem.failure);
            }
            if (!usable) continue;
            auto before = std::ranges::find(result_.mounts, parsed.mount.destination, &Mount::destination);
            if (before != result_.mounts.end()) {
                if (*before == parsed.mount) continue;
                problems_.push_back(
                    make_problem("W_SHADOW", entry.place,
                                 fmt::format("{} hides {}: both are mounted on {}", entry.value,
                                             before->source, before->destination)));
                result_.origins.erase(fmt::format("mounts[{}]", before - result_.mounts.begin()));
                origins_of_mounts_.erase(origins_of_mounts_.begin() + (before - result_.mounts.begin()));
                result_.mounts.erase(before);
            }
            result_.mounts.push_back(std::move(parsed.mount));
            origins_of_mounts_.push_back(entry.place);
        }
        for (size_t i = 0; i < origins_of_mounts_.size(); ++i)
            note_origin(fmt::format("mounts[{}]", i), origins_of_mounts_[i]);
    }

    void resolve_devices(const std::vector<WrittenText>& entries) {
        for (size_t i = 0; i < entries.size(); ++i) {
            auto device = expanded(entries[i], fmt::format("devices[{}]", i));
            if (!device) continue;
            if (auto checked = check_device(*device); !checked)
                problems_.push_back(make_problem("E_DEVICE", entries[i].place, checked.error().message(),
                                                 checked.error().hint_text()));
            else if (std::ranges::find(result_.devices, *device) == result_.devices.end())
                result_.devices.push_back(std::move(*device));
        }
        if (!result_.devices.empty()) unsupported(entries.front().place, "devices");
    }

    void resolve_variables(const std::map<std::string, WrittenText>& variables) {
        for (const auto& [name, text] : variables) {
            note_origin("env." + name, text.place);
            if (text.value.empty())
                result_.unset.push_back(name);
            else
                result_.env.emplace(name, text);
        }
    }

    void resolve_startup(const std::vector<Startup>& entries) {
        for (const Startup& entry : entries) {
            ResolvedStartup resolved{entry.name, {}, entry.once, entry.timeout, entry.on_failure};
            note_origin("startup." + entry.name, entry.place);
            for (const WrittenText& word : entry.command)
                if (auto text = expand_value(word, "startup." + entry.name, {&host_.variables}, problems_))
                    resolved.command.push_back(std::move(*text));
            result_.startup.push_back(std::move(resolved));
        }
        if (!entries.empty()) unsupported(entries.front().place, "[[startup]]");
    }

    void unsupported(const Place& place, std::string_view key) {
        problems_.push_back(make_problem("W_UNSUPPORTED", place, fmt::format("{} is not supported yet", key),
                                         "an environment that asks for it is not run"));
    }

    void note_origin(const std::string& key, const Place& place) {
        result_.origins[key] = fmt::format("{}:{}", place.position.file, place.position.line);
    }

    const Host& host_;
    Problems& problems_;
    Environment result_;
    std::vector<Place> origins_of_mounts_;
};

}  // namespace

Environment load_environment(std::string_view name, const Host& host, Problems& problems) {
    return Resolver(host, problems).resolve(load_merged(name, host, problems), name);
}

std::map<std::string, std::string> expand_variables(const Environment& environment,
                                                    const core::Environment& image,
                                                    const core::Environment& caller, Problems& problems) {
    std::map<std::string, std::string> variables;
    for (const auto& [name, text] : environment.env)
        if (auto value = expand_value(text, "env." + name, {&image, &caller}, problems))
            variables[name] = std::move(*value);
    return variables;
}

std::map<std::string, std::string> expand_without_image(const Environment& environment,
                                                        const core::Environment& caller, Problems& problems) {
    std::map<std::string, std::string> variables;
    for (const auto& [name, text] : environment.env) {
        Problems own;
        auto value = expand_value(text, "env." + name, {&caller}, own);
        const bool may_be_the_image_s =
            !environment.image.empty() && std::ranges::all_of(own, [](const auto& each) {
                return each.code == "E_UNDEF" || each.severity != Severity::kError;
            });
        for (Problem& problem : own) {
            if (may_be_the_image_s && problem.code == "E_UNDEF") {
                problem.code = "W_IMAGE_VARIABLE";
                problem.severity = Severity::kWarning;
                problem.message += "; the image may set it";
            }
            problems.push_back(std::move(problem));
        }
        if (value)
            variables[name] = std::move(*value);
        else if (may_be_the_image_s)
            variables[name] = text.value;
    }
    return variables;
}

void refuse_unsupported(Problems& problems) {
    for (Problem& problem : problems) {
        if (problem.code != "W_UNSUPPORTED") continue;
        problem.code = "E_UNSUPPORTED";
        problem.severity = Severity::kError;
    }
}

bool passes_strictly(const Problems& problems) {
    return std::ranges::all_of(problems, [](const Problem& problem) { return problem.code == "W_HOST"; });
}

}  // namespace belay::env
