// SPDX-License-Identifier: GPL-2.0
#include "word.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "chunk.h"
#include "failure.h"
#include "bytes.h"

namespace rdma::isosurface {
namespace {

constexpr std::size_t kLongestReason = 400;

[[noreturn]] void wrong(const std::string& what) {
  throw Failure(Cause::kProtocol, "the peer sent " + what);
}

struct Sayer {
  Packer& packer;

  void operator()(const Ring& ring) const {
    packer.put(Ring::kVersion).put(ring.slots).put(ring.slot_bytes);
    for (const std::byte byte : ring.region.to_bytes())
      packer.put(std::to_integer<std::uint8_t>(byte));
  }
  void operator()(const Credit& credit) const { packer.put(credit.slots); }
  void operator()(const Done& /*done*/) const {}
  void operator()(const Question& question) const {
    for (const Index& corner : {question.points.begin, question.points.end})
      for (const std::int32_t part : corner)
        packer.put(part);
  }
  void operator()(const Abort& abort) const {
    for (const char letter : abort.reason.substr(0, kLongestReason))
      packer.put(static_cast<std::uint8_t>(letter));
  }
};

Ring take_ring(Unpacker& from) {
  if (const auto version = from.take<std::uint32_t>(); version != Ring::kVersion)
    wrong("streams of version " + std::to_string(version) + ", and this is version " +
          std::to_string(Ring::kVersion) + "; run the same program at both ends");
  Ring ring;
  ring.slots = from.take<std::uint32_t>();
  ring.slot_bytes = from.take<std::uint32_t>();
  ring.region = RemoteRegion::from_bytes(from.next(RemoteRegion::kBytes));
  try {
    ring.check();
  } catch (const Failure& failure) {
    wrong(std::string("a ring that can't be: ") + failure.what());
  }
  if (ring.region.length != std::uint64_t{ring.slots} * ring.slot_bytes)
    wrong("a ring that is not as long as its slots");
  return ring;
}

Question take_question(Unpacker& from) {
  Question question;
  for (Index* corner : {&question.points.begin, &question.points.end})
    for (std::int32_t& part : *corner)
      part = from.take<std::int32_t>();
  return question;
}

Abort take_abort(Unpacker& from) {
  Abort abort;
  while (from.left() > 0 && abort.reason.size() < kLongestReason) {
    const auto letter = from.take<std::uint8_t>();
    abort.reason += std::isprint(letter) != 0 ? static_cast<char>(letter) : '?';
  }
  return abort;
}

// The word, if nothing comes behind it.
Word whole(const Word& word, const Unpacker& from) {
  if (from.left() > 0)
    wrong("a message that is longer than it should be");
  return word;
}

}  // namespace

void Ring::check() const {
  if (slots < 2 || slots > kMostSlots)
    throw Failure(Cause::kInput, "a stream has 2 to " + std::to_string(kMostSlots) + " slots");
  if (slot_bytes < 1024 || slot_bytes > Header::kLongestChunk)
    throw Failure(Cause::kInput,
                  "a slot has 1024 to " + std::to_string(Header::kLongestChunk) + " bytes");
  if (std::size_t{slots} * slot_bytes > kMostBytes)
    throw Failure(Cause::kInput, "the slots of a stream have at most " +
                                     std::to_string(kMostBytes) + " bytes together");
}

std::vector<std::byte> pack(const Word& word) {
  std::array<std::byte, kLongestReason + 1> buffer{};
  Packer packer(buffer);
  packer.put(std::visit([](const auto& one) { return one.kType; }, word));
  std::visit(Sayer{packer}, word);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(packer.used())};
}

Word unpack_word(std::span<const std::byte> message) {
  Unpacker from(message);
  const auto type = from.take<std::uint8_t>();
  switch (type) {
    case Ring::kType:
      return whole(take_ring(from), from);
    case Credit::kType:
      return whole(Credit{from.take<std::uint32_t>()}, from);
    case Done::kType:
      return whole(Done{}, from);
    case Question::kType:
      return whole(take_question(from), from);
    case Abort::kType:
      return take_abort(from);
    default:
      wrong("a message of the unknown type " + std::to_string(type));
  }
}

}  // namespace rdma::isosurface
