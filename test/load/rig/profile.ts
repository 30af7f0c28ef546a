import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { setTimeout as pause } from 'node:timers/promises'
import { root } from '../../harness/settings.ts'
import type { Gateway } from './gateway.ts'
import { pin } from './processes.ts'

interface Costly {
  name: string
  share: number
}

function isWork({ functionName, url }: Profiler.ProfileNode['callFrame']): boolean {
  return functionName !== '(idle)' && functionName !== '(root)' && url !== 'node:inspector'
}

/** The functions of the embedded store have no names. */
const wasm = 'PGlite (WebAssembly)'

function placeOf({ functionName, url, lineNumber }: Profiler.ProfileNode['callFrame']): string {
  if (url.startsWith('wasm:')) return wasm
  const file = url
    .replace('file://', '')
    .replace(/^.*node_modules\//, '')
    .replace(root, '')
  return `${functionName || '(anonymous)'}${file ? `  ${file}:${lineNumber + 1}` : ''}`
}

/** A package such as `pg`, a source folder such as `src/gateway`, or `node`. */
function houseOf({ functionName, url }: Profiler.ProfileNode['callFrame']): string {
  if (url.startsWith('wasm:')) return wasm
  const found = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? /\/(src\/[^/]+(?:\/[^/]+(?=\/))?)/.exec(url)?.[1]
  return found ?? (functionName.startsWith('(') ? functionName : 'node')
}

/** Self time as a share of the busy time, largest first. */
function rank(profile: Profiler.Profile, name: (frame: Profiler.ProfileNode['callFrame']) => string): Costly[] {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const spent = new Map<string, number>()
  let busy = 0
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const frame = frames.get(id)
    if (!frame || !isWork(frame)) continue
    const time = profile.timeDeltas?.[index] ?? 0
    busy += time
    spent.set(name(frame), (spent.get(name(frame)) ?? 0) + time)
  }
  const all = [...spent].map(([each, time]) => ({ name: each, share: time / busy }))
  return all.sort((a, b) => b.share - a.share)
}

function describe(profile: Profiler.Profile, top = 10): string {
  const lines = (ranked: Costly[]) =>
    ranked.slice(0, top).map(({ name, share }) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`)
  return [
    'by function (self time)',
    ...lines(rank(profile, placeOf)),
    'by part',
    ...lines(rank(profile, houseOf)),
  ].join('\n')
}

/** Saves the profile, and returns a summary. */
export async function profiled(gateway: Gateway, keepAs: string, load: () => Promise<unknown>): Promise<string> {
  const file = gateway.profiling
  if (file === null) return ''
  rmSync(file, { force: true })
  // On one core, the profiler's thread would sample mostly an idle gateway.
  pin(gateway.pid, 'anywhere')
  gateway.signal('SIGUSR2')
  await pause(300)
  await load()
  gateway.signal('SIGUSR2')
  for (let attempt = 0; attempt < 200 && !existsSync(file); attempt++) await pause(50)
  await pause(500)
  copyFileSync(file, keepAs)
  const profile: Profiler.Profile = JSON.parse(readFileSync(file, 'utf8'))
  return `${describe(profile)}\n  the whole profile: ${keepAs} (opens in Chrome's DevTools)`
}
