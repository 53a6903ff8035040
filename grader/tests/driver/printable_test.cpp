// What others wrote never gives a terminal orders.
#include "driver/printable.h"

#include <doctest/doctest.h>

#include "driver/text.h"
#include "process/process.h"

using namespace onepass::driver;

TEST_CASE("letters of any language stay, with lines and tabs") {
  for (const char* text : {"", "a\tb\nc", "é ß 読む 😀 ─"}) {
    CHECK(printable(text) == text);
  }
  CHECK(printable("a\r\nb\r\n") == "a\nb\n");
}

TEST_CASE("what a terminal takes for orders, or turns round, becomes a question mark") {
  CHECK(printable("\x1b[31mred\x07\r") == "?[31mred??");
  CHECK(printable(std::string("a\0b", 3)) == "a?b");
  CHECK(printable("\xc2\x9b 31m") == "? 31m");  // the same escape in one character
  CHECK(printable("a\xe2\x80\xae"
                  "b\xe2\x81\xa6") == "a?b?");  // right to left
  CHECK(printable_line("a\nb\tc") == "a?b?c");
}

TEST_CASE("what is no UTF-8 is a question mark a byte") {
  CHECK(printable("caf\xe9") == "caf?");
  CHECK(printable("\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80") == "?????????");
  CHECK(printable("\xe2\x82") == "??");
}

TEST_CASE("all strings of a JSON") {
  Json value = {{"a", "\x1b"}, {"b", {"\x07", 1, nullptr}}};
  make_printable(value);
  CHECK(value.dump() == R"({"a":"?","b":["?",1,null]})");
}

TEST_CASE("a shell reads any name as it is") {
  const std::string name = "it's 50% \\ \n\x1b[0m \xc3\xa9 \xe9\n";
  CHECK(onepass::process::run({{"/bin/sh", "-c", "printf %s " + shell_word(name)}}, 10).output ==
        name);
}
