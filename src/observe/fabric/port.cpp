#include "observe/fabric/port.h"

#include "core/directory.h"
#include "schema/tables/fabric.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace belay::observe::fabric {

using schema::column;
using schema::kFabric;

bool Port::is_still_there() const {
    struct stat now{};
    struct stat ours{};
    return stat(place_.directory.c_str(), &now) == 0 && fstat(directory_.get(), &ours) == 0 &&
           now.st_dev == ours.st_dev && now.st_ino == ours.st_ino;
}

void Port::begin_row(const collect::Sample& sample, std::string_view kind, stream::Batch& rows) const {
    rows.add_row(sample.time, sample.node);
    rows.set(column(kFabric, "kind"), kind);
    rows.set(column(kFabric, "device"), place_.device);
    rows.set(column(kFabric, "port"), place_.number);
}

core::Descriptor open_port(const PortPlace& place) {
    return core::Descriptor(open(place.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

core::Result<std::vector<std::string>> names_in(const std::filesystem::path& directory) {
    core::Result<core::Directory> opened = core::Directory::open(directory);
    if (!opened && opened.error().cause() == core::Cause::kNotFound) return std::vector<std::string>();
    if (!opened) return std::unexpected(std::move(opened.error()));
    return opened->list();
}

}  // namespace belay::observe::fabric
