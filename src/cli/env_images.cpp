// belay env images: what is in the store.
#include "cli/commands.h"
#include "cli/text_table.h"
#include "core/process.h"
#include "core/units.h"
#include "image/digest.h"
#include "image/store_settings.h"

#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<image::StoredImage>& images) {
    Json out = Json::array();
    for (const image::StoredImage& image : images)
        out.push_back({{"reference", image.reference.empty() ? Json() : Json(image.reference)},
                       {"digest", image.digest},
                       {"architecture", image.architecture},
                       {"bytes", image.bytes},
                       {"created", core::format_time(image.created)},
                       {"last_used", core::format_time(image.last_used)}});
    return out;
}

// "2026-03-01 12:00"
std::string to_minutes(core::Time time) {
    std::string text = core::format_time(time).substr(0, 16);
    text[10] = ' ';
    return text;
}

}  // namespace

void add_env_images(core::Application& application) {
    auto command = application.add({
        .name = "env images",
        .summary = "list the images in the store",
        .description = "Prints a line for each name and the image it stands for. An image without a name was "
                       "pulled by a tag that now names another image. Times are in UTC: when the image was "
                       "added to the store, and when it was last looked up by that name.",
        .examples = {{"belay env images --json", "the same for a script"}},
    });
    auto json = std::make_shared<bool>(false);
    command.json(*json);
    command.run([json](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(configuration, context.configuration());
        BELAY_TRY(store, image::open_store(configuration, core::current_environment()));
        BELAY_TRY(listed, store.list());
        for (const core::Error& error : listed.unread)
            fmt::print(stderr, "{}", error.render("belay: warning"));
        const std::vector<image::StoredImage>& images = listed.images;
        if (*json) {
            context.print_json(to_json(images));
            return 0;
        }
        std::vector<std::vector<std::string>> rows;
        for (const image::StoredImage& image : images)
            rows.push_back({image.reference.empty() ? "-" : image.reference,
                            image::short_digest(image.digest), image.architecture,
                            core::format_decimal({image.bytes}), to_minutes(image.created),
                            to_minutes(image.last_used)});
        context.print(
            "{}",
            render_table({"reference", "digest", "architecture", "size", "created", "last used"}, rows));
        return 0;
    });
}

}  // namespace belay::cli
