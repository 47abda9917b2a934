#!/bin/bash
#SBATCH --nodes=2-8 --ntasks-per-node=4 --gpus-per-node=4
#SBATCH --comment=fairlead --open-mode=append --signal=B:USR1@60
# For tests of `fairlead job check`: keeps the contract of elastic jobs.
trap 'scancel --signal=USR1 $SLURM_JOB_ID' USR1
srun python3 train.py &
wait
wait
