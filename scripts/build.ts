/*
 * Bundles the server into a few files, because loading its 1,350 modules takes most of the start time. `npm ci` runs
 * this. bin/portico.js uses the build while the sources are unchanged. `npm run build release` creates the build for
 * images and `npm pack`, which contain no sources.
 */
import { existsSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { argv, pid, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { buildFolder } from '../bin/sources.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const builds = join(root, 'build')
const release = join(builds, 'release')

/** The program, and the modules `portico`, `portico/contract` and `portico/testing` of the package. They share their code. */
const input = {
  cli: join(root, 'src/cli.ts'),
  portico: join(root, 'src/portico.ts'),
  contract: join(root, 'src/api/contract.ts'),
  testing: join(root, 'src/testing/index.ts'),
}

/** Packages that load other files next to their code, and one that is large and rarely used. */
const external = [/^@electric-sql\/pglite/, /^@node-rs\/argon2/, /^swagger-ui-dist/, /^@aws-sdk\//]

/** Returns the bundler, or null if it is not installed. */
const bundler = () =>
  import('rolldown').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  })

/**
 * Builds in a draft folder and then renames it. A process that starts at the same time therefore never sees an
 * incomplete build.
 */
const build = async (folder: string): Promise<void> => {
  const tools = await bundler()
  if (!tools) return void stdout.write('no build: rolldown is not installed, so Portico runs from its sources\n')
  const draft = `${folder}.${pid}`
  await using bundle = await tools.rolldown({ input, platform: 'node', external })
  await bundle.write({ dir: draft, format: 'esm' })
  for (const name of await readdir(builds)) {
    const other = join(builds, name)
    // Delete outdated builds of the same kind only.
    if (other !== draft && (other === release) === (folder === release))
      await rm(other, { recursive: true, force: true })
  }
  await rename(draft, folder)
}

const folder = argv[2] === 'release' ? release : buildFolder()
if (folder === release || !existsSync(folder)) await build(folder)
