# The aims of a measured page, for scripts of tests/long: rows of a table whose last column is the verdict. `./check` counts these and
# says in the page's first line what they come to.
# shellcheck shell=bash

aims() {
    echo '| aim | wanted | measured | verdict |'
    echo '|---|---|---|---|'
}

# aim WHAT WANTED MEASURED HOLDS: HOLDS is an expression of awk
aim() {
    local verdict=missed
    ! awk "BEGIN { exit !($4) }" || verdict=met
    echo "| $1 | $2 | $3 | $verdict |"
}

# at_most WHAT LIMIT MEASURED [UNIT], at_least WHAT LIMIT MEASURED [UNIT]: of numbers
at_most() { aim "$1" "at most $2${4:+ $4}" "$3${4:+ $4}" "$3 <= $2"; }
at_least() { aim "$1" "at least $2${4:+ $4}" "$3${4:+ $4}" "$3 >= $2"; }
