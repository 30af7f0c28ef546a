/*
 * The server in a few files instead of some 1,350 modules, which take Node longer to load than all else that a start
 * does: `npm run build`. `npm ci` makes such a build; it is what runs as long as the sources are what they were, and the
 * sources themselves after that (bin/portico.js). `npm run build release` makes one for images and `npm pack`, which have no sources.
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

/** Packages that find more than JavaScript beside themselves, and one that is large and seldom wanted. */
const external = [/^@electric-sql\/pglite/, /^@node-rs\/argon2/, /^swagger-ui-dist/, /^@aws-sdk\//]

/** Null where only what the server needs is installed. */
const bundler = () =>
  import('rolldown').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  })

/** It appears whole or not at all, whoever starts meanwhile. */
const build = async (folder: string): Promise<void> => {
  const tools = await bundler()
  if (!tools) return void stdout.write('nothing built, for want of rolldown: the sources run as they are\n')
  const draft = `${folder}.${pid}`
  await using bundle = await tools.rolldown({ input: join(root, 'src/cli.ts'), platform: 'node', external })
  await bundle.write({ dir: draft, format: 'esm' })
  for (const name of await readdir(builds)) {
    const other = join(builds, name)
    // The one with sources beside it and the one without leave each other alone.
    if (other !== draft && (other === release) === (folder === release))
      await rm(other, { recursive: true, force: true })
  }
  await rename(draft, folder)
}

const folder = argv[2] === 'release' ? release : buildFolder()
if (folder === release || !existsSync(folder)) await build(folder)
