// SPDX-License-Identifier: GPL-2.0
#include "message.h"

#include "bytes.h"

namespace rdma::rdistcc {

namespace {

constexpr std::uint32_t kRelease = 2;

class Writer {
 public:
  template <typename Number>
  Writer& number(Number value) {
    bytes_.resize(bytes_.size() + sizeof(value));
    put_big(bytes_.data() + bytes_.size() - sizeof(value), value);
    return *this;
  }
  Writer& text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    const auto bytes = std::as_bytes(std::span(value));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Writer& region(const RemoteRegion& value) {
    const auto bytes = value.to_bytes();
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader : public Unpacker {
 public:
  using Unpacker::Unpacker;

  std::string text() {
    const std::span<const std::byte> bytes = next(take<std::uint32_t>());
    std::string value(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (value.find('\0') != std::string::npos) {
      throw Failure(Cause::kProtocol, "the peer sent a text with a zero in it");
    }
    return value;
  }
  RemoteRegion region() { return RemoteRegion::from_bytes(next(RemoteRegion::kBytes)); }
  void end() const {
    if (left() > 0) {
      throw Failure(Cause::kProtocol, "the peer's message is too long");
    }
  }
};

}  // namespace

Settings link_settings() {
  Settings settings;
  settings.credits = 4;
  settings.message_bytes = 16384;
  return settings;
}

std::vector<std::byte> Request::to_bytes() const {
  Writer writer;
  writer.number(kRelease).region(source).text(suffix).text(compiler);
  writer.number(static_cast<std::uint32_t>(arguments.size()));
  for (const std::string& argument : arguments) {
    writer.text(argument);
  }
  return writer.take();
}

Request Request::from_bytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.take<std::uint32_t>() != kRelease) {
    throw Failure(Cause::kProtocol, "the client is of another release");
  }
  Request request;
  request.source = reader.region();
  request.suffix = reader.text();
  request.compiler = reader.text();
  // Each takes four bytes at least, so a count that lies is found out before it costs memory.
  for (auto left = reader.take<std::uint32_t>(); left > 0; left--) {
    request.arguments.push_back(reader.text());
  }
  reader.end();
  return request;
}

std::vector<std::byte> Reply::to_bytes() const {
  Writer writer;
  writer.number(kRelease).number(static_cast<std::uint8_t>(kind)).number(status).region(object);
  writer.region(messages).number(compiling).number(reading).number(registering);
  return writer.text(text).take();
}

Reply Reply::from_bytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.take<std::uint32_t>() != kRelease) {
    throw Failure(Cause::kProtocol, "the daemon is of another release");
  }
  Reply reply;
  const auto kind = reader.take<std::uint8_t>();
  if (kind != static_cast<std::uint8_t>(Kind::kCompiled) &&
      kind != static_cast<std::uint8_t>(Kind::kRefused)) {
    throw Failure(Cause::kProtocol, "the daemon's reply is of no known kind");
  }
  reply.kind = static_cast<Kind>(kind);
  reply.status = reader.take<std::uint32_t>();
  reply.object = reader.region();
  reply.messages = reader.region();
  reply.compiling = reader.take<std::uint64_t>();
  reply.reading = reader.take<std::uint64_t>();
  reply.registering = reader.take<std::uint64_t>();
  reply.text = reader.text();
  reader.end();
  return reply;
}

}  // namespace rdma::rdistcc
