/*
 * Measures start time and memory on each store: `npm run measure [starts] [idleMs]`. Prints medians next to their
 * targets. Starts use an existing store and a warm compile cache. Memory is the resident set after `idleMs`, and after
 * 500 requests.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, stdout } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { requiredHeaders } from '../test/harness/http.ts'
import { freePort, startPostgres } from '../test/harness/postgres.ts'
import { startRedis } from '../test/harness/redis.ts'

const starts = Number(argv[2] ?? 5)
const idleMs = Number(argv[3] ?? 3_000)
const cli = fileURLToPath(new URL('../bin/portico.js', import.meta.url))

async function residentMegabytes({ pid }: ChildProcess): Promise<number> {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))
  return Math.round(Number(line?.[1]) / 1_000)
}

interface Figures {
  readyMs: number
  idleMb: number
  usedMb: number
}

async function start(variables: Record<string, string>): Promise<Figures> {
  const [port, operationsPort] = [await freePort(), await freePort()]
  const startedAt = performance.now()
  const child = spawn(process.execPath, [cli, 'serve'], {
    env: {
      ...process.env,
      PORT: String(port),
      OPS_PORT: String(operationsPort),
      LOG_LEVEL: 'error',
      PORTICO_RATE_LIMIT_SCALE: '1000',
      ...variables,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const isReady = () =>
    fetch(`http://127.0.0.1:${operationsPort}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('the gateway did not start')
    await pause(10)
  }
  const readyMs = Math.round(performance.now() - startedAt)
  await pause(idleMs)
  const idleMb = await residentMegabytes(child)
  const path = '/web/v1/consumer/constants/timezones'
  for (let count = 0; count < 500; count++)
    await (await fetch(`http://127.0.0.1:${port}${path}`, { headers: requiredHeaders() })).arrayBuffer()
  await pause(idleMs)
  const usedMb = await residentMegabytes(child)
  child.kill('SIGTERM')
  await once(child, 'exit')
  return { readyMs, idleMb, usedMb }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}

function report(name: string, runs: readonly Figures[], target: { readyMs: number; idleMb: number | null }) {
  const medianOf = (field: keyof Figures) => median(runs.map((run) => run[field]))
  const memory = target.idleMb === null ? '' : ` (${target.idleMb})`
  stdout.write(
    `${name.padEnd(26)} ready in ${medianOf('readyMs')} ms (${target.readyMs})   idle ${medianOf('idleMb')} MB${memory}   used ${medianOf('usedMb')} MB\n`,
  )
}

const directories = await Promise.all(['embedded', 'server'].map((each) => mkdtemp(join(tmpdir(), `portico-${each}-`))))
const [embedded = '', server = ''] = directories
const postgres = await startPostgres()
const redis = await startRedis()
const stores = [
  { name: 'embedded store', variables: { PORTICO_DATA_DIR: embedded }, target: { readyMs: 1_500, idleMb: null } },
  ...(postgres
    ? [
        {
          name: 'PostgreSQL and Redis',
          variables: { PORTICO_DATA_DIR: server, DATABASE_URL: postgres.url, ...(redis && { REDIS_URL: redis.url }) },
          target: { readyMs: 1_000, idleMb: 180 },
        },
      ]
    : []),
].map((store) => ({ ...store, runs: [] as Figures[] }))

// The first start creates the store and the compile cache.
for (const { variables } of stores) await start(variables)
for (let run = 0; run < starts; run++) for (const { variables, runs } of stores) runs.push(await start(variables))
stdout.write(`medians of ${starts} starts (targets in brackets), load average ${loadavg()[0]?.toFixed(1)}\n`)
for (const { name, runs, target } of stores) report(name, runs, target)
await redis?.stop()
await postgres?.stop()
for (const folder of directories) await rm(folder, { recursive: true, force: true })
