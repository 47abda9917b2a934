-- JobSubmitPlugins=lua, in the folder of slurm.conf: elastic jobs (fairlead_jobs.lua), and nothing else.
local found, fairlead = pcall(dofile, "/usr/share/fairlead/integrations/slurm/fairlead_jobs.lua")
if not found then slurm.log_info("fairlead: " .. tostring(fairlead)) end

-- fairlead.partitions = {"train"}
-- fairlead.alive_file = "/run/fairlead-controller/alive"

function slurm_job_submit(job, parts, user)
  if found then fairlead.submit(job, parts) end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, parts, user) return slurm.SUCCESS end

return slurm.SUCCESS
