import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toolPath } from '../../../scripts/tool.ts'
import { onPath, runToEnd } from '../rig/processes.ts'

export interface Shot {
  method: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  body?: string
}

export interface Hits {
  requests: number
  seconds: number
  /** In milliseconds, like `p99`. */
  p50: number
  p99: number
  /** Responses other than 2xx, and broken connections. */
  failures: number
}

export const generator = onPath('wrk') ? 'wrk' : 'autocannon'

function milliseconds(text: string): number {
  const [, value = '0', unit = 'ms'] = /([\d.]+)(us|ms|s|m)/.exec(text) ?? []
  return Number(value) * ({ us: 0.001, ms: 1, s: 1000, m: 60_000 }[unit] ?? 1)
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0)
}

/** For header values and JSON bodies, Lua's escapes equal JSON's. */
function luaText(text: string): string {
  return JSON.stringify(text)
}

async function wrk(shot: Shot, connections: number, seconds: number): Promise<Hits> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-wrk-'))
  const script = join(folder, 'shot.lua')
  const headers = Object.entries(shot.headers).map(
    ([name, value]) => `wrk.headers[${luaText(name)}] = ${luaText(value)}`,
  )
  const body = shot.body === undefined ? [] : [`wrk.body = ${luaText(shot.body)}`]
  await writeFile(script, [`wrk.method = '${shot.method}'`, ...headers, ...body].join('\n'))
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '20s', '--latency', '-s', script, shot.url]
  const text = await runToEnd('load', 'wrk', args).finally(() => rm(folder, { recursive: true, force: true }))
  const broken =
    /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text)?.slice(1).map(Number) ?? []
  return {
    requests: numberIn(text, /(\d+) requests in/),
    seconds: milliseconds(/requests in ([\d.]+\w+)/.exec(text)?.[1] ?? '') / 1000,
    p50: milliseconds(/50%\s+(\S+)/.exec(text)?.[1] ?? ''),
    p99: milliseconds(/99%\s+(\S+)/.exec(text)?.[1] ?? ''),
    failures: numberIn(text, /Non-2xx or 3xx responses: (\d+)/) + broken.reduce((sum, each) => sum + each, 0),
  }
}

interface Autocannon {
  '2xx': number
  non2xx: number
  errors: number
  duration: number
  latency: { p50: number; p99: number }
}

async function autocannon(shot: Shot, connections: number, seconds: number): Promise<Hits> {
  const headers = Object.entries(shot.headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const body = shot.body === undefined ? [] : ['-b', shot.body]
  const script = toolPath('autocannon')
  const fixed = ['--json', '-c', String(connections), '-d', String(seconds), '-t', '20', '-m', shot.method]
  const text = await runToEnd('load', process.execPath, [script, ...fixed, ...headers, ...body, shot.url])
  const { non2xx, errors, duration, latency, '2xx': good }: Autocannon = JSON.parse(text)
  return { requests: good + non2xx, seconds: duration, p50: latency.p50, p99: latency.p99, failures: non2xx + errors }
}

/** Uses wrk, or autocannon, which needs more CPU time. */
export function spray(shot: Shot, connections: number, seconds: number): Promise<Hits> {
  return (generator === 'wrk' ? wrk : autocannon)(shot, connections, seconds)
}
