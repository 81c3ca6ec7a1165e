#include "kernels/blas.h"

#include <dlfcn.h>
#include <optional>
#include <string_view>

namespace belay::kernels {

namespace {

// The first that computes with threads: Debian has those as the first, Fedora as the second.
constexpr const char* kLibraries[] = {"libopenblas.so.0", "libopenblasp.so.0"};
constexpr int kSequential = 0;                 // OPENBLAS_SEQUENTIAL
constexpr int kRowMajor = 101, kAsItIs = 111;  // CblasRowMajor, CblasNoTrans

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
}

// "OpenBLAS 0.3.21 NO_AFFINITY Zen MAX_THREADS=64": the first two words.
std::string version_of(std::string_view configuration) {
    const size_t name = configuration.find(' ');
    return std::string(
        configuration.substr(0, name == configuration.npos ? name : configuration.find(' ', name + 1)));
}

std::optional<Blas> load(const char* name) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    Blas blas;
    using Ask = int();
    using Configuration = char*();
    Ask* parallel = nullptr;
    Configuration* configuration = nullptr;
    if (!find(library, "cblas_dgemm", blas.dgemm) || !find(library, "cblas_sgemm", blas.sgemm) ||
        !find(library, "openblas_set_num_threads", blas.set_threads) ||
        !find(library, "openblas_get_num_threads", blas.threads) ||
        !find(library, "openblas_get_parallel", parallel) ||
        !find(library, "openblas_get_config", configuration) || parallel() == kSequential)
        return std::nullopt;
    blas.version = version_of(configuration());
    return blas;
}

}  // namespace

const Blas* find_blas() {
    static const std::optional<Blas> blas = [] {
        std::optional<Blas> found;
        for (const char* name : kLibraries)
            if (!found) found = load(name);
        return found;
    }();
    return blas ? &*blas : nullptr;
}

void multiply_add(const Blas& blas, const double* a, const double* b, double* c, size_t n) {
    const int rows = static_cast<int>(n);
    blas.dgemm(kRowMajor, kAsItIs, kAsItIs, rows, rows, rows, 1, a, rows, b, rows, 1, c, rows);
}

void multiply_add(const Blas& blas, const float* a, const float* b, float* c, size_t n) {
    const int rows = static_cast<int>(n);
    blas.sgemm(kRowMajor, kAsItIs, kAsItIs, rows, rows, rows, 1, a, rows, b, rows, 1, c, rows);
}

}  // namespace belay::kernels
