# The libraries that the grader stands on: the system's package where there is one, else the pinned
# release from its home. Headers only, except for Boost.Context.
include(FetchContent)

function(onepass_dependency package version url)
  find_package(${package} ${version} QUIET CONFIG)
  if(NOT ${package}_FOUND)
    message(STATUS "${package}: no system package, fetching ${url}")
    FetchContent_Declare(${package} URL ${url})
    FetchContent_MakeAvailable(${package})
  endif()
endfunction()

set(DOCTEST_WITH_TESTS OFF CACHE INTERNAL "")
set(FMT_INSTALL OFF CACHE INTERNAL "")
onepass_dependency(doctest 2.4 https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz)
onepass_dependency(nlohmann_json 3.9 https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz)
onepass_dependency(CLI11 2.1 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz)
onepass_dependency(fmt "" https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz)
find_package(Boost 1.66 REQUIRED COMPONENTS context)
