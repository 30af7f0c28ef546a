#!/usr/bin/env node
import { existsSync } from 'node:fs'
import nodeModule from 'node:module'
import { exit, stderr, version } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildFolder } from './sources.js'

/** The oldest supported major version of Node. */
const oldest = 24

if (Number.parseInt(version.slice(1), 10) < oldest) {
  stderr.write(
    `portico: Node ${version} is not supported: Portico requires Node ${oldest} or newer. In a clone, \`npx portico\` and \`npm start\` use the version that \`npm ci\` installs.\n`,
  )
  exit(2)
}

const built = `${buildFolder()}/cli.js`

/*
 * Cache compiled code. Enable this before anything else is loaded. The cache is in the package's own folder, because it is
 * trusted like code. NODE_COMPILE_CACHE selects another folder, and NODE_DISABLE_COMPILE_CACHE=1 disables the cache. If the
 * folder is not writable, starts only take longer.
 */
nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
// The bundled program (scripts/build.ts), if it was built from the current sources.
if (existsSync(built)) await import(pathToFileURL(built).href)
else await import('../src/cli.ts')
