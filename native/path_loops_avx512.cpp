// The inner loops for x86 processors with AVX-512.
#include "path_edges.hpp"

#ifdef NBFNET_X86_VERSIONS
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512vl,avx512dq,fma,prefer-vector-width=512")
#endif
namespace nbfnet::avx512 {
#include "path_loops.inl"
}
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
