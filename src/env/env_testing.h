// The host of the worked examples: files, variables and a directory that exist only here.
#pragma once

#include "env/environment.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

namespace belay::env::testing {

class FakeHost {
  public:
    FakeHost() {
        host.variables = {{"HOME", "/u/a"},     {"SCRATCH", "/s/a"}, {"EMPTY", ""},
                          {"PATH", "/usr/bin"}, {"V", "${HOME}"},    {"C", "/p:q"}};
        host.directory = "/w";
        host.system_directories = {"/etc/edf"};
        host.files = {.read = [this](const auto& path) -> core::Result<std::string> {
                          auto found = texts_.find(path.string());
                          if (found == texts_.end())
                              return core::system_error("cannot read {}", path.string());
                          return found->second;
                      },
                      .identify = [this](const auto& path) { return identify(path.string()); },
                      .list =
                          [this](const auto& directory) {
                              std::vector<std::string> names;
                              for (const auto& [path, text] : texts_)
                                  if (std::filesystem::path(path).parent_path() == directory)
                                      names.push_back(std::filesystem::path(path).filename().string());
                              return names;
                          }};
    }
    FakeHost(const FakeHost&) = delete;

    void write(const std::string& path, std::string text) { texts_[path] = std::move(text); }
    void remove(const std::string& path) { missing_.insert(path); }
    // Whoever looks at it gets this errno.
    void spoil(const std::string& path, int error) { broken_[path] = error; }

    // The environment that "job.toml" of the caller's directory describes.
    Environment load(std::string text) {
        write("/w/job.toml", std::move(text));
        return load_by_name("job.toml");
    }
    Environment load_by_name(std::string_view name) {
        problems.clear();
        return load_environment(name, host, problems);
    }
    std::map<std::string, std::string> variables(const Environment& environment,
                                                 const core::Environment& image = {}) {
        return expand_variables(environment, image, host.variables, problems);
    }
    const Problem* find(std::string_view code) const {
        auto found = std::ranges::find(problems, code, &Problem::code);
        return found != problems.end() ? &*found : nullptr;
    }
    std::vector<std::string> codes() const {
        std::vector<std::string> codes;
        for (const Problem& problem : problems) codes.push_back(problem.code);
        return codes;
    }

    Host host;
    Problems problems;

  private:
    // All sources of mounts exist; EDF files only where they were written.
    core::Result<FileIdentity> identify(const std::string& path) {
        if (auto broken = broken_.find(path); broken != broken_.end())
            return core::errno_error(broken->second, "cannot look at " + path);
        if (missing_.contains(path) || (path.ends_with(".toml") && !texts_.contains(path)))
            return core::errno_error(ENOENT, path);
        return FileIdentity{1, identities_.try_emplace(path, identities_.size()).first->second};
    }

    std::map<std::string, std::string> texts_;
    std::map<std::string, uint64_t> identities_;
    std::set<std::string> missing_;
    std::map<std::string, int> broken_;
};

}  // namespace belay::env::testing
