import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import packageJson from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }
import { writeSbom } from '../../scripts/sbom.ts'
import { shippedPackages } from '../../scripts/shipped.ts'

const Bill = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      hashes: z.array(z.object({ alg: z.literal('SHA-512') })).min(1),
    }),
  ),
})
const Package = z.object({ version: z.string(), dev: z.boolean().optional(), peer: z.boolean().optional() })

test('the SBOM lists every production and shipped package with its hash, and no other', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-sbom-test-'))
  try {
    const path = writeSbom(folder)
    expect(path).toBe(join(folder, `portico-${packageJson.version}.cdx.json`))
    const { metadata, components } = Bill.parse(JSON.parse(readFileSync(path, 'utf8')))
    expect(metadata.component).toEqual({ name: 'portico', version: packageJson.version })
    const listed = components.map(({ name, version }) => `${name}@${version}`)
    // TypeScript is an optional peer dependency, which the package does not install.
    const production = Object.entries(lock.packages)
      .filter(([location]) => /^node_modules\/(?!portico-node$|typescript$|@typescript\/)/.test(location))
      .map(([location, entry]) => ({ name: location.replace(/^.*node_modules\//, ''), ...Package.parse(entry) }))
      .flatMap(({ name, version, dev }) => (dev && !shippedPackages.has(name) ? [] : `${name}@${version}`))
    expect([...new Set(listed)].sort()).toEqual([...new Set(production)].sort())
    expect(listed).toEqual(expect.arrayContaining([`pg@${packageJson.dependencies.pg}`]))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
