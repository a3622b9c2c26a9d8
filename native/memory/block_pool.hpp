// Large blocks of memory that are kept and handed out again.
//
// The C library returns a large block to the system as soon as it is freed. Every result would then be mapped, and
// cleared by the system, page by page, which costs more than computing it. The pool never holds more memory, used and
// free together, than was once in use and a quarter: without the quarter, batches of changing sizes would still free
// and map blocks all the time, as one that is free is seldom of the size that is asked for.
#pragma once

#include <cstddef>

namespace nbfnet {

// At least `bytes` bytes, aligned to a cache line, with any content; null where the system has no more.
void *take_block(size_t bytes);
void give_back_block(void *block);

}  // namespace nbfnet
