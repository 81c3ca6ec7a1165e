#include "bench/schedule/sample_list.h"

#include "core/directory.h"

namespace belay::bench {

namespace {

using core::Result;

Result<std::vector<std::string>> names_in(const core::Directory& directory, const std::string& folder,
                                          const std::string& hint) {
    auto beneath = directory.enter(folder);
    if (!beneath) return std::unexpected(std::move(beneath.error()).hint(hint));
    BELAY_TRY(names, beneath->list());
    for (std::string& name : names) name.insert(0, folder + "/");
    return names;
}

}  // namespace

Result<SampleList> SampleList::read(const std::filesystem::path& path, const Pick& pick,
                                    const std::string& hint) {
    BELAY_TRY(directory, core::Directory::open(path));
    SampleList list;
    list.directory_ = path;
    BELAY_TRY(train, names_in(directory, "train", hint));
    BELAY_TRY(picked, core::with_context(pick(std::move(train)), path.string()));
    list.train_ = std::move(picked);
    BELAY_TRY(eval, names_in(directory, "validation", hint));
    BELAY_TRY(picked_eval, core::with_context(pick(std::move(eval)), path.string()));
    list.eval_ = std::move(picked_eval);
    return list;
}

Result<std::string> SampleList::name(Split split, uint32_t index) const {
    const auto& all = names(split);
    if (index < all.size()) return all[index];
    return core::bad_input("{} has {} samples to {}, and number {} is asked for", directory_.string(),
                           all.size(), split == Split::kTrain ? "train on" : "be judged by", index)
        .hint("take fewer with --train-samples and --eval-samples");
}

}  // namespace belay::bench
