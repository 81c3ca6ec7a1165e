// belay-entry: what an image's entrypoint is given as its command. It writes the variables that it got beside
// itself and waits until it is killed, so that what the entrypoint has started lives on. Statically linked:
// images need not hold any library.
#include <cstdio>
#include <unistd.h>

int main(int, char**, char** variables) {
    // From its own place, whatever directory and arguments the entrypoint has chosen.
    if (chdir(BELAY_ENTRY_DIRECTORY) != 0) return 1;
    FILE* file = fopen("variables.part", "w");
    if (file == nullptr) return 1;
    for (; *variables != nullptr; ++variables) {
        fputs(*variables, file);
        putc('\0', file);
    }
    if (fclose(file) != 0 || rename("variables.part", "variables") != 0) return 1;
    for (;;) pause();
}
