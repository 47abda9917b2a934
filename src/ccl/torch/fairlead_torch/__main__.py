"""python3 -m fairlead_torch [-m] PROGRAM ARGUMENT…: runs a program, or with -m a module, and watches it.

Example: FAIRLEAD_JOB=gpt torchrun --nproc_per_node=4 -m fairlead_torch train.py --epochs 3
"""
import os
import runpy
import sys

import fairlead_torch


def main():
    words = sys.argv[1:]
    is_module = words[:1] == ["-m"]
    words = words[is_module:]
    if not words or words[0] in ("-h", "--help"):
        print(__doc__, file=sys.stdout if words else sys.stderr)
        sys.exit(0 if words else 2)
    sys.argv = words
    fairlead_torch.watch()
    if is_module:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


main()
