"""What the links of a lab have carried."""
import json


def sent_between_switches(status):
    """{link between switches: bytes} of each direction, since the lab came up. status: what `lab status --json -` prints."""
    sent = {}
    for cable in json.loads(status)["cables"]:
        lower, upper = cable["name"].split("-")
        if lower.startswith("leaf"):
            sent[f"{lower}->{upper}"], sent[f"{upper}->{lower}"] = cable["sent_bytes"]
    return sent
