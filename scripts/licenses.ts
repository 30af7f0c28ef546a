/*
 * Checks the licenses of the production dependencies against a list: `npm run check:licenses`. The licenses of the list
 * allow use in a closed product without further conditions than a notice.
 */
import { readFileSync } from 'node:fs'
import { stderr, stdout } from 'node:process'
import { z } from 'zod'
import { shippedPackages } from './shipped.ts'

const allowed = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  'Unlicense',
]
const Package = z.object({ version: z.string(), license: z.string().optional(), dev: z.boolean().optional() })
const Lock = z.object({ packages: z.record(z.string(), z.unknown()) })

/** Returns the production and shipped packages of a lock file whose license is missing or not on the list. */
export function rejectedLicenses(lock: unknown): string[] {
  return (
    Object.entries(Lock.parse(lock).packages)
      // The first entry is the package itself. Links have no license; their targets have their own entries.
      .filter(([path]) => path !== '' && path !== 'node_modules/portico-node')
      .map(([path, entry]) => ({ path, ...Package.parse(entry) }))
      .filter(({ path, dev }) => !dev || shippedPackages.has(path.replace('node_modules/', '')))
      .filter(({ license }) => !allowed.includes(license ?? ''))
      .map(({ path, version, license }) => `${path} ${version}: ${license ?? 'no license'}`)
  )
}

if (import.meta.main) {
  const rejected = rejectedLicenses(JSON.parse(readFileSync('package-lock.json', 'utf8')))
  for (const line of rejected) stderr.write(`${line}\n`)
  stdout.write(`check:licenses: ${rejected.length} findings\n`)
  if (rejected.length > 0) process.exitCode = 1
}
