#include "image/image.h"

#include "core/json.h"
#include "image/strict_json.h"

namespace belay::image {

namespace {

constexpr int kSidecarSchema = 1;
constexpr size_t kMaxSidecarBytes = 2 * kMaxConfigBytes;

}  // namespace

std::string sidecar_text(const std::string& digest, std::string_view config, core::Time created) {
    nlohmann::json out{{"schema", kSidecarSchema},
                       {"digest", digest},
                       {"created", core::format_time(created)},
                       {"config", core::parse_json(config)}};
    return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

core::Result<Image> parse_sidecar(std::string_view text) {
    BELAY_TRY(document, parse_strict_json(text, "it", kMaxSidecarBytes));
    if (!document.is_object() || document.value("schema", nlohmann::json()) != kSidecarSchema ||
        !document.contains("config"))
        return core::system_error("it is not of this version of Belay");
    Image out;
    BELAY_TRY(digest, text_member(document, "digest"));
    BELAY_TRY(created, text_member(document, "created"));
    BELAY_TRY(time, core::parse_time(created));
    BELAY_TRY(config, parse_image_config(document["config"].dump()));
    out.digest = std::move(digest);
    out.created = time;
    out.config = std::move(config);
    return out;
}

}  // namespace belay::image
