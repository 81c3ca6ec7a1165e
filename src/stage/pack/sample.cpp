#include "stage/pack/sample.h"

namespace belay::stage {

std::string_view sample_key(std::string_view path) {
    const size_t slash = path.rfind('/');
    const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
    const size_t dot = path.find('.', base);
    return dot == std::string_view::npos || dot == base ? path : path.substr(0, dot);
}

}  // namespace belay::stage
