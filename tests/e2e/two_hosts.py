"""A fabric of two hosts and the addresses of their NICs, for tests of `fairlead controller`."""

FABRIC = """fabric:
  kind: clos2
  leaves: 2
  hosts_per_leaf: 1
  spines: 2
  uplink_gbps: 100
  host: {gpus: 1, nics: 1, ports_per_nic: 1, port_gbps: 100}
"""
ADDRESSES = {"nics": {"127.0.0.1": "h0/nic0", "127.0.1.1": "h1/nic0"}, "interfaces": {}}
