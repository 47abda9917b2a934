#include "telemetry/kernel_message.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace fairlead::telemetry {
namespace {

using model::HostSymptom;

struct Case {
  const char* message;
  std::optional<HostSymptom> symptom;
  const char* device = "";
};

// As they stand in logs; addresses and names are changed.
const Case kCases[] = {
    {"NVRM: Xid (PCI:0000:3b:00): 79, pid=2412, name=python3, GPU has fallen off the bus.", HostSymptom::kGpuLost,
     "0000:3b:00"},
    {"NVRM: GPU 0000:3B:00.0: GPU has fallen off the bus.", HostSymptom::kGpuLost, "0000:3b:00"},
    {"NVRM: Xid (PCI:0000:AF:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error",
     HostSymptom::kGpuMemoryError, "0000:af:00"},
    {"NVRM: Xid (0000:05:00): 95, Uncontained", HostSymptom::kGpuMemoryError, "0000:05:00"},
    {"NVRM: Xid (PCI:0000:05:00): 94, Contained: DBE", std::nullopt},
    {"NVRM: Xid (PCI:0000:05:00): 63, Row remapping event", std::nullopt},
    {"NVRM: Xid (PCI:0000:05:00): 31, pid=7, name=python3, MMU Fault", std::nullopt},
    {"NVRM: Xid (PCI:0000:05:00): 43, pid=7, name=python3, Ch 00000010", std::nullopt},
    {"NVRM: Xid (PCI:0000:05:00): 119, pid=7, Timeout after 6s of waiting for RPC response from GPU0 GSP!",
     HostSymptom::kGpuError, "0000:05:00"},
    {"NVRM: Xid (PCI:0000:05:00): 74, NVLink: fatal error detected on link 3", HostSymptom::kNvlinkError, "0000:05:00"},
    {"NVRM: Xid (PCI:0000:05:00): 145, RLW_CTRL Fatal XC0 i0 Link 07", HostSymptom::kNvlinkError, "0000:05:00"},
    {"NVRM: Xid (PCI:0000:05:00): 145, RLW_REMAP Nonfatal XC1 i0 Link -1", std::nullopt},
    {"NVRM: Xid (PCI:0000:05:00): 1790, no such", std::nullopt},
    {"NVRM: Xid (PCI:0000:05:00): ", std::nullopt},
    {"mlx5_core 0000:5e:00.0 eth2: Link down", HostSymptom::kLinkDown, "eth2"},
    {"mlx5_core 0000:5e:00.0 eth2: Link up", std::nullopt},
    {"ixgbe 0000:5e:00.0 eth2: NIC Link is Down", HostSymptom::kLinkDown, "eth2"},
    {"mlx5_core 0000:5e:00.0: poll_health:800:(pid 0): device's health compromised - reached miss count",
     HostSymptom::kNicErrors, "0000:5e:00"},
    {"mlx5_core 0000:5e:00.0: mlx5_cmd_out_err:808: ACCESS_REG(0x805) op_mod(0x1) failed, status bad parameter",
     std::nullopt},
    {"NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 3 timed out", HostSymptom::kNicErrors, "eth2"},
    {"nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
     HostSymptom::kPcieError, "0000:3b:00"},
    {"nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer", std::nullopt},
    {"Out of memory: Killed process 2412 (python3) total-vm:90134kB", HostSymptom::kOutOfMemory},
    {"Memory cgroup out of memory: Killed process 2412 (python3)", HostSymptom::kOutOfMemory},
    {"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,task=python3,pid=2412,uid=1001",
     HostSymptom::kOutOfMemory},
    {"INFO: task python3:2412 blocked for more than 120 seconds.", HostSymptom::kStalled},
    {"watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:2412]", HostSymptom::kStalled},
    {"nvme nvme0: I/O 5 QID 3 timeout, reset controller", HostSymptom::kStalled},
    {"nfs: server storage1 not responding, still trying", HostSymptom::kStalled},
    {"EXT4-fs (vda): mounted filesystem", std::nullopt},
    {"", std::nullopt},
};

TEST(KernelMessageTest, MessagesAreReadAsTheCatalogueSays) {
  for (const Case& c : kCases) {
    const auto read = ReadKernelMessage(c.message);
    ASSERT_EQ(read.has_value(), c.symptom.has_value()) << c.message;
    if (!read.has_value()) continue;
    EXPECT_EQ(read->symptom, *c.symptom) << c.message;
    EXPECT_EQ(read->device, c.device) << c.message;
  }
}

TEST(KernelMessageTest, RecordsOfProgramsAreNotTheKernels) {
  EXPECT_EQ(ReadKernelRecord("3,1234,5678,-;NVRM: Xid\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"), "NVRM: Xid");
  EXPECT_EQ(ReadKernelRecord("6,1,2,-,caller=T1;text"), "text");
  EXPECT_FALSE(ReadKernelRecord("11,1234,5678,-;NVRM: Xid").has_value())
      << "facility 1: a program with the right to write";
  EXPECT_FALSE(ReadKernelRecord("NVRM;x").has_value());
  EXPECT_FALSE(ReadKernelRecord("3,1").has_value());
  EXPECT_FALSE(ReadKernelRecord("").has_value());
}

TEST(KernelMessageTest, CutAndChangedMessagesDoNoHarm) {
  Random random(1);
  for (int run = 0; run < 20'000; ++run) {
    std::string message = kCases[random.Below(std::size(kCases))].message;
    for (uint64_t change = random.Below(4); change > 0 && !message.empty(); --change) {
      const size_t at = random.Below(message.size());
      if (random.Below(2) == 0) {
        message.resize(at);
      } else {
        message[at] = static_cast<char>(random.Below(256));
      }
    }
    const auto read = ReadKernelMessage(message);
    if (read.has_value()) {
      EXPECT_LE(read->device.size(), message.size());
    }
  }
}

}  // namespace
}  // namespace fairlead::telemetry
