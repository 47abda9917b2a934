// fairlead cert: keys for mutual TLS between the controller and the agents of a cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "report/json_value.h"
#include "service/streams/cluster_certificates.h"

namespace fairlead::cli {
namespace {

struct CertCommandOptions {
  service::AuthorityOptions authority;
  service::HostCertificateOptions host;
  std::string json;
};

int Report(const Result<service::CertificateFiles>& files, const std::string& json, const std::string& next) {
  if (!files.ok()) return ReportError(files.status());
  if (!IsStdout(json)) fmt::print("made {} and {}\n{}\n", files->certificate, files->key, next);
  if (json.empty()) return kExitOk;
  const Status written =
      WriteOutput(json, report::Dump(report::Json{{"certificate", files->certificate}, {"key", files->key}}));
  return written.ok() ? kExitOk : ReportError(written);
}

void AddJsonOption(CLI::App* command, CertCommandOptions* options) {
  command->add_option("--json", options->json, "Write the names of the files as JSON to FILE; - prints only JSON")
      ->type_name("FILE");
}

}  // namespace

void AddCertCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* cert = app.add_subcommand("cert", "Create certificates for mutual TLS between controller and agents.");
  cert->footer("Example: fairlead cert init keys && fairlead cert host keys controller --address 10.0.0.1");
  cert->require_subcommand(1);
  auto options = std::make_shared<CertCommandOptions>();
  CLI::App* init = cert->add_subcommand("init", "Create the certificate authority of a cluster.");
  init->add_option("folder", options->authority.folder, "Folder for its files")->required();
  init->add_option("--name", options->authority.name, "Name of the cluster")->capture_default_str();
  init->add_option("--days", options->authority.days, "Days of validity")->capture_default_str();
  AddJsonOption(init, options.get());
  init->footer("Example: fairlead cert init /etc/fairlead/keys");
  init->callback([options, invocation] {
    invocation->exit_code = Report(service::CreateAuthority(options->authority), options->json,
                                   fmt::format("next: {} cert host {} HOST", CalledAs(), options->authority.folder));
  });
  CLI::App* host = cert->add_subcommand("host", "Create the certificate of a host or of the controller.");
  host->add_option("folder", options->host.folder, "The folder of the authority")->required();
  host->add_option("host", options->host.host, "Name of the host in the fabric file, or `controller`")->required();
  host->add_option("--address", options->host.addresses,
                   "Address or name by which others reach it; required for the controller")
      ->type_name("ADDRESS");
  host->add_option("--days", options->host.days, "Days of validity")->capture_default_str();
  AddJsonOption(host, options.get());
  host->footer(
      "Example: fairlead cert host /etc/fairlead/keys controller --address 10.0.0.1\nCopy the host's two files and "
      "ca.pem to the host. Never copy ca-key.pem.");
  host->callback([options, invocation] {
    invocation->exit_code = Report(service::CreateHostCertificate(options->host), options->json,
                                   "the host needs these two and ca.pem; only this command needs ca-key.pem");
  });
  CLI::App* revoke = cert->add_subcommand("revoke", "Revoke the certificate of a host that was lost or broken into.");
  revoke->add_option("folder", options->host.folder, "The folder of the authority")->required();
  revoke->add_option("host", options->host.host, "Name of the host")->required();
  revoke->footer(
      "Example: fairlead cert revoke /etc/fairlead/keys h7\nGive the list to the controller and to agents with "
      "--tls-revoked; they reread it when it changes.");
  revoke->callback([options, invocation] {
    const auto list = service::RevokeCertificate(options->host.folder, options->host.host);
    if (list.ok()) fmt::print("revoked; controller and agents need {} (--tls-revoked)\n", *list);
    invocation->exit_code = list.ok() ? kExitOk : ReportError(list.status());
  });
}

}  // namespace fairlead::cli
