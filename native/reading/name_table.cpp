#include "reading/name_table.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "sampling/drawing.hpp"

namespace nbfnet {
namespace {

constexpr int64_t few = 1 << 10;  // places to begin with
constexpr int64_t ahead = 12;     // how many names before its use something in main memory is fetched

uint64_t load(const char *bytes, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, count);
    return word;
}

}  // namespace

HashedName hashed(std::string_view text) {
    const char *at = text.data();
    size_t left = text.size();
    uint64_t hash = golden * (left + 1);
    for (; left > 8; at += 8, left -= 8) hash = mix(hash ^ load(at, 8));
    if (left == 8) hash = mix(hash ^ load(at, 8));
    else if (left) hash = mix(hash ^ load(at, left));
    return {text, static_cast<uint32_t>(hash >> 32)};
}

NameTable::NameTable() : size_(few), places_(free_places(few)), offsets_{0} {}

void NameTable::Freed::operator()(Place *places) const { std::free(places); }

// On huge pages where the system has them: places are looked at in any order, and the addresses of small pages would
// not fit the processor's table of them.
NameTable::Places NameTable::free_places(int64_t count) {
    constexpr size_t huge_page = size_t{2} << 20;
    const size_t bytes = (static_cast<size_t>(count) * sizeof(Place) + huge_page - 1) / huge_page * huge_page;
    Places places(static_cast<Place *>(std::aligned_alloc(huge_page, bytes)));
    if (!places) throw std::bad_alloc();
#if defined(__linux__)
    madvise(places.get(), bytes, MADV_HUGEPAGE);
#endif
    std::memset(places.get(), 0, static_cast<size_t>(count) * sizeof(Place));
    return places;
}

// Where a name stands, or the free place where it would.
uint64_t NameTable::place_of(const HashedName &wanted) const {
    const uint64_t mask = static_cast<uint64_t>(size_) - 1;
    uint64_t at = wanted.hash & mask;
    while (places_[at].number && !(places_[at].hash == wanted.hash && name(places_[at].number - 1) == wanted.text))
        at = (at + 1) & mask;
    return at;
}

int32_t NameTable::find(const HashedName &wanted) const { return places_[place_of(wanted)].number - 1; }

int32_t NameTable::number(const HashedName &wanted, int64_t row) {
    if (4 * (count() + 1) > 3 * size_) grow();
    Place &place = places_[place_of(wanted)];
    if (!place.number) {
        if (count() == INT32_MAX) throw std::length_error("there are more than 2^31 - 1 names");
        text_.insert(text_.end(), wanted.text.begin(), wanted.text.end());
        offsets_.push_back(static_cast<int64_t>(text_.size()));
        first_.push_back(row);
        place = {wanted.hash, static_cast<int32_t>(count())};
    }
    return place.number - 1;
}

// A name is found by three reads anywhere in memory: its place, where it begins, and its bytes. Each is asked for some
// names ahead, when the one before it has arrived.
void NameTable::number_all(const HashedName *names, int64_t count, const int64_t *row, int32_t *number) {
    for (int64_t i = 0; i < count + 3 * ahead; ++i) {
        const uint64_t mask = static_cast<uint64_t>(size_) - 1;
        if (i < count) __builtin_prefetch(&places_[names[i].hash & mask]);
        if (const int64_t j = i - ahead; j >= 0 && j < count) {
            const int32_t found = places_[names[j].hash & mask].number;
            if (found) __builtin_prefetch(&offsets_[found - 1]);
        }
        if (const int64_t j = i - 2 * ahead; j >= 0 && j < count) {
            const int32_t found = places_[names[j].hash & mask].number;
            if (found) __builtin_prefetch(text_.data() + offsets_[found - 1]);
        }
        if (const int64_t j = i - 3 * ahead; j >= 0) number[j] = this->number(names[j], row[j / 2]);
    }
}

int64_t NameTable::memory() const {
    const size_t numbers = offsets_.capacity() + first_.capacity();
    return static_cast<int64_t>(text_.capacity() + numbers * sizeof(int64_t)) + size_ * int64_t{sizeof(Place)};
}

void NameTable::grow() {
    Places larger = free_places(2 * size_);
    const uint64_t mask = 2 * static_cast<uint64_t>(size_) - 1;
    for (int64_t i = 0; i < size_; ++i) {
        if (!places_[i].number) continue;
        uint64_t at = places_[i].hash & mask;
        while (larger[at].number) at = (at + 1) & mask;
        larger[at] = places_[i];
    }
    places_ = std::move(larger);
    size_ *= 2;
}

}  // namespace nbfnet
