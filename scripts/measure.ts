/*
 * Start-up to ready and memory when idle, of the gateway as a process of its own, on each store: `npm run measure`.
 * Times are of the second start, on a store that exists; memory is the resident set a while after ready (and after some
 * hundred requests), as the operating system counts it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, stdout } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { requiredHeaders } from '../test/harness/http.ts'
import { freePort, startPostgres } from '../test/harness/postgres.ts'
import { startRedis } from '../test/harness/redis.ts'

const idleMs = Number(argv[2] ?? 5_000)
const cli = new URL('../src/cli.ts', import.meta.url).pathname

const residentMegabytes = async ({ pid }: ChildProcess): Promise<number> => {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))
  return Math.round(Number(line?.[1]) / 1_000)
}

interface Figures {
  readyMs: number
  idleMb: number
  usedMb: number
}

const start = async (variables: Record<string, string>): Promise<Figures> => {
  const [port, operationsPort] = [await freePort(), await freePort()]
  const begun = performance.now()
  const child = spawn(process.execPath, ['--max-semi-space-size=8', cli, 'serve'], {
    env: {
      ...process.env,
      PORT: String(port),
      OPS_PORT: String(operationsPort),
      LOG_LEVEL: 'error',
      PORTICO_RATE_LIMIT_SCALE: '1000',
      NODE_COMPILE_CACHE: cache,
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
  const readyMs = Math.round(performance.now() - begun)
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

const tell = (name: string, { readyMs, idleMb, usedMb }: Figures) =>
  stdout.write(
    `${name.padEnd(44)} ready in ${String(readyMs).padStart(5)} ms   idle ${idleMb} MB   used ${usedMb} MB\n`,
  )

// As in the image, where it is made when the image is.
const cache = await mkdtemp(join(tmpdir(), 'portico-compiled-'))
const directory = await mkdtemp(join(tmpdir(), 'portico-measure-'))
tell('embedded store, new', await start({ PORTICO_DATA_DIR: directory }))
tell('embedded store, existing', await start({ PORTICO_DATA_DIR: directory }))
const postgres = await startPostgres()
const redis = await startRedis()
if (postgres) {
  const variables = { DATABASE_URL: postgres.url, PORTICO_DATA_DIR: directory, ...(redis && { REDIS_URL: redis.url }) }
  tell('PostgreSQL, new database', await start(variables))
  tell('PostgreSQL', await start(variables))
}
await redis?.stop()
await postgres?.stop()
for (const folder of [directory, cache]) await rm(folder, { recursive: true, force: true })
