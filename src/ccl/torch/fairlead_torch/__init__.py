"""Tells Fairlead's agent what a PyTorch job without NCCL is doing: collectives of torch.distributed on Gloo.

One line in the program, before the process group is made, or none:

    import fairlead_torch; fairlead_torch.watch()
    python3 -m fairlead_torch train.py ARGUMENT…

Operations go to libnccl-profiler-fairlead.so as NCCL would tell it of its own, and on to the host's agent from there.
Without that library, or after any error in here, the program runs as it does without us, with one warning.
docs/internals/modules/ccl.md says what is seen and what is not.
"""
from fairlead_torch.watching import watch

__all__ = ["watch"]
