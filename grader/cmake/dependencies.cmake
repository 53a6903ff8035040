# The libraries that the grader stands on: the system's package where there is one, else the pinned
# release from its home. Headers only, except for fmt and Boost.Context.
include(FetchContent)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW) # files of an archive are dated when unpacked
endif()
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW) # Boost's own package file, not CMake's module
endif()

function(onepass_fetch package sha256 url)
  message(STATUS "${package}: no system package, fetching ${url}")
  FetchContent_Declare(${package} URL ${url} URL_HASH SHA256=${sha256})
  FetchContent_MakeAvailable(${package})
endfunction()

# onepass_dependency(<package> <least version> <sha256 and url of the release to fetch>)
function(onepass_dependency package version sha256 url)
  find_package(${package} ${version} QUIET CONFIG)
  if(NOT ${package}_FOUND)
    onepass_fetch(${package} ${sha256} ${url})
  endif()
endfunction()

set(DOCTEST_WITH_TESTS OFF CACHE INTERNAL "")
set(JSON_BuildTests OFF CACHE INTERNAL "")
set(CLI11_BUILD_TESTS OFF CACHE INTERNAL "")
set(CLI11_BUILD_EXAMPLES OFF CACHE INTERNAL "")
set(CLI11_BUILD_DOCS OFF CACHE INTERNAL "")
set(FMT_INSTALL OFF CACHE INTERNAL "")
set(FMT_TEST OFF CACHE INTERNAL "")
set(BOOST_INCLUDE_LIBRARIES context)

onepass_dependency(
  doctest 2.4 632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186
  https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz)
onepass_dependency(
  nlohmann_json 3.9 d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz)
onepass_dependency(
  CLI11 2.1 f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a
  https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz)
onepass_dependency(
  fmt 8 1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811
  https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz)

find_package(Boost 1.66 QUIET CONFIG COMPONENTS context)
if(NOT TARGET Boost::context)
  onepass_fetch(
    Boost 2e64e5d79a738d0fa6fb546c6e5c2bd28f88d268a2a080546f74e5ff98f29d0e
    https://github.com/boostorg/boost/releases/download/boost-1.84.0/boost-1.84.0.tar.xz)
endif()
