// The life of an outgoing connection, without sockets: what is done next after each event, in each stage.
#include "net/outbound_machine.h"

#include <gtest/gtest.h>

namespace weir::net {
namespace {

using Kind = Failure::Kind;
using Next = OutboundMachine::Next;
using Stage = OutboundMachine::Stage;
using Status = Transport::Status;

const Failure refused{Kind::refused, "Connection refused"};
const Failure unreachable{Kind::unreachable, "Network is unreachable"};

OutboundMachine opened(bool tls = false) {
  OutboundMachine machine;
  EXPECT_EQ(machine.start(1, tls), Next::connect);
  EXPECT_EQ(machine.connected(std::nullopt), tls ? Next::take_tls_step : Next::tell_open);
  if (tls) {
    EXPECT_EQ(machine.handshaken(Status::done, ""), Next::tell_open);
  }
  machine.use();
  return machine;
}

/// Nothing that comes late brings a closed one back.
void expect_closed(OutboundMachine& machine, Kind why) {
  EXPECT_EQ(machine.stage(), Stage::closed);
  EXPECT_EQ(machine.failure().kind, why);
  const std::string said = machine.failure().detail;
  EXPECT_EQ(machine.connected(std::nullopt), Next::nothing);
  EXPECT_EQ(machine.handshaken(Status::done, ""), Next::nothing);
  EXPECT_EQ(machine.read({Status::done, 10}), Next::nothing);
  EXPECT_EQ(machine.read({Status::ended}), Next::nothing);
  EXPECT_EQ(machine.written({Status::failed}), Next::nothing);
  EXPECT_EQ(machine.deadline(), Next::nothing);
  machine.rest();
  machine.use();
  EXPECT_EQ(machine.stage(), Stage::closed);
  EXPECT_EQ(machine.failure().detail, said);
}

TEST(OutboundMachine, ANameWithoutAddressesLeadsNowhere) {
  OutboundMachine machine;
  EXPECT_EQ(machine.start(0, false), Next::fail);
  expect_closed(machine, Kind::no_such_host);
}

TEST(OutboundMachine, WhereOneAddressRefusesTheNextIsTried) {
  OutboundMachine machine;
  EXPECT_EQ(machine.start(3, false), Next::connect);
  EXPECT_EQ(machine.addresses_left(), 3U);
  EXPECT_EQ(machine.connected(refused), Next::connect);
  EXPECT_EQ(machine.address(), 1U);
  EXPECT_EQ(machine.addresses_left(), 2U);
  EXPECT_EQ(machine.connected(std::nullopt), Next::tell_open);
  EXPECT_TRUE(machine.is_open());
}

TEST(OutboundMachine, WhereAllRefuseItSaysSo) {
  OutboundMachine machine;
  machine.start(2, true);
  EXPECT_EQ(machine.connected(refused), Next::connect);
  EXPECT_EQ(machine.connected(refused), Next::fail);
  EXPECT_EQ(machine.failure().detail, "Connection refused");
  expect_closed(machine, Kind::refused);
}

TEST(OutboundMachine, ARefusalSaysLessThanWhatIsWrongElsewhere) {
  for (const bool refused_first : {true, false}) {
    OutboundMachine machine;
    machine.start(2, false);
    EXPECT_EQ(machine.connected(refused_first ? refused : unreachable), Next::connect);
    EXPECT_EQ(machine.connected(refused_first ? unreachable : refused), Next::fail);
    expect_closed(machine, Kind::unreachable);
  }
}

TEST(OutboundMachine, AnAddressThatDoesNotAnswerInItsTimeIsLeftForTheNext) {
  OutboundMachine machine;
  machine.start(2, false);
  EXPECT_EQ(machine.deadline(), Next::connect);
  EXPECT_EQ(machine.address(), 1U);
  EXPECT_EQ(machine.deadline(), Next::fail);
  EXPECT_EQ(machine.failure().detail, "no connection in time");
  expect_closed(machine, Kind::slow);
}

TEST(OutboundMachine, TlsIsAgreedOnStepByStep) {
  OutboundMachine machine;
  machine.start(1, true);
  EXPECT_EQ(machine.connected(std::nullopt), Next::take_tls_step);
  EXPECT_FALSE(machine.is_open());
  EXPECT_EQ(machine.handshaken(Status::needs_read, ""), Next::wait_for_read);
  EXPECT_EQ(machine.handshaken(Status::needs_write, ""), Next::wait_for_write);
  EXPECT_EQ(machine.handshaken(Status::done, ""), Next::tell_open);
  EXPECT_TRUE(machine.is_open());
}

TEST(OutboundMachine, AServerThatIsNotTheOneMeantIsNotSpokenTo) {
  for (const Status status : {Status::failed, Status::ended}) {
    OutboundMachine machine;
    machine.start(2, true);
    machine.connected(std::nullopt);
    EXPECT_EQ(machine.handshaken(status, "certificate verify failed"), Next::fail)
        << "at another address it would be no better";
    EXPECT_EQ(machine.failure().detail, "certificate verify failed");
    expect_closed(machine, Kind::tls);
  }
}

TEST(OutboundMachine, TlsHasItsTimeToo) {
  OutboundMachine machine;
  machine.start(2, true);
  machine.connected(std::nullopt);
  EXPECT_EQ(machine.deadline(), Next::fail);
  EXPECT_EQ(machine.failure().detail, "no secure connection in time");
  expect_closed(machine, Kind::slow);
}

TEST(OutboundMachine, BytesAreCountedForEachUser) {
  OutboundMachine machine = opened();
  EXPECT_EQ(machine.written({Status::done, 10}), Next::nothing);
  EXPECT_EQ(machine.read({Status::done, 20}), Next::deliver);
  EXPECT_EQ(machine.written({Status::done, 5}), Next::nothing);
  EXPECT_EQ(machine.sent(), 15U);
  EXPECT_EQ(machine.received(), 20U);
  machine.rest();
  machine.use();
  EXPECT_EQ(machine.sent(), 0U);
  EXPECT_EQ(machine.received(), 0U);
}

TEST(OutboundMachine, WhatCannotBeDoneYetIsWaitedFor) {
  for (const bool tls : {false, true}) {
    OutboundMachine machine = opened(tls);
    EXPECT_EQ(machine.read({Status::needs_read}), Next::wait_for_read);
    EXPECT_EQ(machine.read({Status::needs_write}), Next::wait_for_write) << "TLS changes its keys";
    EXPECT_EQ(machine.written({Status::needs_read}), Next::wait_for_read);
    EXPECT_EQ(machine.written({Status::needs_write}), Next::wait_for_write);
    EXPECT_TRUE(machine.is_open());
  }
}

TEST(OutboundMachine, AnAnswerThatIsLateIsTheUsersToJudge) {
  OutboundMachine machine = opened();
  machine.written({Status::done, 10});
  EXPECT_EQ(machine.deadline(), Next::tell_late);
  EXPECT_EQ(machine.read({Status::done, 20}), Next::deliver) << "it may have been worth waiting for";
  EXPECT_EQ(machine.deadline(), Next::tell_late);
  machine.close();
  EXPECT_EQ(machine.read({Status::done, 20}), Next::nothing) << "nobody waits for it any more";
}

TEST(OutboundMachine, ACutInTheMiddleOfAnAnswerIsALoss) {
  OutboundMachine machine = opened();
  machine.written({Status::done, 10});
  EXPECT_EQ(machine.read({Status::done, 20}), Next::deliver);
  EXPECT_EQ(machine.read({Status::failed}), Next::fail);
  EXPECT_EQ(machine.sent(), 10U) << "whether the request had left is asked afterwards";
  expect_closed(machine, Kind::lost);
}

TEST(OutboundMachine, AServerThatEndsItsSideCanStillBeSpokenTo) {
  OutboundMachine machine = opened();
  EXPECT_EQ(machine.read({Status::done, 20}), Next::deliver);
  EXPECT_EQ(machine.read({Status::ended}), Next::tell_end);
  EXPECT_TRUE(machine.is_open());
  EXPECT_EQ(machine.written({Status::done, 5}), Next::nothing);
}

TEST(OutboundMachine, AServerThatTakesNoMoreMayHaveAnswered) {
  OutboundMachine machine = opened();
  machine.written({Status::done, 10});
  EXPECT_EQ(machine.written({Status::failed}), Next::read_what_came);
  EXPECT_EQ(machine.read({Status::done, 20}), Next::deliver);
  EXPECT_EQ(machine.read({Status::ended}), Next::tell_end);
}

TEST(OutboundMachine, AServerThatTakesNoMoreAndSaysNothingIsLost) {
  OutboundMachine machine = opened();
  machine.written({Status::done, 10});
  EXPECT_EQ(machine.written({Status::failed}), Next::read_what_came);
  EXPECT_EQ(machine.read({Status::needs_read}), Next::fail) << "there is nothing to wait for";
  expect_closed(machine, Kind::lost);
}

TEST(OutboundMachine, AnIdleConnectionIsClosedByWhateverComes) {
  for (const Transport::Outcome came :
       {Transport::Outcome{Status::ended}, {Status::failed}, Transport::Outcome{Status::done, 1}}) {
    OutboundMachine machine = opened();
    machine.rest();
    EXPECT_EQ(machine.stage(), Stage::idle);
    EXPECT_EQ(machine.read(came), Next::fail);
    expect_closed(machine, Kind::lost);
  }
}

TEST(OutboundMachine, AMessageOfTlsItselfDoesNotCloseAnIdleConnection) {
  OutboundMachine machine = opened(true);
  machine.rest();
  EXPECT_EQ(machine.read({Status::needs_read}), Next::wait_for_read);
  machine.use();
  EXPECT_TRUE(machine.is_open());
}

TEST(OutboundMachine, AnIdleConnectionIsNotKeptForEver) {
  OutboundMachine machine = opened();
  machine.rest();
  EXPECT_EQ(machine.deadline(), Next::fail);
  expect_closed(machine, Kind::lost);
}

TEST(OutboundMachine, AClosedOneCanStartAnew) {
  OutboundMachine machine = opened();
  machine.read({Status::failed});
  EXPECT_EQ(machine.start(1, false), Next::connect);
  EXPECT_EQ(machine.connected(std::nullopt), Next::tell_open);
  EXPECT_EQ(machine.sent(), 0U);
  EXPECT_EQ(machine.read({Status::needs_read}), Next::wait_for_read);
}

}  // namespace
}  // namespace weir::net
