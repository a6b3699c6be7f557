// SPDX-License-Identifier: GPL-2.0
// What client and daemon say to each other for a job. The bytes of files are in no message: each
// end reads them from the other's memory.
#pragma once

#include "bytes.h"
#include "command.h"
#include "link.h"

namespace rdma::rdistcc {

// Links of both programs: a request is one message, and there are few.
inline Settings link_settings() { return {.credits = 4, .message_bytes = 16384}; }

// Reads from the peer's memory. Fewer pieces are begun at once than a link's depth, so that no
// other call waits.
inline void fetch(Link& link, std::span<std::byte> into, const RemoteRegion& from,
                  Limit limit = kForever) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  // A read is answered by a write.
  const std::unique_ptr<Region> region = link.expose(into, kRemoteWrite);
  const Deadline deadline(limit);
  for (std::size_t at = 0; at < into.size(); at += kPiece) {
    link.read(*region, at, std::min(kPiece, into.size() - at), from, at);
    if (at % (32 * kPiece) == 31 * kPiece) link.flush(deadline.left());
  }
  link.flush(deadline.left());
}

constexpr std::uint32_t kRelease = 2;

class MessageWriter {
 public:
  template <typename Number>
  MessageWriter& number(Number value) {
    bytes_.resize(bytes_.size() + sizeof(value));
    put_big(bytes_.data() + bytes_.size() - sizeof(value), value);
    return *this;
  }
  MessageWriter& text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    const auto bytes = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  MessageWriter& region(const RemoteRegion& value) {
    const auto bytes = value.to_bytes();
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class MessageReader : public Unpacker {
 public:
  using Unpacker::Unpacker;

  std::string text() {
    const std::span<const std::byte> bytes = next(take<std::uint32_t>());
    std::string value(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    require(value.find('\0') == std::string::npos, "the peer sent a text with a zero in it",
            Cause::kProtocol);
    return value;
  }
  RemoteRegion region() { return RemoteRegion::from_bytes(next(RemoteRegion::kBytes)); }
  void end() const { require(left() == 0, "the peer's message is too long", Cause::kProtocol); }
};

// From the client: compile this.
struct Request {
  RemoteRegion source;  // the preprocessed source, which the daemon reads
  std::string suffix;   // "i" or "ii"
  std::string compiler;
  Arguments arguments;

  std::vector<std::byte> to_bytes() const {
    MessageWriter writer;
    writer.number(kRelease).region(source).text(suffix).text(compiler);
    writer.number(static_cast<std::uint32_t>(arguments.size()));
    for (const std::string& argument : arguments) writer.text(argument);
    return writer.take();
  }
  // Throws Failure (kProtocol).
  static Request from_bytes(std::span<const std::byte> bytes) {
    MessageReader reader(bytes);
    require(reader.take<std::uint32_t>() == kRelease, "the client is of another release",
            Cause::kProtocol);
    Request request;
    request.source = reader.region();
    request.suffix = reader.text();
    request.compiler = reader.text();
    // Each takes four bytes at least, so a count that lies is found out before it costs memory.
    for (auto left = reader.take<std::uint32_t>(); left > 0; left--)
      request.arguments.push_back(reader.text());
    reader.end();
    return request;
  }
  bool operator==(const Request&) const = default;
};

// From the daemon: how it went.
struct Reply {
  enum class Kind : std::uint8_t {
    kCompiled = 1,  // the compiler ended by itself, with `status`
    kRefused = 2    // for the reason in `text`; the client goes elsewhere
  };

  Kind kind = Kind::kRefused;
  std::uint32_t status = 0;
  RemoteRegion object;            // of no length if there is none
  RemoteRegion messages;          // what the compiler said
  std::uint64_t compiling = 0;    // nanoseconds of time
  std::uint64_t reading = 0;      // of these: the source from the client
  std::uint64_t registering = 0;  // of these: memory
  std::string text;

  std::vector<std::byte> to_bytes() const {
    MessageWriter writer;
    writer.number(kRelease).number(static_cast<std::uint8_t>(kind)).number(status).region(object);
    writer.region(messages).number(compiling).number(reading).number(registering);
    return writer.text(text).take();
  }
  // Throws Failure (kProtocol).
  static Reply from_bytes(std::span<const std::byte> bytes) {
    MessageReader reader(bytes);
    require(reader.take<std::uint32_t>() == kRelease, "the daemon is of another release",
            Cause::kProtocol);
    Reply reply;
    const auto kind = reader.take<std::uint8_t>();
    require(kind == static_cast<std::uint8_t>(Kind::kCompiled) ||
                kind == static_cast<std::uint8_t>(Kind::kRefused),
            "the daemon's reply is of no known kind", Cause::kProtocol);
    reply.kind = static_cast<Kind>(kind);
    reply.status = reader.take<std::uint32_t>();
    reply.object = reader.region();
    reply.messages = reader.region();
    reader.take(reply.compiling, reply.reading, reply.registering);
    reply.text = reader.text();
    reader.end();
    return reply;
  }
  bool operator==(const Reply&) const = default;
};

}  // namespace rdma::rdistcc
