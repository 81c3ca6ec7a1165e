#include "record/import/import.h"

#include "record/import/gssr_import.h"

namespace belay::record {

core::Result<Imported> import_gssr(const ImportOptions& options) {
    BELAY_TRY(layout, find_gssr(options.source));
    return layout.jsons.empty() ? import_gssr_csv(options, layout) : import_gssr_json(options, layout);
}

}  // namespace belay::record
