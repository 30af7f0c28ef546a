/*
 * Starts a temporary PostgreSQL, the domains as a service on port 8081, and a gateway on PORT and OPS_PORT (8080 and
 * 9090). Ctrl-C stops and deletes everything.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stderr, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { readVariables } from '../src/config/env.ts'
import { startPostgres } from '../test/harness/postgres.ts'

const { PORT = '8080', OPS_PORT = '9090' } = readVariables()
const operations = `http://127.0.0.1:${OPS_PORT}`
const cli = fileURLToPath(new URL('../bin/portico.js', import.meta.url))

function start(role: string, variables: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [cli, 'serve', '--role', role], {
    env: { ...process.env, ...variables },
    stdio: 'inherit',
  })
}

const postgres = await startPostgres()
if (!postgres) {
  stderr.write('PostgreSQL not found: install its server, and add the folder of `postgres` to PATH\n')
  process.exit(1)
}
const folder = await mkdtemp(join(tmpdir(), 'portico-split-'))
const writeConfiguration = async (name: string, yaml: string) => {
  const PORTICO_CONFIG = join(folder, name)
  await writeFile(PORTICO_CONFIG, yaml)
  return { DATABASE_URL: postgres.url, PORTICO_CONFIG }
}
const gatewayVariables = await writeConfiguration(
  'gateway.yaml',
  'backends: { default: { url: http://127.0.0.1:8081 } }\n',
)
const domainVariables = await writeConfiguration(
  'domains.yaml',
  `assertion: { jwksUrl: ${operations}/.well-known/jwks.json }\n`,
)
const gateway = start('gateway', { ...gatewayVariables, PORT, OPS_PORT })
const domains = start('domains', { ...domainVariables, PORT: '8081', OPS_PORT: '9091' })
stdout.write(
  `gateway on http://127.0.0.1:${PORT}, domains on http://127.0.0.1:8081, mails on ${operations}/mail. Press Ctrl-C to stop.\n`,
)

function stop() {
  for (const child of [gateway, domains]) if (child.exitCode === null) child.kill('SIGTERM')
}
process.once('SIGINT', stop).once('SIGTERM', stop)
const ends = [gateway, domains].map((child) => once(child, 'exit'))
await Promise.race(ends)
stop()
const codes = await Promise.all(ends)
await postgres.stop()
await rm(folder, { recursive: true, force: true })
// A process that ended before the signal has failed.
process.exitCode = codes.every(([code]) => code === 0) ? 0 : 1
