import { writeFileSync } from 'node:fs'
import type { Variables } from '../../../src/config/env.ts'
import { freePort } from '../../harness/postgres.ts'
import { type Place, type Started, start } from './processes.ts'
import type { Rig } from './workspace.ts'

export interface Gateway extends Started {
  operationsUrl: string
  /** Null without `--profile`. */
  profiling: string | null
}

export interface GatewayOptions {
  name?: string
  place?: Place
  /** Such as DATABASE_URL, PORTICO_DATA_DIR and SMTP_URL. */
  variables?: Variables
  /** Overrides the benchmark's configuration file. */
  configuration?: object
  profile?: boolean
}

const preload = import.meta.resolve('./profiler.ts')

/** Starts a gateway with all features and a log file. Only PORTICO_RATE_LIMIT_SCALE differs from production. */
export const startGateway = async (rig: Rig, options: GatewayOptions = {}): Promise<Gateway> => {
  const { name = 'portico', place = 'measured', variables = {}, configuration = {}, profile = false } = options
  const [port, operationsPort] = [await freePort(), await freePort()]
  const file = rig.file(`${name}-${port}.yaml`)
  writeFileSync(file, JSON.stringify(configuration))
  const profiling = profile ? rig.file(`${name}-${port}.cpuprofile`) : null
  const started = await start({
    name,
    place,
    command: process.execPath,
    // The profile of the TypeScript sources shows their file names.
    args: profile ? ['--import', preload, 'src/cli.ts', 'serve'] : ['bin/portico.js', 'serve'],
    port,
    log: rig.file(`${name}-${port}.log`),
    env: {
      OPS_PORT: String(operationsPort),
      PORTICO_CONFIG: file,
      PORTICO_DATA_DIR: rig.file(`${name}-${port}`),
      PORTICO_RATE_LIMIT_SCALE: '1000000',
      LOG_LEVEL: 'info',
      ...(profiling && { BENCH_PROFILE: profiling }),
      ...variables,
    },
  })
  return rig.stopAtEnd({ ...started, operationsUrl: `http://127.0.0.1:${operationsPort}`, profiling })
}
