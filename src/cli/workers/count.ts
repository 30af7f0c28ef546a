import { availableParallelism, totalmem } from 'node:os'
import type { Role } from '../../compose/index.ts'
import type { Configuration } from '../../config/index.ts'
import { UsageError } from '../command.ts'

/** Memory to grant per process, like docs/guides/deploy.md. */
const bytesPerWorker = 512 * 1024 * 1024
/** More than the cores of any machine. A typing error must not start thousands of processes. */
const maxWorkers = 256

interface Machine {
  cores: number
  bytes: number
}

/** Throws a UsageError if `option` is invalid, or if the configuration allows only one process. */
export function workerCount(
  option: unknown,
  settings: Pick<Configuration, 'databaseUrl' | 'redisUrl'>,
  role: Role,
  machine: Machine = thisMachine(),
): number {
  const obstacle = obstacleOf(settings, role)
  if (option === 'auto') return obstacle === null ? automatic(machine) : 1
  if (typeof option !== 'string' || !/^[1-9]\d{0,2}$/.test(option) || Number(option) > maxWorkers)
    throw new UsageError(`--workers must be auto or a number from 1 to ${maxWorkers}, not '${String(option)}'`)
  const count = Number(option)
  if (count > 1 && obstacle !== null) throw new UsageError(`--workers ${option}: ${obstacle}`)
  return count
}

/** Several workers are several replicas, so the same rules apply (src/compose/shared-state.ts). */
function obstacleOf({ databaseUrl, redisUrl }: Pick<Configuration, 'databaseUrl' | 'redisUrl'>, role: Role) {
  if (databaseUrl === null)
    return 'the embedded store serves one process only; set DATABASE_URL, or start with --workers 1'
  if (role === 'gateway' && redisUrl === null)
    return 'several gateways on one database need Redis; set REDIS_URL, or start with --workers 1'
  return null
}

function automatic({ cores, bytes }: Machine): number {
  return Math.min(maxWorkers, Math.max(1, Math.min(cores, Math.floor(bytes / bytesPerWorker))))
}

/** Both respect the limits of a container. */
function thisMachine(): Machine {
  const limit = process.constrainedMemory()
  return { cores: availableParallelism(), bytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem() }
}
