// The inner loops for x86 processors with AVX2 and FMA.
#include "path_edges.hpp"

#ifdef NBFNET_X86_VERSIONS
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
namespace nbfnet::avx2 {
#include "path_loops.inl"
}
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
