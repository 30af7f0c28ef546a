/*
 * Bundles the server, because loading its 1,350 modules takes most of the start time. bin/portico.js uses the build
 * while the sources are unchanged. `npm run build release` builds for images and `npm pack`, which have no sources.
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

/** One build puts the common code into shared files. */
const input = {
  cli: join(root, 'src/cli.ts'),
  portico: join(root, 'src/portico.ts'),
  contract: join(root, 'src/api/contract.ts'),
  testing: join(root, 'src/testing/index.ts'),
}

/** Packages that load files next to their code, and the AWS SDK, which is large and rarely used. */
const external = [/^@electric-sql\/pglite/, /^@node-rs\/argon2/, /^swagger-ui-dist/, /^@aws-sdk\//]

const bundler = () =>
  import('rolldown').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  })

/** Builds in a draft folder first, so that a process never sees an incomplete build. */
const build = async (folder: string): Promise<void> => {
  const tools = await bundler()
  if (!tools) return void stdout.write('no build: rolldown is not installed, so Portico runs from its sources\n')
  const draft = `${folder}.${pid}`
  await using bundle = await tools.rolldown({ input, platform: 'node', external })
  await bundle.write({ dir: draft, format: 'esm' })
  for (const name of await readdir(builds)) {
    const other = join(builds, name)
    // Keep builds of the other kind.
    if (other !== draft && (other === release) === (folder === release))
      await rm(other, { recursive: true, force: true })
  }
  await rename(draft, folder)
}

const folder = argv[2] === 'release' ? release : buildFolder()
if (folder === release || !existsSync(folder)) await build(folder)
