#include "ptx_table.h"

namespace onepass::rewriter {

// What no row has is refused by its name. `ptx::` is simulator::ptx of the headers (ptx.h); the
// rest are CUDA's own functions, so an instruction is checked and counted as they are.
const std::vector<PtxInstruction> kPtxInstructions = {
    // clang-format off
    // ---- Loads and stores. The simulator has no cache, so hints change nothing; but what .nc loads,
    // the launch must not write.
    {"ld @weak? .global .ca|.cg|.cs|.lu|.cv|@evict? @prefetch? @vector? @type", "d [p]", "ptx::load<$T>(ptx::global_at($p), $d)"},
    {"ld .global .nc .ca|.cg|.cs|@evict? @prefetch? @vector? @type", "d [p]", "ptx::load_read_only<$T>(ptx::global_at($p), $d)"},
    {"ld .global .ca|.cg|.cs .nc @prefetch? @vector? @type", "d [p]", "ptx::load_read_only<$T>(ptx::global_at($p), $d)"},
    {"ld @weak? .global @evict? .L2::cache_hint @prefetch? @vector? @type", "d [p] a:b64", "ptx::load<$T>(ptx::global_at($p), $d)"},
    {"ld .global .nc @evict? .L2::cache_hint @prefetch? @vector? @type", "d [p] a:b64", "ptx::load_read_only<$T>(ptx::global_at($p), $d)"},
    {"ld @weak? .shared|.shared::cta|.shared::cluster @vector? @type", "d [p]", "ptx::load<$T>(ptx::shared_at($p), $d)"},
    {"ld @weak? .ca|.cg|.cs|.lu|.cv|@evict? @prefetch? @vector? @type", "d [p]", "ptx::load<$T>(ptx::anywhere_at($p), $d)"},
    {"ld .volatile .global @type", "d [p]", "ptx::load_volatile<$T>(ptx::global_at($p))"},
    {"ld .volatile .shared @type", "d [p]", "ptx::load_volatile<$T>(ptx::shared_at($p))"},
    {"st @weak? .global .wb|.cg|.cs|.wt|@evict? @vector? @type", "[p] a", "ptx::store<$T>(ptx::global_at($p), $a)"},
    {"st @weak? .global @evict? .L2::cache_hint @vector? @type", "[p] a b:b64", "ptx::store<$T>(ptx::global_at($p), $a)"},
    {"st @weak? .shared|.shared::cta|.shared::cluster @vector? @type", "[p] a", "ptx::store<$T>(ptx::shared_at($p), $a)"},
    {"st @weak? .wb|.cg|.cs|.wt|@evict? @vector? @type", "[p] a", "ptx::store<$T>(ptx::anywhere_at($p), $a)"},
    {"st .volatile .global @type", "[p] a", "ptx::store_volatile<$T>(ptx::global_at($p), $a)"},
    {"st .volatile .shared @type", "[p] a", "ptx::store_volatile<$T>(ptx::shared_at($p), $a)"},
    {"prefetch .global? .L1|.L2|.L2::evict_last|.L2::evict_normal", "[p]", "static_cast<void>($p)"},
    {"prefetchu .L1", "[p]", "static_cast<void>($p)"},
    {"createpolicy .fractional @policy .b64", "d", "0"},
    {"createpolicy .fractional @policy .b64", "d a:f32", "0"},

    // ---- Asynchronous copies: [p] in shared memory, [q] in global, $a bytes, of which $b are read
    {"cp .async .ca .shared|.shared::cta .global @prefetch?", "[p] [q] a:constant", "::simulator::async_copy(ptx::shared_at($p), ptx::global_at($q), $a, 0)"},
    {"cp .async .ca .shared|.shared::cta .global @prefetch?", "[p] [q] a:constant b:u32", "::simulator::async_copy(ptx::shared_at($p), ptx::global_at($q), $a, size_t{$a} - $b)"},
    {"cp .async .cg .shared|.shared::cta .global @prefetch?", "[p] [q] a:constant", "::simulator::async_copy(ptx::shared_at($p), ptx::global_at($q), $a, 0, 16)"},
    {"cp .async .cg .shared|.shared::cta .global @prefetch?", "[p] [q] a:constant b:u32", "::simulator::async_copy(ptx::shared_at($p), ptx::global_at($q), $a, size_t{$a} - $b, 16)"},
    {"cp .async .commit_group", "", "::simulator::commit_copies()"},
    {"cp .async .wait_group", "a:constant", "::simulator::wait_for_copies($a)"},
    {"cp .async .wait_all", "", "::simulator::commit_copies(), ::simulator::wait_for_copies(0)"},
    {"cp .async .mbarrier .arrive @own? .b64", "[p]", "::simulator::copies_arrive($P)"},
    {"cp .async .mbarrier .arrive .noinc @own? .b64", "[p]", "ptx::arrive_with_copies($P)"},

    // ---- Bulk copies, whose policy ($b) is a hint
    {"cp .async .bulk .shared::cluster|.shared::cta .global .mbarrier::complete_tx::bytes", "[s] [q] a:u32 [m]", "::simulator::bulk_copy_in(ptx::shared_at($s), ptx::global_at($q), $a, ptx::shared_at($m))"},
    {"cp .async .bulk .shared::cluster|.shared::cta .global .mbarrier::complete_tx::bytes .L2::cache_hint", "[s] [q] a:u32 [m] b:b64", "::simulator::bulk_copy_in(ptx::shared_at($s), ptx::global_at($q), $a, ptx::shared_at($m))"},
    {"cp .async .bulk .global .shared::cta .bulk_group", "[q] [s] a:u32", "::simulator::bulk_copy_out(ptx::global_at($q), ptx::shared_at($s), $a)"},
    {"cp .async .bulk .global .shared::cta .bulk_group .L2::cache_hint", "[q] [s] a:u32 b:b64", "::simulator::bulk_copy_out(ptx::global_at($q), ptx::shared_at($s), $a)"},
    {"cp .async .bulk .commit_group", "", "::simulator::commit_bulk_copies()"},
    {"cp .async .bulk .wait_group", "a:constant", "::simulator::wait_for_bulk_copies($a, false)"},
    {"cp .async .bulk .wait_group .read", "a:constant", "::simulator::wait_for_bulk_copies($a, true)"},
    {"cp .async .bulk .prefetch .L2 .global", "[q] a:u32", "static_cast<void>($q)"},
    {"fence .proxy .async .shared::cta|.shared::cluster?", "", "::simulator::proxy_fence()"},
    {"fence .proxy .async .global", "", "void()"},

    // ---- Asynchronous stores: [s] and the barrier [m] in shared memory of one block of the cluster
    {"st .async @weak? .shared::cluster .mbarrier::complete_tx::bytes @vector? @word", "[s] a [m]", "ptx::store_async<$T>(ptx::shared_at($s), ptx::shared_at($m), $a)"},

    // ---- Barriers in shared memory. Of those of another block a thread can tell that it arrives.
    {"mbarrier .init @own? .b64", "[p] a:u32", "::simulator::init_barrier($P, $a)"},
    {"mbarrier .inval @own? .b64", "[p]", "::simulator::invalidate_barrier($P)"},
    {"mbarrier .expect_tx @relaxed? @own? .b64", "[p] a:u32", "::simulator::expect_bytes($P, $a)"},
    {"mbarrier .expect_tx @relaxed? .shared::cluster .b64", "[p] a:u32", "::simulator::expect_bytes($P, $a, ::simulator::BarrierOf::cluster)"},
    {"mbarrier .arrive @release? @own? .b64", "d|_ [p]", "::simulator::arrive_at_barrier($P, 1, false)"},
    {"mbarrier .arrive @release? @own? .b64", "d|_ [p] a:u32", "::simulator::arrive_at_barrier($P, $a, false)"},
    {"mbarrier .arrive @release? .shared::cluster .b64", "_ [p]", "::simulator::arrive_at_barrier($P, 1, false, ::simulator::BarrierOf::cluster)"},
    {"mbarrier .arrive @release? .shared::cluster .b64", "_ [p] a:u32", "::simulator::arrive_at_barrier($P, $a, false, ::simulator::BarrierOf::cluster)"},
    {"mbarrier .arrive .expect_tx @release? @own? .b64", "d|_ [p] a:u32", "ptx::arrive_expecting($P, $a)"},
    {"mbarrier .arrive .expect_tx @release? .shared::cluster .b64", "_ [p] a:u32", "ptx::arrive_expecting($P, $a, ::simulator::BarrierOf::cluster)"},
    {"mbarrier .arrive_drop @release? @own? .b64", "d|_ [p]", "::simulator::arrive_at_barrier($P, 1, true)"},
    {"mbarrier .test_wait|.try_wait @acquire? @own? .b64", "d:pred [p] a", "::simulator::ask_barrier($P, $a)"},
    {"mbarrier .try_wait @acquire? @own? .b64", "d:pred [p] a b:u32", "::simulator::ask_barrier($P, $a)"},
    {"mbarrier .test_wait|.try_wait .parity @acquire? @own? .b64", "d:pred [p] a:u32", "::simulator::ask_for_parity($P, $a)"},
    {"mbarrier .try_wait .parity @acquire? @own? .b64", "d:pred [p] a:u32 b:u32", "::simulator::ask_for_parity($P, $a)"},
    {"fence .mbarrier_init .release .cluster", "", "void()"},
    {"fence .release .sync_restrict::shared::cta .cluster", "", "void()"},

    // ---- Addresses: of a generic pointer the one within shared memory, and back
    {"cvta .to .shared .u64", "d a", "__cvta_generic_to_shared(ptx::pointer($a))"},
    {"cvta .shared .u64", "d a", "ptx::address(ptx::shared_at($a))"},
    {"cvta .to? .global .u64", "d a", "$a"},
    {"mapa .shared::cluster .u32|.u64", "d a b:u32", "static_cast<$T>(::simulator::map_shared_address($a, $b))"},
    {"mapa .u64", "d a b:u32", "ptx::address(::simulator::map_shared(ptx::pointer($a), $b))"},
    {"getctarank .shared::cluster .u32|.u64", "d:u32 a", "::simulator::rank_of_shared(ptx::shared_at($a))"},
    {"getctarank .u64", "d:u32 a", "::simulator::rank_of_shared(ptx::pointer($a))"},

    // ---- Registers: copied, put together of parts, taken apart
    {"mov .b32|.b64", "d {a}", "ptx::join<$T>($a)"},
    {"mov .b32|.b64", "{d} a", "ptx::split($a, $d)"},
    {"mov .b16|.u16|.s16|.b32|.u32|.s32|.b64|.u64|.s64|.f32|.f64|.pred", "d a", "$a"},
    {"selp .b16|.u16|.s16|.b32|.u32|.s32|.b64|.u64|.s64|.f32|.f64", "d a b c:pred", "$c ? $a : $b"},
    {"setp .eq .b16|.b32|.b64|@number", "d:pred a b", "$a == $b"},
    {"setp .ne .b16|.b32|.b64|@integer", "d:pred a b", "$a != $b"},
    {"setp .neu .f32|.f64", "d:pred a b", "$a != $b"},
    {"setp .lt @number", "d:pred a b", "$a < $b"},
    {"setp .lo @unsigned", "d:pred a b", "$a < $b"},
    {"setp .le @number", "d:pred a b", "$a <= $b"},
    {"setp .ls @unsigned", "d:pred a b", "$a <= $b"},
    {"setp .gt @number", "d:pred a b", "$a > $b"},
    {"setp .hi @unsigned", "d:pred a b", "$a > $b"},
    {"setp .ge @number", "d:pred a b", "$a >= $b"},
    {"setp .hs @unsigned", "d:pred a b", "$a >= $b"},

    // ---- Arithmetic
    {"add .rn? .f32|.f64|.f16|.f16x2|.bf16|.bf16x2", "d a b", "$a + $b"},
    {"sub .rn? .f32|.f64|.f16|.f16x2|.bf16|.bf16x2", "d a b", "$a - $b"},
    {"mul .rn? .f32|.f64|.f16|.f16x2|.bf16|.bf16x2", "d a b", "$a * $b"},
    {"add .ftz .f32", "d a b", "ptx::flushed(ptx::flushed($a) + ptx::flushed($b))"},
    {"sub .ftz .f32", "d a b", "ptx::flushed(ptx::flushed($a) - ptx::flushed($b))"},
    {"mul .ftz .f32", "d a b", "ptx::flushed(ptx::flushed($a) * ptx::flushed($b))"},
    {"fma .rn .f32", "d a b c", "__fmaf_rn($a, $b, $c)"},
    {"fma .rn .ftz .f32", "d a b c", "ptx::flushed(__fmaf_rn(ptx::flushed($a), ptx::flushed($b), ptx::flushed($c)))"},
    {"fma .rn .f64", "d a b c", "__fma_rn($a, $b, $c)"},
    {"fma .rn .f16|.bf16", "d a b c", "__hfma($a, $b, $c)"},
    {"fma .rn .f16x2|.bf16x2", "d a b c", "__hfma2($a, $b, $c)"},
    {"min .f32", "d a b", "static_cast<float>(-::simulator::larger(-$a, -$b))"},
    {"max .f32", "d a b", "static_cast<float>(::simulator::larger($a, $b))"},
    {"min .f16|.bf16", "d a b", "__hmin($a, $b)"},
    {"max .f16|.bf16", "d a b", "__hmax($a, $b)"},
    {"min .f16x2|.bf16x2", "d a b", "__hmin2($a, $b)"},
    {"max .f16x2|.bf16x2", "d a b", "__hmax2($a, $b)"},
    {"add @integer", "d a b", "$a + $b"},
    {"sub @integer", "d a b", "$a - $b"},
    {"mul .lo @integer", "d a b", "$a * $b"},
    {"mad .lo @integer", "d a b c", "$a * $b + $c"},
    {"min @integer", "d a b", "$b < $a ? $b : $a"},
    {"max @integer", "d a b", "$a < $b ? $b : $a"},
    {"and .b16|.b32|.b64|.pred", "d a b", "$a & $b"},
    {"or .b16|.b32|.b64|.pred", "d a b", "$a | $b"},
    {"xor .b16|.b32|.b64|.pred", "d a b", "$a ^ $b"},
    {"not .b16|.b32|.b64", "d a", "~$a"},
    {"shl .b32|.b64", "d a b:u32", "ptx::shifted_left($a, $b)"},
    {"shr .b32|.u32|.s32|.b64|.u64|.s64", "d a b:u32", "ptx::shifted_right($a, $b)"},

    // ---- Functions that the GPU approximates. Here they are exact to the last bit or nearly so.
    {"ex2 .approx .f32", "d a", "exp2f($a)"},
    {"lg2 .approx .f32", "d a", "log2f($a)"},
    {"rcp .approx|.rn .f32", "d a", "__frcp_rn($a)"},
    {"rsqrt .approx .f32", "d a", "rsqrtf($a)"},
    {"sqrt .approx|.rn .f32", "d a", "__fsqrt_rn($a)"},
    {"sin .approx .f32", "d a", "__sinf($a)"},
    {"cos .approx .f32", "d a", "__cosf($a)"},
    {"tanh .approx .f32", "d a", "tanhf($a)"},
    {"div .approx|.full|.rn .f32", "d a b", "$a / $b"},
    {"ex2 .approx .ftz .f32", "d a", "ptx::flushed(exp2f(ptx::flushed($a)))"},
    {"lg2 .approx .ftz .f32", "d a", "ptx::flushed(log2f(ptx::flushed($a)))"},
    {"rcp .approx|.rn .ftz .f32", "d a", "ptx::flushed(__frcp_rn(ptx::flushed($a)))"},
    {"rsqrt .approx .ftz .f32", "d a", "ptx::flushed(rsqrtf(ptx::flushed($a)))"},
    {"sqrt .approx|.rn .ftz .f32", "d a", "ptx::flushed(__fsqrt_rn(ptx::flushed($a)))"},

    // ---- Conversions. Of a pair the first operand becomes the upper half.
    {"cvt .rn .f16 .f32", "d:f16 a:f32", "__float2half_rn($a)"},
    {"cvt .rz .f16 .f32", "d:f16 a:f32", "__float2half_rz($a)"},
    {"cvt .rn .bf16 .f32", "d:bf16 a:f32", "__float2bfloat16_rn($a)"},
    {"cvt .rz .bf16 .f32", "d:bf16 a:f32", "__float2bfloat16_rz($a)"},
    {"cvt .f32 .f16", "d:f32 a:f16", "__half2float($a)"},
    {"cvt .f32 .bf16", "d:f32 a:bf16", "__bfloat162float($a)"},
    {"cvt .rn .f16x2 .f32", "d:f16x2 a:f32 b:f32", "__floats2half2_rn($b, $a)"},
    {"cvt .rz .f16x2 .f32", "d:f16x2 a:f32 b:f32", "__half2(__float2half_rz($b), __float2half_rz($a))"},
    {"cvt .rn .bf16x2 .f32", "d:bf16x2 a:f32 b:f32", "__floats2bfloat162_rn($b, $a)"},
    {"cvt .rz .bf16x2 .f32", "d:bf16x2 a:f32 b:f32", "__nv_bfloat162(__float2bfloat16_rz($b), __float2bfloat16_rz($a))"},
    {"cvt .rn .satfinite .f16 .f32", "d:f16 a:f32", "ptx::finite(__float2half_rn($a))"},
    {"cvt .rn .satfinite .bf16 .f32", "d:bf16 a:f32", "ptx::finite(__float2bfloat16_rn($a))"},
    {"cvt .rn .satfinite .f16x2 .f32", "d:f16x2 a:f32 b:f32", "__half2(ptx::finite(__float2half_rn($b)), ptx::finite(__float2half_rn($a)))"},
    {"cvt .rn .satfinite .bf16x2 .f32", "d:bf16x2 a:f32 b:f32", "__nv_bfloat162(ptx::finite(__float2bfloat16_rn($b)), ptx::finite(__float2bfloat16_rn($a)))"},
    {"cvt .rn .satfinite .e4m3x2 .f32", "d:b16 a:f32 b:f32", "__nv_cvt_float2_to_fp8x2(float2{$b, $a}, __NV_SATFINITE, __NV_E4M3)"},
    {"cvt .rn .satfinite .e5m2x2 .f32", "d:b16 a:f32 b:f32", "__nv_cvt_float2_to_fp8x2(float2{$b, $a}, __NV_SATFINITE, __NV_E5M2)"},
    {"cvt .rn .satfinite .e4m3x2 .f16x2", "d:b16 a:f16x2", "__nv_cvt_halfraw2_to_fp8x2($a, __NV_SATFINITE, __NV_E4M3)"},
    {"cvt .rn .satfinite .e5m2x2 .f16x2", "d:b16 a:f16x2", "__nv_cvt_halfraw2_to_fp8x2($a, __NV_SATFINITE, __NV_E5M2)"},
    {"cvt .rn .f16x2 .e4m3x2", "d:f16x2 a:b16", "__half2(__nv_cvt_fp8x2_to_halfraw2($a, __NV_E4M3))"},
    {"cvt .rn .f16x2 .e5m2x2", "d:f16x2 a:b16", "__half2(__nv_cvt_fp8x2_to_halfraw2($a, __NV_E5M2))"},
    {"cvt .rn .f32 .s32", "d:f32 a:s32", "__int2float_rn($a)"},
    {"cvt .rn .f32 .u32", "d:f32 a:u32", "__uint2float_rn($a)"},
    {"cvt .rni .s32 .f32", "d:s32 a:f32", "__float2int_rn($a)"},
    {"cvt .rzi .s32 .f32", "d:s32 a:f32", "__float2int_rz($a)"},
    {"cvt .rni .u32 .f32", "d:u32 a:f32", "__float2uint_rn($a)"},
    {"cvt .rzi .u32 .f32", "d:u32 a:f32", "__float2uint_rz($a)"},
    {"cvt .rni .sat .s8 .f32", "d:s8 a:f32", "ptx::to_byte($a)"},
    {"cvt .u32 .u16", "d:u32 a:u16", "$a"},
    {"cvt .u16 .u32", "d:u16 a:u32", "static_cast<unsigned short>($a)"},
    {"cvt .u64 .u32", "d:u64 a:u32", "$a"},
    {"cvt .s64 .s32", "d:s64 a:s32", "$a"},
    {"cvt .u32 .u64", "d:u32 a:u64", "static_cast<unsigned>($a)"},
    {"cvt .f64 .f32", "d:f64 a:f32", "$a"},
    {"cvt .rn .f32 .f64", "d:f32 a:f64", "static_cast<float>($a)"},

    // ---- Atomics on global memory
    {"red .relaxed? .gpu|.sys? .global .add .u32|.s32|.u64|.f32|.f64", "[p] a", "::atomicAdd(ptx::global_pointer<$T>($p), $a)"},
    {"red .relaxed? .cta .global .add .u32|.s32|.u64|.f32|.f64", "[p] a", "::atomicAdd_block(ptx::global_pointer<$T>($p), $a)"},
    {"red .relaxed? .cta|.gpu|.sys? .global .add .noftz .f16|.f16x2|.bf16|.bf16x2", "[p] a", "::atomicAdd(ptx::global_pointer<$T>($p), $a)"},
    {"atom .relaxed? .gpu|.sys? .global .add .u32|.s32|.u64|.f32|.f64", "d [p] a", "::atomicAdd(ptx::global_pointer<$T>($p), $a)"},
    {"atom .relaxed? .cta .global .add .u32|.s32|.u64|.f32|.f64", "d [p] a", "::atomicAdd_block(ptx::global_pointer<$T>($p), $a)"},
    {"red .release .gpu .global .add .u32|.s32|.u64|.f32", "[p] a", "::__threadfence(), ::atomicAdd(ptx::global_pointer<$T>($p), $a)"},
    {"atom .acq_rel .gpu .global .add .u32|.s32|.u64|.f32", "d [p] a", "(::__threadfence(), ptx::acquiring(::atomicAdd(ptx::global_pointer<$T>($p), $a)))"},
    {"atom .relaxed? .gpu|.sys? .global .exch .b32|.b64", "d [p] a", "::atomicExch(ptx::global_pointer<$T>($p), $a)"},
    {"atom .relaxed? .cta .global .exch .b32|.b64", "d [p] a", "::atomicExch_block(ptx::global_pointer<$T>($p), $a)"},
    {"atom .relaxed? .gpu|.sys? .global .cas .b32|.b64", "d [p] a b", "::atomicCAS(ptx::global_pointer<$T>($p), $a, $b)"},
    {"atom .relaxed? .cta .global .cas .b32|.b64", "d [p] a b", "::atomicCAS_block(ptx::global_pointer<$T>($p), $a, $b)"},
    {"red .relaxed? .gpu|.sys? .global .max .u32|.s32|.u64|.s64", "[p] a", "::atomicMax(ptx::global_pointer<$T>($p), $a)"},
    {"red .relaxed? .cta .global .max .u32|.s32|.u64|.s64", "[p] a", "::atomicMax_block(ptx::global_pointer<$T>($p), $a)"},

    // ---- Fences, barriers, and what the lanes of a warp do together
    {"membar .cta", "", "::__threadfence_block()"},
    {"membar .gl", "", "::__threadfence()"},
    {"membar .sys", "", "::__threadfence_system()"},
    {"fence .acq_rel|.sc .cta", "", "::__threadfence_block()"},
    {"fence .acq_rel|.sc .gpu", "", "::__threadfence()"},
    {"fence .acq_rel|.sc .sys", "", "::__threadfence_system()"},
    {"bar .cta? .sync", "0", "::__syncthreads()"},
    {"barrier .cta? .sync .aligned?", "0", "::__syncthreads()"},
    {"bar .cta? .sync", "a:u32", "::__barrier_sync($a)"},
    {"bar .cta? .sync", "a:u32 b:u32", "::__barrier_sync_count($a, $b)"},
    {"barrier .cta? .sync .aligned?", "a:u32", "::__barrier_sync($a)"},
    {"barrier .cta? .sync .aligned?", "a:u32 b:u32", "::__barrier_sync_count($a, $b)"},
    {"bar .cta? .arrive", "a:u32 b:u32", "::simulator::arrive_at_named_barrier($a, $b)"},
    {"barrier .cta? .arrive .aligned?", "a:u32 b:u32", "::simulator::arrive_at_named_barrier($a, $b)"},
    {"barrier .cluster .arrive .release|.relaxed? .aligned?", "", "::simulator::arrive_at_cluster()"},
    {"barrier .cluster .wait .acquire? .aligned?", "", "::simulator::wait_at_cluster(::simulator::ClusterBarrier::wait)"},
    {"bar .warp .sync", "a:u32", "::__syncwarp($a)"},
    {"griddepcontrol .wait", "", "::cudaGridDependencySynchronize()"},
    {"griddepcontrol .launch_dependents", "", "::cudaTriggerProgrammaticLaunchCompletion()"},
    {"shfl .sync .idx .b32", "d a b:u32 c:to31 e:u32", "::__shfl_sync($e, $a, static_cast<int>($b), ptx::width($c))"},
    {"shfl .sync .bfly .b32", "d a b:u32 c:to31 e:u32", "::__shfl_xor_sync($e, $a, static_cast<int>($b), ptx::width($c))"},
    {"shfl .sync .down .b32", "d a b:u32 c:to31 e:u32", "::__shfl_down_sync($e, $a, $b, ptx::width($c))"},
    {"shfl .sync .up .b32", "d a b:u32 c:to0 e:u32", "::__shfl_up_sync($e, $a, $b, ptx::width($c))"},
    {"activemask .b32", "d", "::__activemask()"},
    {"vote .sync .ballot .b32", "d a:pred b:u32", "::__ballot_sync($b, $a)"},
    {"elect .sync", "d|e a:u32", "ptx::elect($a, $e)"},
    {"redux .sync .add .s32|.u32", "d a b:u32", "::__reduce_add_sync($b, $a)"},
    {"redux .sync .min .s32|.u32", "d a b:u32", "::__reduce_min_sync($b, $a)"},
    {"redux .sync .max .s32|.u32", "d a b:u32", "::__reduce_max_sync($b, $a)"},
    {"trap", "", "::__trap()"},
    {"nanosleep .u32", "a", "::__nanosleep($a)"},
    // clang-format on
};

namespace {

constexpr PtxType kTypes[] = {
    {"b8", 'b', 8, "unsigned char"},
    {"u8", 'u', 8, "unsigned char"},
    {"s8", 's', 8, "signed char"},
    {"b16", 'b', 16, "unsigned short"},
    {"u16", 'u', 16, "unsigned short"},
    {"s16", 's', 16, "short"},
    {"b32", 'b', 32, "unsigned"},
    {"u32", 'u', 32, "unsigned"},
    {"s32", 's', 32, "int"},
    {"b64", 'b', 64, "unsigned long long"},
    {"u64", 'u', 64, "unsigned long long"},
    {"s64", 's', 64, "long long"},
    {"f32", 'f', 32, "float"},
    {"f64", 'f', 64, "double"},
    {"f16", 'h', 16, "__half"},
    {"bf16", 'h', 16, "__nv_bfloat16"},
    {"f16x2", 'h', 32, "__half2"},
    {"bf16x2", 'h', 32, "__nv_bfloat162"},
    {"pred", 'p', 8, "bool"},
};

}  // namespace

const PtxType* ptx_type(const std::string& name) {
  for (const PtxType& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

std::string ptx_parts(const std::string& list) {
  if (list == "@weak") return ".weak";
  if (list == "@evict") {
    return ".L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|"
           ".L1::no_allocate";
  }
  if (list == "@own") return ".shared|.shared::cta";
  if (list == "@release") return ".release.cta|.release.cluster";
  if (list == "@acquire") return ".acquire.cta|.acquire.cluster";
  if (list == "@relaxed") return ".relaxed.cta|.relaxed.cluster";
  if (list == "@policy") return ".L2::evict_first|.L2::evict_last|.L2::evict_normal";
  if (list == "@prefetch") return ".L2::64B|.L2::128B|.L2::256B";
  if (list == "@word") return ".b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64";
  if (list == "@vector") return ".v2|.v4";
  if (list == "@integer") return ".u32|.s32|.u64|.s64|.u16|.s16";
  if (list == "@unsigned") return ".u32|.u64|.u16";
  if (list == "@number") return ".u32|.s32|.u64|.s64|.f32|.f64|.u16|.s16";
  return ".b8|.u8|.s8|.b16|.u16|.s16|.b32|.u32|.s32|.b64|.u64|.s64|.f32|.f64";  // @type
}

}  // namespace onepass::rewriter
