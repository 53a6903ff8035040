# The libraries that the grader stands on: the system's package where there is one, else the pinned
# release from its home. Headers only, except for fmt and Boost.Context.
include(FetchContent)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW) # files of an archive are dated when unpacked
endif()
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW) # Boost's own package file, not CMake's module
endif()

# Sets ${package}_ARCHIVE to the release's archive in the build folder, downloaded if it is not there
# yet; to nothing if it cannot be had. One attempt: who has no network is to hear of it at once.
function(onepass_download package sha256 url)
  get_filename_component(name ${url} NAME)
  set(archive ${FETCHCONTENT_BASE_DIR}/archives/${package}-${name})
  if(NOT EXISTS ${archive} AND ONEPASS_ONLINE)
    message(STATUS "${package}: no system package, fetching ${url}")
    file(DOWNLOAD ${url} ${archive} STATUS status INACTIVITY_TIMEOUT 20)
  endif()
  set(found nothing)
  if(EXISTS ${archive})
    file(SHA256 ${archive} found)
  endif()
  if(NOT found STREQUAL sha256) # what a failed download leaves, or the login page of a network
    file(REMOVE ${archive})
    set(archive)
  endif()
  set(${package}_ARCHIVE ${archive} PARENT_SCOPE)
endfunction()

# Is there a network? Not asked of the archives themselves, which may be large: a connection that is
# never made has no time limit of its own.
function(onepass_probe_network)
  file(DOWNLOAD https://github.com/robots.txt STATUS status TIMEOUT 10)
  list(GET status 0 failed)
  set(ONEPASS_ONLINE FALSE PARENT_SCOPE)
  if(NOT failed)
    set(ONEPASS_ONLINE TRUE PARENT_SCOPE)
  endif()
endfunction()

# onepass_dependency(<package> <Debian's package> <sha256 and url of the release to fetch>): after
# find_package. What was not found is appended to ONEPASS_FETCHED if there is an archive of it, and
# otherwise to ONEPASS_MISSING, by Debian's name.
function(onepass_dependency package debian sha256 url)
  string(TOUPPER ${package} upper)
  if(${package}_FOUND)
    return()
  endif()
  if(FETCHCONTENT_SOURCE_DIR_${upper}) # the user's own copy
    set(${package}_ARCHIVE ${url})
  else()
    if(NOT DEFINED ONEPASS_ONLINE)
      onepass_probe_network()
      set(ONEPASS_ONLINE ${ONEPASS_ONLINE} PARENT_SCOPE)
    endif()
    onepass_download(${package} ${sha256} ${url})
  endif()
  if(${package}_ARCHIVE)
    FetchContent_Declare(${package} URL ${${package}_ARCHIVE} URL_HASH SHA256=${sha256})
    set(ONEPASS_FETCHED ${ONEPASS_FETCHED} ${package} PARENT_SCOPE)
  else()
    set(ONEPASS_MISSING ${ONEPASS_MISSING} ${debian} PARENT_SCOPE)
  endif()
endfunction()

find_package(doctest 2.4.7 QUIET CONFIG)
find_package(nlohmann_json 3.10.5 QUIET CONFIG) # the first that knows paths
find_package(CLI11 2.1 QUIET CONFIG)
find_package(fmt 8 QUIET CONFIG)
find_package(Boost 1.66 QUIET CONFIG COMPONENTS context)

# Optional: without it the grader says what it does not prevent. No release is fetched, since it is
# no CMake project.
find_path(ONEPASS_SECCOMP_HEADER seccomp.h)
find_library(ONEPASS_LIBSECCOMP seccomp)
if(NOT ONEPASS_SECCOMP_HEADER)
  set(ONEPASS_LIBSECCOMP "")
endif()

onepass_dependency(
  doctest doctest-dev 632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186
  https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz)
onepass_dependency(
  nlohmann_json nlohmann-json3-dev
  d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz)
onepass_dependency(
  CLI11 libcli11-dev f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a
  https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz)
onepass_dependency(
  fmt libfmt-dev 1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811
  https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz)
onepass_dependency(
  Boost libboost-context-dev 2e64e5d79a738d0fa6fb546c6e5c2bd28f88d268a2a080546f74e5ff98f29d0e
  https://github.com/boostorg/boost/releases/download/boost-1.84.0/boost-1.84.0.tar.xz)

if(ONEPASS_MISSING)
  list(JOIN ONEPASS_MISSING " " missing)
  message(FATAL_ERROR
    "Libraries are not installed and could not be fetched from github.com: run sh grader/setup.sh, "
    "or have an administrator run\n  apt-get install -y --no-install-recommends ${missing}")
endif()

if(ONEPASS_FETCHED)
  foreach(unwanted DOCTEST_WITH_TESTS JSON_BuildTests CLI11_BUILD_TESTS CLI11_BUILD_EXAMPLES
                   CLI11_BUILD_DOCS FMT_INSTALL FMT_TEST)
    set(${unwanted} OFF CACHE INTERNAL "")
  endforeach()
  set(BOOST_INCLUDE_LIBRARIES context)
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5) # these releases are older than CMake 4, which asks for it
  FetchContent_MakeAvailable(${ONEPASS_FETCHED})
  unset(CMAKE_POLICY_VERSION_MINIMUM)
endif()
