-- Elastic jobs: which submissions are for Fairlead to size? For a job_submit.lua of Slurm (job_submit.lua beside this file
-- is one; a site with its own adds the lines that it has).
--
-- A job opts in with the word fairlead in its comment: --comment=fairlead, or --comment='{"fairlead": {"steps": 9000}}'.
-- It then keeps the contract of docs/operate/slurm.md: a range of nodes (-N 2-8), tasks by the node (--ntasks-per-node,
-- never -n), a batch script that may be requeued. One that breaks it is Slurm's as any other, and its user is told why.
--
-- An elastic job gets requeue=1 and admin_comment "fairlead:v1 nodes=MIN-MAX tasks-per-node=T", which users can't change.
-- It is held (and has "held" behind that) until Fairlead starts it only while Fairlead says that it is there: the controller writes the time (seconds
-- since 1970) into `alive_file`. A Fairlead that is away stops no job; fairlead-watchdog releases what was held before.
--
-- Nothing here raises an error or refuses a submission. Written for Lua 5.1 to 5.4: Slurm is built with any of them.
local fairlead = {
  -- Names of partitions whose jobs may opt in; nil: all.
  partitions = nil,
  -- nil: jobs are never held.
  alive_file = nil,
  -- Longer: a Fairlead that starts again holds jobs in the meantime. Shorter: its end is noticed sooner.
  alive_s = 60,
  -- More nodes than that are not asked for.
  max_nodes = 100000,
}

-- What Slurm has where nothing was said, in 16 and 32 bits.
local NO_VAL16, NO_VAL = 65534, 4294967294

local function number(value, unset)
  if type(value) ~= "number" or value == unset or value >= NO_VAL or value < 0 then return nil end
  return math.floor(value)
end

local function has_opted_in(job)
  return type(job.comment) == "string" and job.comment:find("%f[%w_]fairlead%f[^%w_]") ~= nil
end

local function default_partition(parts)
  for name, part in pairs(parts or {}) do
    if part.flag_default == 1 then return name end
  end
  return ""
end

-- A job may name several partitions, of which Slurm takes one.
local function is_open_to(partition, parts)
  if fairlead.partitions == nil then return true end
  if partition == nil or partition == "" then partition = default_partition(parts) end
  local open = {}
  for _, name in ipairs(fairlead.partitions) do open[name] = true end
  for name in partition:gmatch("[^,]+") do
    if not open[name] then return false end
  end
  return partition ~= ""
end

-- What says where, when or beside whom a job may start, and is Slurm's to keep: Fairlead names the nodes of elastic jobs
-- and starts them at once.
local WISHES = {
  req_nodes = "--nodelist", exc_nodes = "--exclude", features = "--constraint", reservation = "--reservation",
  dependency = "--dependency", licenses = "--licenses", tres_per_socket = "--gpus-per-socket",
}
local SHARED = { [1] = "--oversubscribe", [2] = "--exclusive=user", [3] = "--exclusive=mcs" }
local SPREAD_JOB = 256  -- of bitflags

local function wish(job)
  for field, option in pairs(WISHES) do
    if type(job[field]) == "string" and job[field] ~= "" then return option end
  end
  if type(job.begin_time) == "number" and job.begin_time > os.time() then return "--begin" end
  if job.contiguous == 1 then return "--contiguous" end
  if (number(job.req_switch, NO_VAL) or 0) > 0 then return "--switches" end
  local flags = job.bitflags
  if type(flags) == "number" and math.floor(flags / SPREAD_JOB) % 2 == 1 then return "--spread-job" end
  return SHARED[job.shared]
end

-- Why the job is not elastic; nil: it is.
local function fault(job, low, high, tasks)
  if type(job.script) ~= "string" or job.script == "" then return "it is no batch job" end
  if job.array_inx ~= nil and job.array_inx ~= "" then return "it is an array" end
  if number(job.het_job_offset, NO_VAL) ~= nil then return "it is a part of a heterogeneous job" end
  if low == nil or high == nil or low >= high then return "it asks for no range of nodes (-N 2-8)" end
  if high > fairlead.max_nodes then return "it asks for more than " .. fairlead.max_nodes .. " nodes" end
  if wish(job) ~= nil then return "it says where, when or beside whom it may start (" .. wish(job) .. ")" end
  if tasks == nil or tasks < 1 then return "it does not say how many tasks a node has (--ntasks-per-node)" end
  return nil
end

local function is_alive()
  if fairlead.alive_file == nil then return false end
  local file = io.open(fairlead.alive_file)
  if file == nil then return false end
  local at = file:read("*n")
  file:close()
  return type(at) == "number" and math.abs(os.time() - at) <= fairlead.alive_s
end

local function submit(job, parts)
  if not has_opted_in(job) or not is_open_to(job.partition, parts) then return end
  local low, high = number(job.min_nodes, NO_VAL), number(job.max_nodes, NO_VAL)
  local tasks = number(job.ntasks_per_node, NO_VAL16)
  local why = fault(job, low, high, tasks)
  if why ~= nil then
    slurm.log_user("fairlead: the job is not elastic: " .. why)
    return
  end
  job.requeue = 1
  job.admin_comment = string.format("fairlead:v1 nodes=%d-%d tasks-per-node=%d", low, high, tasks)
  -- A job that its user holds is not ours to release: Slurm itself does not tell the two apart later.
  if job.priority ~= 0 and is_alive() then
    job.priority = 0
    job.admin_comment = job.admin_comment .. " held"
  end
end

function fairlead.submit(job, parts)
  local ok, why = pcall(submit, job, parts)
  if not ok then slurm.log_info("fairlead: " .. tostring(why)) end
end

return fairlead
