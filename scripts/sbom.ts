import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const root = fileURLToPath(new URL('..', import.meta.url))
const Manifest = z.looseObject({ name: z.string(), version: z.string() })

/**
 * Writes the production dependencies as a CycloneDX document to `folder`, and returns its path. `npm sbom --omit dev`
 * also omits each production package that a development dependency needs. Therefore this function removes the
 * development dependencies from a copy of the lock file first.
 */
export function writeSbom(folder: string): string {
  const { devDependencies, scripts, ...production } = Manifest.parse(
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
  )
  const work = mkdtempSync(join(tmpdir(), 'portico-sbom-'))
  try {
    // npm names the component after the folder.
    const cwd = join(work, production.name)
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'package.json'), JSON.stringify(production))
    copyFileSync(join(root, 'package-lock.json'), join(cwd, 'package-lock.json'))
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
