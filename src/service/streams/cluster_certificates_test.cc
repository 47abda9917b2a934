// Keys made by this program, and real streams with mutual TLS between processes' ends that have them.
#include "service/streams/cluster_certificates.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "service/streams/certificate_facts.h"
#include "service/streams/certificate_watch.h"
#include "service/streams/revocation_list.h"
#include "service/streams/stream_example.h"

namespace fairlead::service {
namespace {

namespace fs = std::filesystem;

class ClusterCertificatesTest : public testing::Test {
 protected:
  // Of a host of the cluster in `name`, with an authority created where it is missing.
  TlsFiles FilesOf(const std::string& cluster, const std::string& host) const {
    const std::string folder = folder_.File(cluster);
    if (!fs::exists(folder)) {
      EXPECT_TRUE(CreateAuthority({.folder = folder}).ok());
    }
    const auto files = CreateHostCertificate({.folder = folder, .host = host, .addresses = {"127.0.0.1"}});
    EXPECT_TRUE(files.ok()) << files.status().message();
    return {.ca = folder + "/ca.pem", .certificate = files->certificate, .key = files->key};
  }

  const TemporaryFolder folder_;
};

TEST_F(ClusterCertificatesTest, FilesAreTheOwnersAndNotWrittenOver) {
  const std::string folder = folder_.File("made");
  const auto authority = CreateAuthority({.folder = folder});
  ASSERT_TRUE(authority.ok()) << authority.status().message();
  const auto host = CreateHostCertificate({.folder = folder, .host = "h0"});
  ASSERT_TRUE(host.ok()) << host.status().message();
  for (const std::string& path : {authority->certificate, authority->key, host->certificate, host->key}) {
    struct stat about = {};
    ASSERT_EQ(stat(path.c_str(), &about), 0) << path;
    EXPECT_EQ(about.st_mode & 0777u, 0600u) << path;
  }
  EXPECT_EQ(CreateAuthority({.folder = folder}).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(CreateHostCertificate({.folder = folder, .host = "h0"}).status().code(), StatusCode::kAlreadyExists);
}

TEST_F(ClusterCertificatesTest, NamesThatAreNoFileNamesAreRefused) {
  ASSERT_TRUE(CreateAuthority({.folder = folder_.path()}).ok());
  for (const char* host : {"", "../h0", "h0,DNS:h1", "ca", ".h", "-h", "h 0"}) {
    EXPECT_EQ(CreateHostCertificate({.folder = folder_.path(), .host = host}).status().code(),
              StatusCode::kInvalidArgument)
        << host;
    EXPECT_EQ(CreateHostCertificate({.folder = folder_.path(), .host = "h9", .addresses = {host}}).status().code(),
              StatusCode::kInvalidArgument)
        << host;
  }
  EXPECT_EQ(CreateHostCertificate({.folder = folder_.File("none"), .host = "h0"}).status().code(),
            StatusCode::kNotFound);
}

class CertificateFactsTest : public ClusterCertificatesTest {
 protected:
  static TlsTexts Load(const TlsFiles& files) {
    const auto texts = LoadTlsFiles(files);
    EXPECT_TRUE(texts.ok()) << texts.status().message();
    return *texts;
  }
};

TEST_F(CertificateFactsTest, FilesThatBelongTogether) {
  const auto facts = ReadCertificateFacts(Load(FilesOf("cluster", "h0")));
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->name, "h0");
  EXPECT_TRUE(facts->is_of_key);
  EXPECT_TRUE(facts->is_of_authority);
  // Valid from yesterday on, for 825 days from then or from now.
  const int64_t days = (facts->not_after_s - facts->not_before_s) / 86'400;
  EXPECT_GE(days, 825);
  EXPECT_LE(days, 826);
}

TEST_F(CertificateFactsTest, FilesThatDoNot) {
  TlsTexts texts = Load(FilesOf("cluster", "h0"));
  const TlsTexts other_host = Load(FilesOf("cluster", "h1"));
  const TlsTexts other_cluster = Load(FilesOf("other", "h0"));
  texts.key = other_host.key;
  EXPECT_FALSE(ReadCertificateFacts(texts)->is_of_key);
  EXPECT_TRUE(ReadCertificateFacts(texts)->is_of_authority);
  texts = other_cluster;
  texts.ca = other_host.ca;
  EXPECT_TRUE(ReadCertificateFacts(texts)->is_of_key);
  EXPECT_FALSE(ReadCertificateFacts(texts)->is_of_authority);
}

TEST_F(CertificateFactsTest, TheFirstDateCounts) {
  const std::string folder = folder_.File("short");
  ASSERT_TRUE(CreateAuthority({.folder = folder, .days = 20}).ok());
  const auto files = CreateHostCertificate({.folder = folder, .host = "h0", .days = 400});
  ASSERT_TRUE(files.ok());
  const auto facts =
      ReadCertificateFacts(Load({.ca = folder + "/ca.pem", .certificate = files->certificate, .key = files->key}));
  ASSERT_TRUE(facts.ok());
  EXPECT_LE((facts->not_after_s - facts->not_before_s) / 86'400, 21);
}

TEST_F(CertificateFactsTest, TextThatIsNoCertificateIsNamed) {
  const TlsTexts good = Load(FilesOf("cluster", "h0"));
  for (const auto& [member, name] :
       {std::pair(&TlsTexts::ca, "authority"), std::pair(&TlsTexts::certificate, "certificate"),
        std::pair(&TlsTexts::key, "private key")}) {
    TlsTexts texts = good;
    texts.*member = "-----BEGIN NOTHING-----";
    const auto facts = ReadCertificateFacts(texts);
    ASSERT_FALSE(facts.ok());
    EXPECT_EQ(facts.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(facts.status().message().find(name), std::string::npos) << facts.status().message();
  }
}

class TlsStreamTest : public ClusterCertificatesTest {
 protected:
  void SetUp() override {
    auto server = ControllerServer::Start({.listen = {"127.0.0.1:0"}, .tls = FilesOf("cluster", "controller")});
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
  }
  std::unique_ptr<ControllerClient> Connect(const TlsFiles& files) const {
    auto client = ControllerClient::Start({.address = server_->addresses()[0], .tls = files});
    EXPECT_TRUE(client.ok()) << client.status().message();
    return std::move(client).value();
  }

  std::unique_ptr<ControllerServer> server_;
};

TEST_F(TlsStreamTest, AHostSpeaksForItself) {
  const auto client = Connect(FilesOf("cluster", "h0"));
  ClientEvents events(client.get(), server_.get());
  ServerInputs inputs(server_.get());
  events.NextOf<StreamOpened>();
  client->Send(HelloOf("h0"));
  const controller::TrafficInput input = inputs.Next();
  EXPECT_TRUE(std::get<controller::StreamMessage>(input).message == controller::FromAgent(HelloOf("h0")));
}

TEST_F(TlsStreamTest, AHostDoesNotSpeakForAnother) {
  const auto client = Connect(FilesOf("cluster", "h0"));
  ClientEvents events(client.get(), server_.get());
  events.NextOf<StreamOpened>();
  client->Send(HelloOf("h1"));
  const auto answer = events.NextOf<controller::ToAgent>();
  ASSERT_TRUE(std::holds_alternative<controller::Refused>(answer));
  EXPECT_NE(std::get<controller::Refused>(answer).reason.find("h1"), std::string::npos);
  events.NextOf<StreamClosed>();
  EXPECT_TRUE(server_->TakeInputs(std::chrono::milliseconds(0)).empty());
  EXPECT_EQ(server_->counters().refused, 1u);
}

TEST_F(TlsStreamTest, StrangersAreNotLetIn) {
  const auto stranger = Connect(FilesOf("other", "h0"));
  ClientEvents stranger_events(stranger.get(), server_.get());
  EXPECT_TRUE(std::holds_alternative<StreamClosed>(stranger_events.Next()));
  const auto plain = Connect({});
  ClientEvents plain_events(plain.get(), server_.get());
  EXPECT_TRUE(std::holds_alternative<StreamClosed>(plain_events.Next()));
  EXPECT_EQ(server_->counters().opened, 0u);
}

// An agent that trusts another authority sends nothing to this controller.
TEST_F(TlsStreamTest, AnAgentKnowsItsController) {
  TlsFiles files = FilesOf("cluster", "h0");
  files.ca = FilesOf("other", "h1").ca;
  const auto client = Connect(files);
  ClientEvents events(client.get(), server_.get());
  EXPECT_TRUE(std::holds_alternative<StreamClosed>(events.Next()));
}

// The authority, the controller's certificate and its key are all replaced while it runs.
TEST_F(TlsStreamTest, ReplacedFilesAreUsedWithoutARestart) {
  const TlsFiles own = FilesOf("cluster", "c1");
  auto server =
      ControllerServer::Start({.listen = {"127.0.0.1:0"}, .tls = own, .tls_refresh = std::chrono::milliseconds(1000)});
  ASSERT_TRUE(server.ok()) << server.status().message();
  server_ = std::move(server).value();
  const TlsFiles next = FilesOf("next", "c1");
  const TlsFiles host = FilesOf("next", "h0");
  for (const auto& [from, to] :
       {std::pair(next.key, own.key), std::pair(next.certificate, own.certificate), std::pair(next.ca, own.ca)}) {
    fs::rename(from, to);
  }
  TlsFiles trusting = host;
  trusting.ca = own.ca;
  const auto end = std::chrono::steady_clock::now() + kLongWait;
  bool is_in = false;
  while (!is_in && std::chrono::steady_clock::now() < end) {
    const auto client = Connect(trusting);
    ClientEvents events(client.get(), server_.get());
    is_in = std::holds_alternative<StreamOpened>(events.Next());
  }
  EXPECT_TRUE(is_in);
}

TEST_F(TlsStreamTest, ARevokedCertificateIsNotLetInAndItsStreamEnds) {
  const std::string folder = folder_.File("cluster");
  const TlsFiles first = FilesOf("cluster", "h0");
  const TlsFiles second = FilesOf("cluster", "h1");
  const TlsFiles kept = FilesOf("cluster", "h2");
  TlsFiles stolen = first;
  for (std::string* file : {&stolen.certificate, &stolen.key}) {
    fs::copy_file(*file, *file + ".stolen");
    *file += ".stolen";
  }
  const auto list = RevokeCertificate(folder, "h1");
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_FALSE(fs::exists(second.certificate));
  TlsFiles own = FilesOf("cluster", "c1");
  own.revoked = *list;
  auto server =
      ControllerServer::Start({.listen = {"127.0.0.1:0"}, .tls = own, .patience = std::chrono::milliseconds(4000)});
  ASSERT_TRUE(server.ok()) << server.status().message();
  server_ = std::move(server).value();
  const auto client = Connect(stolen);
  const auto other = Connect(kept);
  ClientEvents events(client.get(), server_.get());
  ClientEvents other_events(other.get(), server_.get());
  events.NextOf<StreamOpened>();
  client->Send(HelloOf("h0"));
  other_events.NextOf<StreamOpened>();
  other->Send(HelloOf("h2"));
  ASSERT_TRUE(RevokeCertificate(folder, "h0").ok());
  events.NextOf<StreamClosed>();
  for (int i = 0; i < 50 && server_->counters().num_streams > 1; ++i) server_->Serve(std::chrono::milliseconds(100));
  EXPECT_EQ(server_->counters().num_streams, 1u) << "of the host whose certificate was not revoked";
  // Others cannot put an own list in its place.
  FilesOf("other", "h0");
  fs::copy_file(RevokeCertificate(folder_.File("other"), "h0").value(), *list, fs::copy_options::overwrite_existing);
  for (int i = 0; i < 20 && server_->status().ok(); ++i) server_->Serve(std::chrono::milliseconds(200));
  EXPECT_FALSE(server_->status().ok());
  ASSERT_TRUE(CreateHostCertificate({.folder = folder, .host = "h0"}).ok()) << "another one for the same host";
}

// The certificate of a controller that was broken into, in the hands of somebody else.
TEST_F(TlsStreamTest, AnAgentLeavesARevokedControllerAndDoesNotComeBack) {
  const std::string folder = folder_.File("cluster");
  TlsFiles stolen = FilesOf("cluster", "c1");
  for (std::string* file : {&stolen.certificate, &stolen.key}) {
    fs::copy_file(*file, *file + ".stolen");
    *file += ".stolen";
  }
  FilesOf("cluster", "h9");
  const auto list = RevokeCertificate(folder, "h9");
  ASSERT_TRUE(list.ok()) << list.status().message();
  auto false_controller = ControllerServer::Start({.listen = {"127.0.0.1:0"}, .tls = stolen});
  ASSERT_TRUE(false_controller.ok()) << false_controller.status().message();
  server_ = std::move(false_controller).value();
  const std::string address = server_->addresses()[0];
  TlsFiles own = FilesOf("cluster", "h0");
  const auto unaware = Connect(own);
  own.revoked = *list;
  auto aware = ControllerClient::Start({.address = address, .tls = own, .delay_max = std::chrono::milliseconds(400)});
  ASSERT_TRUE(aware.ok()) << aware.status().message();
  const std::unique_ptr<ControllerClient> client = std::move(aware).value();
  ClientEvents events(client.get(), server_.get());
  ClientEvents unaware_events(unaware.get(), server_.get());
  events.NextOf<StreamOpened>();
  unaware_events.NextOf<StreamOpened>();

  ASSERT_TRUE(RevokeCertificate(folder, "c1").ok());
  EXPECT_NE(events.NextOf<StreamClosed>().reason.find("revoked"), std::string::npos);
  EXPECT_FALSE(client->Send(HelloOf("h0")));
  for (int i = 0; i < 3; ++i) {
    const ClientEvent event = events.Next();
    ASSERT_TRUE(std::holds_alternative<StreamClosed>(event)) << "it was not let in again";
    EXPECT_NE(std::get<StreamClosed>(event).reason.find("revoked"), std::string::npos);
  }
  EXPECT_TRUE(server_->TakeInputs(std::chrono::milliseconds(0)).empty()) << "nothing was said to it";
  // The agent is done with a connection before the controller has seen its end.
  for (int i = 0; i < 6000 && server_->counters().num_streams > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server_->counters().num_streams, 1u) << "of the agent without a list";

  // Others cannot put an own list in its place, which would let it in again.
  FilesOf("other", "h0");
  fs::copy_file(RevokeCertificate(folder_.File("other"), "h0").value(), *list, fs::copy_options::overwrite_existing);
  EXPECT_TRUE(std::holds_alternative<StreamClosed>(events.Next()));

  // The right one, which has got another certificate.
  server_.reset();
  auto controller = ControllerServer::Start({.listen = {address}, .tls = FilesOf("cluster", "c1")});
  ASSERT_TRUE(controller.ok()) << controller.status().message();
  server_ = std::move(controller).value();
  ClientEvents later(client.get(), server_.get());
  later.NextOf<StreamOpened>();
}

TEST_F(TlsStreamTest, AListThatCannotBeUsedIsAnErrorAtTheStart) {
  const TlsFiles own = FilesOf("cluster", "h0");
  TlsFiles files = own;
  files.revoked = folder_.File("none.crl");
  EXPECT_EQ(ControllerClient::Start({.address = "127.0.0.1:1", .tls = files}).status().code(),
            StatusCode::kUnavailable);
  FilesOf("other", "h1");
  files.revoked = RevokeCertificate(folder_.File("other"), "h1").value();
  const Status foreign = ControllerClient::Start({.address = "127.0.0.1:1", .tls = files}).status();
  EXPECT_EQ(foreign.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(foreign.message().find("not signed by the cluster's authority"), std::string::npos);
  TlsFiles alone;
  alone.revoked = files.revoked;
  EXPECT_EQ(ControllerClient::Start({.address = "127.0.0.1:1", .tls = alone}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(ClusterCertificatesTest, AListThatCannotBeUsedAnyMoreIsSaid) {
  TlsFiles files = FilesOf("cluster", "h0");
  FilesOf("cluster", "h1");
  files.revoked = RevokeCertificate(folder_.File("cluster"), "h1").value();
  CertificateWatch watch(files);
  const int64_t now = std::time(nullptr);
  EXPECT_FALSE(watch.Look(now).has_value());
  fs::remove(files.revoked);
  const auto fault = watch.Look(now + 61);
  ASSERT_TRUE(fault.has_value());
  EXPECT_NE(fault->find(files.revoked), std::string::npos) << *fault;
  EXPECT_FALSE(watch.Look(now + 62).has_value()) << "said once";
  FilesOf("cluster", "h2");
  ASSERT_TRUE(RevokeCertificate(folder_.File("cluster"), "h2").ok());
  EXPECT_FALSE(watch.Look(now + 123).has_value());
  fs::remove(files.revoked);
  EXPECT_TRUE(watch.Look(now + 184).has_value()) << "of each time";
}

TEST_F(ClusterCertificatesTest, RevocationsAddUp) {
  const std::string folder = folder_.File("cluster");
  std::vector<std::string> serials;
  for (const char* host : {"h0", "h1"}) {
    std::ifstream file(FilesOf("cluster", host).certificate);
    serials.push_back(SerialOf({std::istreambuf_iterator<char>(file), {}}).value());
    ASSERT_TRUE(RevokeCertificate(folder, host).ok());
  }
  EXPECT_EQ(RevokeCertificate(folder, "h0").status().code(), StatusCode::kNotFound) << "it is revoked";
  EXPECT_EQ(RevokeCertificate(folder, "../h0").status().code(), StatusCode::kInvalidArgument);
  RevocationFile list(folder + "/ca.crl", folder + "/ca.pem");
  EXPECT_EQ(list.Refresh().value(), true);
  EXPECT_EQ(list.Refresh().value(), false) << "nothing has changed";
  for (const std::string& serial : serials) EXPECT_TRUE(list.Contains(serial));
  EXPECT_FALSE(list.Contains("00"));
}

TEST_F(ClusterCertificatesTest, AnEndThatComesNearIsSaidInTime) {
  const std::string folder = folder_.File("cluster");
  ASSERT_TRUE(CreateAuthority({.folder = folder}).ok());
  const auto made = CreateHostCertificate({.folder = folder, .host = "h0", .days = 100});
  ASSERT_TRUE(made.ok());
  const TlsFiles files = {.ca = folder + "/ca.pem", .certificate = made->certificate, .key = made->key};
  CertificateWatch watch(files);
  constexpr int64_t kDay = 86'400;
  const int64_t now = std::time(nullptr);
  EXPECT_FALSE(watch.Look(now).has_value());
  ASSERT_TRUE(watch.expires_s().has_value());
  const int64_t end = *watch.expires_s();
  EXPECT_NEAR(static_cast<double>(end - now), 100.0 * kDay, 10);
  EXPECT_TRUE(watch.Look(end - 20 * kDay).has_value());
  EXPECT_FALSE(watch.Look(end - 19 * kDay).has_value()) << "said once";
  EXPECT_TRUE(watch.Look(end - 5 * kDay).has_value());
  EXPECT_TRUE(watch.Look(end - kDay / 2).has_value());
  const auto expired = watch.Look(end + 61);
  ASSERT_TRUE(expired.has_value());
  EXPECT_NE(expired->find("has expired"), std::string::npos);
  EXPECT_TRUE(watch.Look(end + 2 * kDay).has_value()) << "said each day";
  fs::remove(made->certificate);
  EXPECT_TRUE(watch.Look(end + 3 * kDay).has_value());
  EXPECT_FALSE(CertificateWatch(TlsFiles()).Look(now).has_value());
}

TEST_F(TlsStreamTest, FilesThatAreMissingOrOpenToOthersAreErrors) {
  TlsFiles files = FilesOf("cluster", "h0");
  chmod(files.key.c_str(), 0640);
  EXPECT_EQ(ControllerClient::Start({.address = "10.0.0.1:1", .tls = files}).status().code(),
            StatusCode::kInvalidArgument);
  files.key.clear();
  EXPECT_EQ(ControllerClient::Start({.address = "10.0.0.1:1", .tls = files}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fairlead::service
