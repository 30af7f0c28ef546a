import { writeFileSync } from 'node:fs'
import type { Variables } from '../../../src/config/env.ts'
import { freePort } from '../../harness/postgres.ts'
import type { CheckName } from './checks.ts'
import { type Place, type Started, start } from './processes.ts'
import type { Rig } from './workspace.ts'

export interface Gateway extends Started {
  operationsUrl: string
  /** Null without `--profile`. */
  profiling: string | null
}

export interface LoggedGateway extends Gateway {
  /** The path of the log file. */
  log: string
}

export interface GatewayOptions {
  name?: string
  place?: Place
  /** Such as DATABASE_URL, PORTICO_DATA_DIR and SMTP_URL. */
  variables?: Variables
  /** Overrides the benchmark's configuration file. */
  configuration?: object
  profile?: boolean
  /** Options of Node.js for the built program. */
  nodeOptions?: readonly string[]
  /** Of `portico serve`, such as `--workers`. */
  serveOptions?: readonly string[]
  /** Runs the sources, without this check (without.ts). Null keeps all checks. */
  without?: CheckName | null
}

const profiler = import.meta.resolve('./profiler.ts')
const withoutCheck = import.meta.resolve('./without.ts')

/** The profile of the TypeScript sources shows their file names. */
function commandLine(preloads: readonly string[], nodeOptions: readonly string[]): string[] {
  return preloads.length > 0
    ? [...preloads.flatMap((file) => ['--import', file]), 'src/cli.ts', 'serve']
    : [...nodeOptions, 'bin/portico.js', 'serve']
}

/** Starts a gateway with all features and a log file. Only PORTICO_RATE_LIMIT_SCALE differs from production. */
export async function startGateway(rig: Rig, options: GatewayOptions = {}): Promise<LoggedGateway> {
  const {
    name = 'portico',
    place = 'measured',
    variables = {},
    configuration = {},
    profile = false,
    nodeOptions = [],
    serveOptions = [],
    without,
  } = options
  const [port, operationsPort] = [await freePort(), await freePort()]
  const file = rig.file(`${name}-${port}.yaml`)
  writeFileSync(file, JSON.stringify(configuration))
  const profiling = profile ? rig.file(`${name}-${port}.cpuprofile`) : null
  const log = rig.file(`${name}-${port}.log`)
  const preloads = [...(profile ? [profiler] : []), ...(without === undefined ? [] : [withoutCheck])]
  const started = await start({
    name,
    place,
    command: process.execPath,
    args: [...commandLine(preloads, nodeOptions), ...serveOptions],
    port,
    log,
    env: {
      OPS_PORT: String(operationsPort),
      PORTICO_CONFIG: file,
      PORTICO_DATA_DIR: rig.file(`${name}-${port}`),
      PORTICO_RATE_LIMIT_SCALE: '1000000',
      LOG_LEVEL: 'info',
      ...(profiling && { BENCH_PROFILE: profiling }),
      ...(without && { BENCH_WITHOUT: without }),
      ...variables,
    },
  })
  return rig.stopAtEnd({ ...started, operationsUrl: `http://127.0.0.1:${operationsPort}`, log, profiling })
}
