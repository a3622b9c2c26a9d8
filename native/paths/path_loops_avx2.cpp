// The inner loops for x86 processors with AVX2 and FMA.
#if defined(__x86_64__)
#define NBFNET_ISA avx2
#include "paths/path_loops.hpp"
#endif
