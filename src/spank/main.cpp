#include "core/file.h"
#include "spank/step.h"

int main(int argc, char** argv) {
    (void)belay::core::occupy_standard_descriptors();  // fails only where /dev/null is missing
    return belay::spank::run({argv + 1, argv + argc});
}
