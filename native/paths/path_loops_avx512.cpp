// The inner loops for x86 processors with AVX-512.
#if defined(__x86_64__)
#define NBFNET_ISA avx512
#include "paths/path_loops.hpp"
#endif
