#include "env/annotation.h"

#include "core/text.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

namespace belay::env {

namespace {

enum class Kind {
    kSwitch,     // "true" or "false": turns its hook on
    kParameter,  // any text: a hook of which one is set is on, unless switched off
    kNotice,     // means something to other tools only, and may be left out without harm
};

struct Known {
    std::string_view name;
    Kind kind;
};

// The keys of environments.md, part (b). mpi, glibc and logging are Sarus's.
constexpr std::array kKnown = {
    Known{"com.hooks.cxi.enabled", Kind::kSwitch},
    Known{"com.hooks.aws_ofi_nccl.enabled", Kind::kSwitch},
    Known{"com.hooks.aws_ofi_nccl.variant", Kind::kParameter},
    Known{"com.hooks.netstack.source", Kind::kParameter},
    Known{"com.hooks.netstack.version", Kind::kParameter},
    Known{"com.hooks.netstack.name", Kind::kParameter},
    Known{"com.hooks.ssh.enabled", Kind::kSwitch},
    Known{"com.hooks.ssh.authorize_ssh_key", Kind::kParameter},
    Known{"com.hooks.ssh.port", Kind::kParameter},
    Known{"com.hooks.nvidia_cuda_mps.enabled", Kind::kSwitch},
    Known{"com.hooks.dcgm.enabled", Kind::kSwitch},
    Known{"com.hooks.slurm.enabled", Kind::kSwitch},
    Known{"com.hooks.mpi.enabled", Kind::kSwitch},
    Known{"com.hooks.mpi.type", Kind::kParameter},
    Known{"com.hooks.glibc.enabled", Kind::kSwitch},
    Known{"com.hooks.logging.level", Kind::kNotice},
    Known{"com.pyxis.pytorch_remap_vars", Kind::kSwitch},
    Known{"com.pyxis.entrypoint_log", Kind::kSwitch},
};

// "com.hooks.ssh" of "com.hooks.ssh.port"; a switch of com.pyxis stands for itself.
std::string hook_of(std::string_view name) {
    if (!name.starts_with("com.hooks.")) return std::string(name);
    return std::string(name.substr(0, name.find('.', std::string_view("com.hooks.").size())));
}

const WrittenText* find(const std::map<std::string, WrittenText>& annotations, const std::string& name) {
    auto found = annotations.find(name);
    return found != annotations.end() ? &found->second : nullptr;
}

void report_unknown(const std::string& name, const WrittenText& text, Problems& problems) {
    std::vector<std::string_view> names;
    for (const Known& each : kKnown) names.push_back(each.name);
    auto meant = core::nearest(name, names);
    problems.push_back(make_problem("W_UNKNOWN", text.place,
                                    fmt::format("nothing reads the annotation {}", name),
                                    meant ? fmt::format("did you mean {}?", *meant) : ""));
}

}  // namespace

void check_annotations(const std::map<std::string, WrittenText>& annotations, Problems& problems) {
    std::map<std::string, const WrittenText*> wanted;  // hooks that are on, with what turns them on
    for (const auto& [name, text] : annotations) {
        if (!name.starts_with("com.hooks.") && !name.starts_with("com.pyxis.")) continue;
        const auto* known = std::ranges::find(kKnown, name, &Known::name);
        if (known == kKnown.end()) {
            report_unknown(name, text, problems);
            continue;
        }
        if (known->kind == Kind::kNotice) continue;
        if (known->kind == Kind::kSwitch && text.value != "true" && text.value != "false") {
            problems.push_back(make_problem("E_ANNOTATION", text.place,
                                            fmt::format("{} is \"{}\"", name, text.value),
                                            "write \"true\" or \"false\""));
            continue;
        }
        const WrittenText* hook_switch = find(annotations, hook_of(name) + ".enabled");
        bool off = known->kind == Kind::kSwitch ? text.value == "false"
                                                : hook_switch != nullptr && hook_switch->value == "false";
        if (!off) wanted.try_emplace(hook_of(name), &text);
    }
    for (const auto& [hook, text] : wanted) {
        bool switched = find(annotations, hook + ".enabled") != nullptr || annotations.contains(hook);
        problems.push_back(make_problem("W_UNSUPPORTED", text->place,
                                        fmt::format("{} is not supported yet{}", hook,
                                                    switched ? "" : " (a parameter of it turns it on)"),
                                        "an environment that asks for it is not run"));
    }
}

}  // namespace belay::env
