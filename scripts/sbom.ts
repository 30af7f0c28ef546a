import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { shippedPackages } from './shipped.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const Versions = z.record(z.string(), z.string())
const Manifest = z.looseObject({
  name: z.string(),
  version: z.string(),
  dependencies: Versions,
  devDependencies: Versions,
})
const Lock = z.looseObject({ packages: z.record(z.string(), z.looseObject({})) })

/**
 * Writes the production and shipped packages as a CycloneDX document to `folder`, and returns its path. `npm sbom --omit dev`
 * also omits each production package that a development dependency needs. Therefore this function removes the
 * other development dependencies from a copy of the lock file first.
 */
export function writeSbom(folder: string): string {
  const { devDependencies, scripts, ...production } = Manifest.parse(
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
  )
  const lock = Lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')))
  for (const name of shippedPackages) {
    production.dependencies[name] = devDependencies[name] ?? ''
    // Their dependencies are not shipped.
    delete lock.packages[`node_modules/${name}`]?.dependencies
  }
  const work = mkdtempSync(join(tmpdir(), 'portico-sbom-'))
  try {
    // npm names the component after the folder.
    const cwd = join(work, production.name)
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'package.json'), JSON.stringify(production))
    writeFileSync(join(cwd, 'package-lock.json'), JSON.stringify(lock))
    const npm = (...args: string[]) =>
      execFileSync('npm', [...args, '--package-lock-only', '--loglevel=error'], { cwd, encoding: 'utf8' })
    npm('install', '--offline', '--no-audit')
    const path = join(folder, `${production.name}-${production.version}.cdx.json`)
    writeFileSync(path, npm('sbom', '--sbom-format', 'cyclonedx'))
    return path
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
