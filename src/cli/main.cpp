#include "cli/commands.h"

int main(int argc, char** argv) {
    belay::core::Application application(belay::cli::application_page());
    belay::cli::add_commands(application);
    application.watch_files();
    return application.run(argc, argv);
}
