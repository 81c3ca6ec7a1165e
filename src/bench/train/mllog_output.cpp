#include "bench/train/mllog_output.h"

#include "core/file.h"

#include <unistd.h>

namespace belay::bench {

namespace {

// The path within the source tree: where the tree lay when it was built is nobody's business.
std::string_view source_path(std::string_view file) {
    size_t root = file.rfind("src/");
    return root == std::string_view::npos ? file : file.substr(root);
}

}  // namespace

void MllogOutput::write(std::string_view event_type, std::string_view key, const progress::Json& value,
                        const progress::Json& metadata, const std::source_location& place) {
    if (fd_ < 0) return;
    progress::Json all = {{"file", source_path(place.file_name())}, {"lineno", place.line()}};
    if (metadata.is_object()) all.update(metadata);
    int64_t milliseconds = core::to_nanoseconds(clock_.now()) / 1'000'000;
    std::string line = progress::format_mllog_line(milliseconds, event_type, key, value, all) + "\n";
    if (auto written = core::write_all(fd_, line, "the log"); !written) {
        // A full disk under the log must not end a training run: said once, then the log is silent.
        std::string message = written.error().render("belay");
        [[maybe_unused]] auto said = core::write_all(STDERR_FILENO, message, "stderr");
        fd_ = -1;
        failure_ = std::move(written.error());
    }
}

}  // namespace belay::bench
