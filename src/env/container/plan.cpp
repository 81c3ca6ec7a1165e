#include "env/container/plan.h"

#include "env/container/mount_flags.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <nlohmann/json.hpp>

namespace belay::env {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kStandardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// What a job's tasks must know of their job whatever the image says.
constexpr std::array<std::string_view, 8> kJobPrefixes = {"SLURM_", "SLURMD_", "PMI_",          "PMIX_",
                                                          "PALS_",  "OMPI_",   "CUDA_VISIBLE_", "BELAY_"};
constexpr std::array<std::string_view, 3> kLanguage = {"LANG", "LANGUAGE", "LC_ALL"};

bool is_of_the_job(std::string_view name) {
    return std::ranges::any_of(kJobPrefixes,
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Kernel file systems and how names are resolved: as on the host.
const std::vector<Bind>& standard_binds() {
    static const std::vector<Bind> kBinds = {
        {"/proc", "/proc", {"rbind", "rslave"}},
        {"/sys", "/sys", {"rbind", "rslave"}},
        {"/dev", "/dev", {"rbind", "rslave"}},
        {"/etc/resolv.conf", "/etc/resolv.conf", {"bind", "ro"}, false, true},
        {"/etc/hosts", "/etc/hosts", {"bind", "ro"}, false, true},
    };
    return kBinds;
}

// The plain forms are for the topmost mount only, and in a user namespace crun (1.8) ignores them but for
// "ro". Without mounts below, both are the same.
std::string recursive_form(const std::string& flag) {
    for (std::string_view each : {"ro", "noexec"})
        if (flag == each) return "r" + flag;
    return flag;
}

Bind to_bind(const Mount& mount) {
    if (mount.is_squashfs())
        return {mount.source, mount.destination, {"rbind", "rro", "rnosuid", "rnodev"}, true};
    Bind bind{mount.source, mount.destination, {}};
    bool recursive = true;
    for (const std::string& flag : mount.flags) {
        if (flag == "bind") recursive = false;
        // Both are what a missing directory or file gets anyhow; "suid" and "dev" grant nothing.
        if (flag == "bind" || flag == "rbind" || flag == "rw" || flag == "suid" || flag == "dev" ||
            flag.starts_with("x-create="))
            continue;
        // Nothing reaches the host from a user's mounts; what the host mounts later reaches them.
        if (flag == "shared" || flag == "rshared")
            bind.options.emplace_back("rslave");
        else if (flag != "nosuid" && flag != "nodev")
            bind.options.push_back(recursive_form(flag));
    }
    bind.options.insert(bind.options.begin(), recursive ? "rbind" : "bind");
    bind.options.emplace_back("rnosuid");
    if (mount.source != "/dev" && !mount.source.starts_with("/dev/")) bind.options.emplace_back("rnodev");
    return bind;
}

std::ptrdiff_t depth(const std::string& path) {
    return std::ranges::count(path, '/');
}

// crun opens what shall get flags as a directory: those of a file are set later (mount_flags.h).
Json mount_json(const Bind& bind, const std::string& source) {
    std::vector<std::string> options = bind.options;
    if (bind.is_file) std::erase_if(options, is_mount_flag);
    return {{"destination", bind.destination},
            {"type", "bind"},
            {"source", source},
            {"options", std::move(options)}};
}

}  // namespace

VariableChanges changes_in_container(const VariablePlan& plan) {
    VariableChanges changes;
    for (std::string_view name : kLanguage) changes.unset.emplace_back(name);
    for (const auto& [name, value] : plan.image)
        if (!is_of_the_job(name)) changes.set[name] = value;
    if (!plan.image.contains("PATH")) changes.set["PATH"] = kStandardPath;
    for (const auto& [name, value] : plan.environment) changes.set[name] = value;
    for (const std::string& name : plan.unset) {
        changes.set.erase(name);
        changes.unset.push_back(name);
    }
    return changes;
}

core::Environment changed_by(const VariableChanges& changes, core::Environment variables) {
    for (const std::string& name : changes.unset) variables.erase(name);
    for (const auto& [name, value] : changes.set) variables[name] = value;
    return variables;
}

ContainerPlan make_plan(const Environment& environment, const ImageFacts& image, const PlanOptions& options) {
    ContainerPlan plan{.image_file = options.image_file,
                       .writable = environment.writable,
                       .overlay_size = options.overlay_size,
                       .binds = standard_binds(),
                       .workdir = environment.workdir};
    if (environment.entrypoint) plan.entrypoint = image.entrypoint;
    // An image's may be relative: to the root, as for Docker.
    if (plan.workdir.empty()) plan.workdir = (std::filesystem::path("/") / image.workdir).string();
    std::vector<Bind> own;
    for (const Mount& mount : environment.mounts) own.push_back(to_bind(mount));
    std::ranges::stable_sort(own, {}, [](const Bind& bind) { return depth(bind.destination); });
    plan.binds.insert(plan.binds.end(), own.begin(), own.end());
    return plan;
}

std::string oci_config(const ContainerPlan& plan, const std::string& root,
                       const std::vector<std::string>& squashfs_paths, unsigned user, unsigned group) {
    Json mounts = Json::array();
    size_t squashfs = 0;
    for (const Bind& bind : plan.binds)
        mounts.push_back(mount_json(bind, bind.squashfs ? squashfs_paths.at(squashfs++) : bind.source));
    auto map_to_zero = [](unsigned id) {
        return Json::array({{{"containerID", id}, {"hostID", 0}, {"size", 1}}});
    };
    Json config = {{"ociVersion", "1.0.2"},
                   {"process",
                    {{"terminal", false},
                     {"user", {{"uid", user}, {"gid", group}}},
                     {"args", {"/proc/self/exe"}},  // opened, never started: tasks join what was created
                     {"env", Json::array()},
                     {"cwd", "/"}}},
                   {"root", {{"path", root}, {"readonly", !plan.writable}}},
                   {"mounts", std::move(mounts)},
                   {"linux",
                    {{"rootfsPropagation", "rslave"},
                     {"namespaces", {{{"type", "mount"}}, {{"type", "user"}}}},
                     {"uidMappings", map_to_zero(user)},
                     {"gidMappings", map_to_zero(group)}}}};
    return config.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace belay::env
