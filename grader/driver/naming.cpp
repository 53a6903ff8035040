#include "driver/naming.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "driver/bad_input.h"
#include "driver/files.h"
#include "driver/nearest.h"
#include "driver/text.h"

namespace onepass::driver {
namespace fs = std::filesystem;

namespace {

using Exercises = std::vector<Named>;
using Index = std::map<std::string, Exercises>;  // by every name that is no path

Exercises all_of(const Config& config) {
  Exercises all;
  for (const Chapter& chapter : config.chapters) {
    for (const Exercise& exercise : chapter.exercises) {
      all.push_back({&chapter, &exercise});
    }
  }
  return all;
}

// "1" of the folder 01_rmsnorm; empty if it has no number.
std::string number_of(const Chapter& chapter) {
  const int number = std::atoi(chapter.folder.c_str());
  return number > 0 ? fmt::format("{}", number) : "";
}

Index index_of(const Config& config) {
  Index index;
  for (const Chapter& chapter : config.chapters) {
    const std::string number = number_of(chapter);
    int position = 0;
    for (const Exercise& exercise : chapter.exercises) {
      const std::string name = fs::path(exercise.file).stem().string();
      std::vector<std::string> known = {exercise.id, name, chapter.name, chapter.folder,
                                        chapter.folder + "/" + name};
      ++position;
      if (!number.empty()) {
        known.insert(known.end(), {number, fmt::format("{}.{}", number, position)});
      }
      for (const std::string& one : known) {
        index[one].push_back({&chapter, &exercise});
      }
    }
  }
  return index;
}

// Those whose file `word` is, or lies in the folder `word`: as seen from here, from the repository,
// or from the folder that is graded.
Exercises at_path(const Config& config, const std::string& word, const fs::path& submission) {
  for (const fs::path& base : {fs::path(), config.source, submission, config.exercises()}) {
    const fs::path path = plain(base / word);
    Exercises found;
    for (const Named& one : all_of(config)) {
      for (const fs::path& root : {submission, config.exercises()}) {
        const fs::path folder = root / one.chapter->folder;
        if (path == plain(folder / one.exercise->file) || path == plain(folder) ||
            path == plain(root)) {
          found.push_back(one);
          break;
        }
      }
    }
    if (!found.empty()) {
      return found;
    }
  }
  return {};
}

// Of these a word may be a slip: all names, and the files as they are seen from the repository.
std::vector<std::string> names_in(const Config& config, const Index& index) {
  std::vector<std::string> names;
  for (const auto& entry : index) {
    names.push_back(entry.first);
  }
  for (const Named& one : all_of(config)) {
    const fs::path file = fs::path(one.chapter->folder) / one.exercise->file;
    for (const fs::path& name : {file, file.filename(), fs::path("exercises") / file}) {
      names.push_back(name.string());
    }
  }
  return names;
}

// Of what `name` makes of each.
template <typename Items, typename Name>
std::string alternatives(const Items& items, Name name) {
  std::vector<std::string> names;
  std::transform(items.begin(), items.end(), std::back_inserter(names), name);
  return driver::alternatives(names);
}

// "rmsnorm/block_sum or 1.1"
std::string an_exercise(const Config& config) {
  const Named first = all_of(config).front();
  const std::string number = number_of(first);
  return first.exercise->id + (number == first.exercise->id ? "" : " or " + number);
}

std::string what_there_is(const Config& config) {
  return fmt::format("name a chapter ({}) or an exercise, such as {}",
                     alternatives(config.chapters, [](const Chapter& one) { return one.name; }),
                     an_exercise(config));
}

// What there is instead of 1.9 or 1.x: of numbers all are as near. Empty if `word` is no such.
std::string instead_of_number(const Config& config, const std::string& word) {
  for (const Chapter& chapter : config.chapters) {
    const std::string number = number_of(chapter);
    if (!number.empty() && word.rfind(number + ".", 0) == 0) {
      return fmt::format("{0} has {1}.1 to {1}.{2}", chapter.name, number,
                         chapter.exercises.size());
    }
  }
  const bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
  return is_number ? what_there_is(config) : "";
}

[[noreturn]] void throw_unknown(const Config& config, const Index& index, const char* kind,
                                const std::string& word) {
  std::error_code error;
  if (fs::exists(word, error)) {
    throw BadInput(fmt::format(
        "{} is no exercise's file: {}, or give another folder, laid out like exercises/, "
        "to --submission.",
        shell_word(word), what_there_is(config)));
  }
  const std::string numbers = instead_of_number(config, word);
  throw BadInput(fmt::format(
      "There is no {} {}{}", kind, shell_word(word),
      numbers.empty() ? did_you_mean(names_in(config, index), word, what_there_is(config))
                      : ": " + numbers + "."));
}

// A name with the .cu of its file: that is one file, even if several chapters have such a one.
Exercises with_suffix(Index& index, const std::string& word) {
  const fs::path path = word;
  const auto found = index.find((path.parent_path() / path.stem()).string());
  if (path.extension() != ".cu" || found == index.end()) {
    return {};
  }
  if (found->second.size() > 1) {
    const auto file = [](const Named& one) {
      return one.chapter->folder + "/" + one.exercise->file;
    };
    throw BadInput(
        fmt::format("{} may be {}: name one of them.", word, alternatives(found->second, file)));
  }
  return std::move(found->second);
}

// `kind` is what messages call it.
Exercises meant_by(const Config& config, const char* kind, const std::string& given,
                   const fs::path& submission) {
  Index index = index_of(config);
  std::string word = given;
  while (word.size() > 1 && word.back() == '/') {
    word.pop_back();
  }
  const std::string unpadded = word.substr(word.rfind("0", 0) == 0 ? 1 : 0);  // 01.2 is 1.2
  for (const std::string& name : {word, unpadded}) {
    if (const auto found = index.find(name); found != index.end()) {
      return found->second;
    }
  }
  Exercises found = word.empty() ? Exercises() : at_path(config, word, submission);
  found = found.empty() ? with_suffix(index, word) : found;
  if (found.empty()) {
    throw_unknown(config, index, kind, word);
  }
  return found;
}

bool contains(const Exercises& exercises, const Named& one) {
  return std::any_of(exercises.begin(), exercises.end(),
                     [&](const Named& other) { return other.exercise == one.exercise; });
}

}  // namespace

std::vector<Named> exercises_named(const Config& config, const Names& names) {
  const fs::path submission = names.submission.empty() ? config.exercises() : names.submission;
  Exercises wanted;
  for (const std::string& word : names.exercises) {
    const Exercises meant = meant_by(config, "exercise", word, submission);
    wanted.insert(wanted.end(), meant.begin(), meant.end());
  }
  const Exercises all = all_of(config);
  const Exercises chapter =
      names.chapter.empty() ? all : meant_by(config, "chapter", names.chapter, submission);
  Exercises result;
  std::copy_if(all.begin(), all.end(), std::back_inserter(result), [&](const Named& one) {
    return contains(chapter, one) && (names.exercises.empty() || contains(wanted, one));
  });
  if (result.empty()) {
    throw BadInput(fmt::format("There is no exercise {} in the chapter {}.",
                               alternatives(names.exercises), names.chapter));
  }
  return result;
}

std::string number_of(const Named& named) {
  const std::vector<Exercise>& all = named.chapter->exercises;
  const auto position = named.exercise - all.data() + 1;
  const std::string chapter = number_of(*named.chapter);
  return chapter.empty() ? named.exercise->id : fmt::format("{}.{}", chapter, position);
}

Named exercise_named(const Config& config, const Names& names) {
  if (names.exercises.empty() && names.chapter.empty()) {
    throw BadInput(fmt::format("Name one exercise, such as {}.", an_exercise(config)));
  }
  const Exercises found = exercises_named(config, names);
  if (found.size() > 1) {
    const auto id = [](const Named& one) { return one.exercise->id; };
    throw BadInput(fmt::format("Name one exercise: {}.", alternatives(found, id)));
  }
  return found.front();
}

}  // namespace onepass::driver
