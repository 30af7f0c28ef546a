/*
 * Bundles the server, because loading its 1,350 modules takes most of the start time. bin/portico.js uses the build
 * while the sources are unchanged. `npm run build release` builds for images and `npm pack`, which have no sources.
 */
import { existsSync } from 'node:fs'
import { cp, readdir, rename, rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { argv, pid, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'rolldown'
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

/** Packages that load files next to their code, and the SDKs of AWS and OpenTelemetry, which are large and rarely used. */
const external = [/^@electric-sql\/pglite/, /^@node-rs\/argon2/, /^@aws-sdk\//, /^@opentelemetry\/(?!api$)/]

const sources = join(root, 'src')

/**
 * Domains name the folders of their texts and mails relative to their own file. In a bundle, these are relative to the file
 * of the build, so they keep their path below src.
 */
const foldersOfDomains: Plugin = {
  name: 'folders-of-domains',
  transform: {
    filter: { id: /\/src\/banking\/.*\.ts$/, code: 'import.meta.url' },
    handler: (code, id) =>
      code.replaceAll(/new URL\((["'])\.\/([\w-]+\/)\1, import\.meta\.url\)/g, (_, quote: string, folder: string) => {
        const path = relative(sources, join(id, '..', folder))
        return `new URL(${quote}./${path}/${quote}, import.meta.url)`
      }),
  },
}

/** Copied, because a dependency of swagger-ui-dist has an install script. Includes the licenses and notices. */
const rendererFiles = [
  ...['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'],
  ...['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'],
]

const folderOfRenderer: Plugin = {
  name: 'folder-of-renderer',
  transform: {
    filter: { id: /\/src\/openapi\/reference-page\.ts$/ },
    handler: (code) => code.replace('../../node_modules/swagger-ui-dist/', './swagger-ui/'),
  },
}

async function copyFolders(draft: string): Promise<void> {
  const names = await readdir(join(sources, 'banking'), { recursive: true })
  for (const name of names.filter((each) => each.endsWith('.yaml')))
    await cp(join(sources, 'banking', name), join(draft, 'banking', name))
  for (const name of rendererFiles)
    await cp(join(root, 'node_modules/swagger-ui-dist', name), join(draft, 'swagger-ui', name))
}

function bundler() {
  return import('rolldown').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  })
}

/** Builds in a draft folder first, so that a process never sees an incomplete build. */
async function build(folder: string): Promise<void> {
  const tools = await bundler()
  if (!tools) return void stdout.write('no build: rolldown is not installed, so Portico runs from its sources\n')
  const draft = `${folder}.${pid}`
  await using bundle = await tools.rolldown({
    input,
    platform: 'node',
    external,
    plugins: [foldersOfDomains, folderOfRenderer],
  })
  await bundle.write({ dir: draft, format: 'esm' })
  await copyFolders(draft)
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
