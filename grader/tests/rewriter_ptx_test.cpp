// The rewriter: inline PTX that becomes calls, and all other assembly, which does not pass.
#include <doctest/doctest.h>

#include <string>

#include "tests/rewriter_texts.h"

TEST_SUITE("rewriter: inline PTX") {
  TEST_CASE("inline PTX becomes calls, and its operands stay on their lines") {
    const std::string result = rewritten(
        "__device__ void f() { asm volatile(\n  \"ld.global.f32 \"\n  \"%0, [%1];\"\n  : "
        "\"=f\"(a[i])\n  : \"l\"(p + "
        "1));");
    CHECK(contains(result, "::simulator::ptx::load<float>("));
    CHECK(contains(result, "\n   ::simulator::ptx::output<float>(a[i])"));
    CHECK(contains(result,
                   "\n   , ::simulator::ptx::input<unsigned long long>(p + 1)); } while (0);"));
    CHECK(!contains(result, "asm"));
    const std::string macro =
        rewritten("#define A(x) asm(\"mov.u32 \" \\\n  \"%0, 1;\" : \"=r\"(x))\n");
    CHECK(contains(macro, "#define A(x) do { struct"));
    CHECK(contains(macro, "\\\n"));
  }

  TEST_CASE("PTX that is not simulated becomes a stop with its name") {
    const auto refused = [](const std::string& text) {
      const std::string function = "__device__ void f() { ";
      const std::string result = rewritten(function + text).substr(function.size());
      CAPTURE(result);
      CHECK(result.substr(0, 20) == "ONEPASS_REFUSED_ASM(");
      return result;
    };
    const auto refused_ptx = [&](const std::string& ptx) {
      return refused("asm(\"" + ptx + "\" : \"=r\"(a), \"=f\"(b), \"=l\"(c) : \"r\"(d));");
    };
    CHECK(
        contains(refused_ptx("mma.sync.aligned.m16n8k8 %0, %1;"),
                 "the PTX instruction mma.sync.aligned.m16n8k8 cannot be simulated on a CPU: grade "
                 "this on a GPU"));
    CHECK(contains(refused_ptx("bra L;"), "bra cannot"));
    CHECK(contains(refused_ptx("mov.u32 %0|%3, 1;"), "are not those"));
    CHECK(contains(refused_ptx("{ .reg .pred p; elect.sync p, -1; }"), "are not those"));
    CHECK(contains(refused_ptx("elect.sync _|%0, -1;"), "arguments mismatch"));
    CHECK(contains(refused_ptx("mov.u32 %0 $;"), "mov.u32 has $ where a ; is expected"));
    CHECK(
        contains(refused_ptx("{ .reg .b32 t; } mov.b32 %0, t;"), "names t, which is no register"));
    CHECK(contains(refused_ptx("{ .reg .b32 t; .reg .f32 t; }"), "declared twice"));
    CHECK(contains(refused_ptx("mov.u32 %0, 1; }"), "a } without its {"));
    CHECK(contains(refused_ptx("cvt.rn.bf16.f32 %0, %1;"), "arguments mismatch"));
    CHECK(contains(refused_ptx("L: mov.u32 %0, 1;"), "the label L"));
    CHECK(contains(refused_ptx("mov.u32 %0, 1"), "a ; is missing after mov.u32"));
    CHECK(contains(refused_ptx("trap"), "a ; is missing after trap"));
    CHECK(contains(refused_ptx("mov.u32 %7, 1;"), "more than this asm has operands"));
    CHECK(contains(refused_ptx("mov.u32 %0, %clock;"), "no register"));
    CHECK(contains(refused_ptx("ld.global.f32 %1, [%3];"), "64 bits"));
    CHECK(contains(refused_ptx("ld.global.v2.f32 %1, [%2];"), "are not those"));
    CHECK(contains(refused_ptx("ld.global.lu.nc.f32 %1, [%2];"), "lu.nc.f32 cannot"));
    CHECK(contains(refused_ptx("atom.global.exch.u32 %0, [%2], %3;"), "exch.u32 cannot"));
    CHECK(contains(refused_ptx("{ .reg .pred p; setp.lo.s32 p, %0, %3; }"), "lo.s32 cannot"));
    CHECK(contains(refused_ptx("bar.red.popc.u32 %0, 1, %1;"), "bar.red"));
    CHECK(contains(refused_ptx("shfl.sync.idx.b32 %0, %3, 0, 0, -1;"), "are not those"));
    CHECK(contains(refused_ptx(".local .b32 x;"), ".local"));
    CHECK(contains(refused_ptx("cp.async.wait_group %3;"), "has to be a number"));
    CHECK(contains(refused_ptx("cp.async.cg.shared.global [%3], [%3], 16;"),
                   "64 bits (\\\"l\\\")\""));
    for (const char* mismatch :
         {"ld.global.u64 %0, [%2];", "ld.global.u32 %1, [%2];", "add.u32 %1, %1, 1;",
          "mov.b64 %2, %1;", "cvt.rn.f32.s32 %1, %1;", "add.u32 %0, %2, %3;"}) {
      CHECK(contains(refused_ptx(mismatch), "ptxas refuses this: arguments mismatch"));
    }
    CHECK(contains(refused_ptx("fma.rn.f32 %1, %1, 2.0, 1;"), "1 is no number of the type"));
    for (const char* text :
         {"asm(TEXT);", "asm(\"mov.u32 %0, 1;\" TEXT : \"=r\"(a));", "asm(u8\"\");",
          "asm(\"\" : \"=q\"(a));", "asm(\"\" : \"r\"(a));", "asm(\"\" :: \"=r\"(a));",
          "asm(\"\" : [a] \"=r\"(a));", "asm(\"\" ::: \"cc\");", "asm(\"\\x41\");",
          "asm(\"\" : \"=r\" a);", "asm();", "asm(\"\" : : : : x);",
          "asm(\n#ifdef A\n\"\"\n#else\n\"x;\"\n#endif\n);"}) {
      refused(text);
    }
  }

  TEST_CASE("the loop that waits at a barrier is a loop, and no other branch is one") {
    const std::string ask = "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;";
    const auto lowered = [&](std::string text) {
      text.replace(text.find("ASK"), 3, ask);
      return rewritten("__device__ void f() { asm(\"" + text + "\" :: \"r\"(bar));");
    };
    const std::string declared = "{ .reg .pred p, q; ";
    for (const char* loop :
         {"L: ASK @!p bra L; }", "L: ASK @!p bra.uni L; }", "L: ASK @p bra D; bra L; D: }",
          "L: ASK @p bra D; nanosleep.u32 20; bra L; D: }"}) {
      const std::string result = lowered(declared + loop);
      CAPTURE(result);
      CHECK(contains(result,
                     "for (;;) { { ::simulator::ptx::put<bool>(ptx_own_1, "
                     "::simulator::ask_for_parity("));
      CHECK(contains(result, "if (::simulator::ptx::get<bool>(ptx_own_1)) break;"));
      CHECK(contains(result, "__nanosleep") == contains(loop, "nanosleep"));
    }
    for (const char* other :
         {"L: ASK @p bra L; }", "L: ASK @!q bra L; }", "L: ASK bra L; }", "L: ASK @!p bra D; D: }",
          "L: ASK @p bra D; bra L; }", "L: ASK @p bra D; D: }", "L: ASK @p bra D; bra D; D: }",
          "L: ASK @p bra D; trap; bra L; D: }", "L: ASK }", "L: @q ASK @!p bra L; }",
          "L: trap; ASK @!p bra L; }", "L: { ASK @!p bra L; } }", "ASK L: }"}) {
      const std::string result = lowered(declared + other);
      CAPTURE(result);
      CHECK(contains(result, "ONEPASS_REFUSED_ASM(\"the label L: of branches in PTX"));
    }
    CHECK(
        contains(lowered("{ .reg .pred p; L: ASK @p bra L; bra L; L: }"), "definition of label L"));
    CHECK(contains(lowered(declared + "ASK @!p bra L; }"), "instruction bra cannot"));
    CHECK(contains(lowered(".reg .pred p; L: ASK @!p bra L;"), "the label L stands outside of {"));
    CHECK(contains(lowered("{ .reg .pred p, L; L: ASK @!p bra L; }"), "definition of label L"));
    CHECK(contains(lowered("{ .reg .pred p; L: ASK @!p bra L; L: " + ask + " @!p bra L; }"),
                   "definition of label L"));
  }

  TEST_CASE("an atomic's order and scope stand before its operation or behind it") {
    const auto lowered = [](const std::string& name) {
      return rewritten("__device__ void f() { asm(\"" + name +
                       " %0, [%1], 1;\" : \"=r\"(a) : \"l\"(p)); }");
    };
    CHECK(contains(lowered("atom.release.gpu.global.add.u32"), "Order::release, "));
    CHECK(lowered("atom.release.gpu.global.add.u32") == lowered("atom.add.release.gpu.global.u32"));
    CHECK(
        contains(lowered("atom.add.acq_rel.cta.u32"),
                 "Order::acq_rel, ::simulator::FenceScope::block, ::simulator::ptx::anywhere_at("));
    CHECK(
        contains(lowered("atom.global.add.u32"),
                 "Order::relaxed, ::simulator::FenceScope::device, ::simulator::ptx::global_at("));
    CHECK(contains(lowered("atom.gpu.release.add.u32"), "cannot be simulated"));
    CHECK(contains(lowered("red.acquire.gpu.global.add.u32"), "cannot be simulated"));
  }

  TEST_CASE("a result that nobody wants is left out where ptxas has it so") {
    const auto lowered = [](const std::string& text) {
      return rewritten("__device__ void f() { asm(\"" + text + "\" :: \"r\"(a));");
    };
    CHECK(contains(lowered("mbarrier.arrive.shared.b64 _, [%0];"),
                   "{ ::simulator::arrive_at_barrier("));
    CHECK(contains(lowered("mbarrier.arrive.shared::cluster.b64 _, [%0];"), "arrive_at_barrier("));
    CHECK(contains(lowered("{ .reg .b64 t; mbarrier.arrive.shared::cluster.b64 t, [%0]; }"),
                   "are not those"));
    const std::string elect = "elect.sync _|%%px, -1; }";
    CHECK(contains(lowered("{ .reg .pred %%px; " + elect), "{ ::simulator::ptx::elect("));
    CHECK(contains(lowered("mov.u32 _, %0;"), "names _, which is no register"));
    CHECK(contains(lowered("mbarrier.arrive.release.shared.b64 _, [%0];"), "cannot be simulated"));
    CHECK(contains(lowered("mbarrier.arrive.cta.release.shared.b64 _, [%0];"),
                   "cannot be simulated"));
  }

  TEST_CASE("a stop is at the line of its instruction") {
    const auto line = [](const std::string& text) {
      const std::string result = rewritten("__device__ void f() {\n" + text + "}\n");
      const std::size_t stop = result.find("ONEPASS_REFUSED_ASM");
      REQUIRE(stop != std::string::npos);
      return 1 +
             std::count(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(stop), '\n');
    };
    CHECK(line("asm volatile(\"bra L;\");") == 2);
    CHECK(line("asm volatile(\n\"mov.u32 %0, 1;\\n\"\n\"bra L;\"\n : \"=r\"(a));") == 4);
    CHECK(line("asm(R\"(\n mov.u32 %0, %%tid.x;\n\n bra L;\n)\"\n : \"=r\"(a));") == 5);
    CHECK(line("asm(\n\"mov.u32 %0, 1;\"\n : \"=q\"(a));") == 2);
    CHECK(contains(rewritten("asm("), "ONEPASS_REFUSED_ASM"));  // the file ends here
  }

  TEST_CASE("asm of the host's does not pass, PTX or not") {
    const std::string ptx = "asm(\"mov.u32 %0, 1;\" : \"=r\"(a));";
    const auto refused = [&](const std::string& before) {
      return contains(rewritten(before + ptx + "}"), "outside of kernels\"");
    };
    CHECK(refused("void f() {"));
    CHECK(refused("__device__ void g() {} void f() { if (a) {}"));
    CHECK(refused("namespace n {"));
    CHECK(!refused("__global__ void f() { for (;;) { auto g = [&](int i) {"));
    CHECK(!refused("struct S { __device__ void f() const {"));
    CHECK(!refused("#define DEVICE_INLINE __device__ inline\nDEVICE_INLINE void f() {"));
  }

  TEST_CASE("asm that is not a statement does not pass") {
    CHECK(rewritten("#define EVIL asm\n") == "#define EVIL ONEPASS_HIDDEN_ASM\n");
    CHECK(rewritten("asm goto (\"\" :::: out);") == "ONEPASS_HIDDEN_ASM goto (\"\" :::: out);");
    CHECK(rewritten("__asm inline(\"\");") == "ONEPASS_HIDDEN_ASM inline(\"\");");
    CHECK(rewritten("as\\\nm(\"\");") == "as\\\nm(\"\");");  // the driver sees it in the assembly
  }
}
