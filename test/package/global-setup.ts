import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { z } from 'zod'
import { pack } from '../../scripts/pack.ts'
import { root } from '../harness/settings.ts'
import { userEnvironment } from './environment.ts'

declare module 'vitest' {
  interface ProvidedContext {
    package: {
      /** The tarball that `npm publish` would upload. */
      tarball: string
      /** The tarball of portico-client. */
      client: string
      /** A folder in which only the tarball is installed. */
      production: string
      /** A folder in which the tarball, TypeScript and vitest are installed. */
      development: string
    }
  }
}

/** Tools in the versions that Portico uses. */
const Tools = z.object({ '@types/node': z.string(), typescript: z.string(), vitest: z.string() })
const Manifest = z.object({ devDependencies: Tools })

function install(cwd: string, ...packages: string[]): void {
  const args = ['install', ...packages, '--prefer-offline', '--no-audit', '--no-fund', '--silent']
  execFileSync('npm', args, { cwd, env: userEnvironment(), stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Installs the package once for all tests. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-package-'))
  // The image's user must be able to enter the folder.
  await chmod(folder, 0o755)
  const production = join(folder, 'production')
  const development = join(folder, 'development')
  const { portico: tarball, client } = pack(folder)
  await mkdir(production)
  await writeFile(join(production, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  install(production, tarball)
  // Hard links save a second installation of 200 packages.
  execFileSync('cp', ['-al', production, development])
  const { devDependencies } = Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')))
  install(development, '--save-dev', ...Object.entries(devDependencies).map((tool) => tool.join('@')))
  project.provide('package', { tarball, client, production, development })
  return () => rm(folder, { recursive: true, force: true })
}
