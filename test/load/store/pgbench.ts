import { writeFile } from 'node:fs/promises'
import { pgbenchScript, schema } from '../peers/plain-transfer.ts'
import { runToEnd } from '../rig/processes.ts'
import type { Rig } from '../rig/workspace.ts'
import { databaseUrl, statement } from './stores.ts'

/** Uses the same PostgreSQL server and all cores. */
export async function preparePgbench(rig: Rig, serverUrl: string, clients: number) {
  await statement(serverUrl, 'CREATE DATABASE bench_plain')
  const url = databaseUrl(serverUrl, 'bench_plain')
  for (const each of schema) await statement(url, each)
  const script = rig.file('transfer.pgbench')
  await writeFile(script, pgbenchScript)
  return async (seconds: number) => {
    const fixed = ['-n', '-M', 'prepared', '-c', String(clients), '-j', '2', '-T', String(seconds), '-f', script]
    const text = await runToEnd('anywhere', 'pgbench', [...fixed, url])
    const done = Number(/actually processed: (\d+)/.exec(text)?.[1] ?? 0)
    const failed = Number(/failed transactions: (\d+)/.exec(text)?.[1] ?? 0)
    const perSecond = Number(/tps = ([\d.]+)/.exec(text)?.[1] ?? Number.NaN)
    if (done === 0 || failed > 0) throw new Error(`pgbench: ${text}`)
    return { done, seconds: done / perSecond, latencies: [] }
  }
}
