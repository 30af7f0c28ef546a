/*
 * Completes package-lock.json after `npm install` (npm run lock). If a registry mirror lacks packages for other
 * platforms, npm omits them from the lock without an error, and `npm ci` then rejects the lock. These packages are
 * optional and never installed here, so their entries (version and platform) can be derived from their parents and
 * names.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const Package = z.looseObject({
  version: z.string().optional(),
  dev: z.boolean().optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
})
const Lock = z.looseObject({ packages: z.record(z.string(), Package) })

const file = new URL('../package-lock.json', import.meta.url)
const lock = Lock.parse(JSON.parse(readFileSync(file, 'utf8')))

const systems = [
  'android',
  'darwin',
  'win32',
  'windows',
  'freebsd',
  'netbsd',
  'openbsd',
  'sunos',
  'aix',
  'openharmony',
  'linux',
  'wasm32',
  'wasi',
]
const machines = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32']

const platformOf = (name: string) => {
  const system = systems.find((each) => name.includes(each)) ?? 'none'
  const machine = machines.find((each) => name.includes(each)) ?? 'none'
  const os = { windows: 'win32', wasm32: 'none', wasi: 'none' }[system] ?? system
  return { os: [os], cpu: [machine], ...(name.includes('musl') && { libc: ['musl'] }) }
}

// A package is installed next to its parent, whose folder can be nested.
const siblingOf = (parent: string, name: string): string =>
  `${parent.slice(0, parent.lastIndexOf('node_modules/'))}node_modules/${name}`

let added = 0
for (const [path, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const key = siblingOf(path, name)
    if (lock.packages[key]?.version || !/^\d+\.\d+\.\d+/.test(version)) continue
    lock.packages[key] = { version, ...platformOf(name), ...(parent.dev && { dev: true }), optional: true }
    added += 1
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
process.stdout.write(`${added} packages of other platforms added to the lock\n`)
