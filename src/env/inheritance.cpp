#include "env/inheritance.h"

#include "core/text.h"
#include "env/edf_reader.h"
#include "env/search.h"

#include <algorithm>
#include <unordered_set>

namespace belay::env {

namespace fs = std::filesystem;

namespace {

class Loader {
  public:
    Loader(const Host& host, Problems& problems) : host_(host), problems_(problems) {}

    const Definition* load(std::string_view name, const Place& place) {
        auto path = find_environment(name, host_, place, problems_);
        if (!path) return nullptr;
        chain_.push_back(path->string());
        const Loaded* loaded = load_file(*path, place);
        chain_.pop_back();
        return loaded != nullptr ? &loaded->definition : nullptr;
    }

    std::vector<std::string> files;

  private:
    struct Loaded {
        Definition definition;
        int height = 0;  // edges below it
    };

    const Loaded* load_file(const fs::path& path, const Place& place) {
        auto identity = host_.files.identify(path);
        if (!identity) return not_read(place, path, identity.error());
        if (std::ranges::find(open_, *identity) != open_.end())
            return refuse("E_CYCLE", place, "an environment inherits itself");
        auto known = loaded_.find(*identity);
        if (known == loaded_.end()) {
            if (static_cast<int>(open_.size()) > kDeepestInheritance) return refuse_depth(place);
            auto text = host_.files.read(path);
            if (!text) return not_read(place, path, text.error());
            open_.push_back(*identity);
            Loaded loaded = inherit(read_edf(*text, path.string(), chain_, problems_));
            open_.pop_back();
            files.push_back(path.string());
            known = loaded_.emplace(*identity, std::move(loaded)).first;
        }
        if (static_cast<int>(open_.size()) + known->second.height > kDeepestInheritance)
            return refuse_depth(place);
        deepest_ = std::max(deepest_, known->second.height);
        return &known->second;
    }

    Loaded inherit(Definition own) {
        Loaded result;
        for (const WrittenText& base : std::exchange(own.bases, {})) {
            int outer = std::exchange(deepest_, 0);
            const Definition* definition = load(base.value, base.place);
            if (definition != nullptr) {
                merge(result.definition, *definition);
                result.height = std::max(result.height, deepest_ + 1);
            }
            deepest_ = outer;
        }
        merge(result.definition, own);
        return result;
    }

    const Loaded* refuse_depth(const Place& place) {
        return refuse("E_DEPTH", place,
                      fmt::format("environments inherit more than {} deep", kDeepestInheritance));
    }
    const Loaded* not_read(const Place& place, const fs::path& path, const core::Error& error) {
        problems_.push_back(file_problem(place, error, fmt::format("there is no file {}", path.string())));
        return nullptr;
    }
    const Loaded* refuse(std::string_view code, const Place& place, std::string_view what) {
        problems_.push_back(
            make_problem(code, place, fmt::format("{}: {}", what, core::join(chain_, " -> "))));
        return nullptr;
    }

    const Host& host_;
    Problems& problems_;
    std::vector<std::string> chain_;
    std::vector<FileIdentity> open_;
    std::map<FileIdentity, Loaded> loaded_;
    int deepest_ = 0;  // height of the base that was loaded last
};

void append_new(std::vector<WrittenText>& under, const std::vector<WrittenText>& over) {
    std::unordered_set<std::string> known;
    for (const WrittenText& entry : under) known.insert(entry.value);
    for (const WrittenText& entry : over)
        if (known.insert(entry.value).second) under.push_back(entry);
}

template <typename T>
void replace(std::optional<T>& under, const std::optional<T>& over) {
    if (over) under = over;
}

}  // namespace

void merge(Definition& under, const Definition& over) {
    replace(under.image, over.image);
    replace(under.workdir, over.workdir);
    replace(under.entrypoint, over.entrypoint);
    replace(under.writable, over.writable);
    append_new(under.mounts, over.mounts);
    append_new(under.devices, over.devices);
    for (const auto& [key, value] : over.env) under.env.insert_or_assign(key, value);
    for (const auto& [key, value] : over.annotations) under.annotations.insert_or_assign(key, value);
    for (const Startup& entry : over.startup) {
        auto same = std::ranges::find(under.startup, entry.name, &Startup::name);
        if (same != under.startup.end())
            *same = entry;
        else
            under.startup.push_back(entry);
    }
}

Merged load_merged(std::string_view name, const Host& host, Problems& problems) {
    Loader loader(host, problems);
    Merged merged;
    if (const Definition* definition = loader.load(name, {})) merged.definition = *definition;
    merged.files = std::move(loader.files);
    return merged;
}

}  // namespace belay::env
