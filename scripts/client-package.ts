/*
 * Writes the package `portico-client` to dist/portico-client. `portico/client` is the same folder in the package
 * `portico`.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../package.json' with { type: 'json' }
import { writeBrowserZod } from './client/browser-zod.ts'
import { methodDeclarations } from './client/declarations.ts'
import { entryExports, writeEntries } from './client/entries.ts'
import { writeForms } from './client/forms.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Below the root of `portico`, as in its `exports`. */
export const clientFolder = 'dist/portico-client'

const { version, homepage, bugs, repository, license, dependencies } = manifest

const clientManifest = {
  name: 'portico-client',
  version,
  description: 'The typed client of Portico, for browsers and Node',
  keywords: ['portico', 'fintech', 'client', 'sdk', 'typescript'],
  homepage,
  bugs,
  repository,
  license,
  type: 'module',
  exports: {
    '.': { types: './client/index.d.ts', default: './client/index.js' },
    ...entryExports('.', './client'),
  },
  sideEffects: ['./client/zod-config.js'],
  // `api` is the module portico/contract, which shares files with the client.
  files: ['**', '!api'],
  // Only the server needs a newer Node.
  engines: { node: '>=20.19' },
  // Ranges, so that a front end has one copy of each.
  dependencies: {
    '@simplewebauthn/browser': `^${dependencies['@simplewebauthn/browser']}`,
    zod: `^${dependencies.zod}`,
  },
}

/** Compiles the client. Takes a few seconds. */
export function buildClientPackage(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.client.json'), '--outDir', folder], {
    stdio: 'inherit',
  })
  writeFileSync(join(folder, 'client/methods.d.ts'), methodDeclarations())
  writeEntries(join(folder, 'client'))
  writeForms(join(folder, 'client'))
  writeBrowserZod(join(folder, 'api'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(clientManifest, null, 2)}\n`)
  copyFileSync(join(root, 'src/client/README.md'), join(folder, 'README.md'))
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
}

if (import.meta.main) buildClientPackage(join(root, clientFolder))
