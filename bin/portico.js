#!/usr/bin/env node
import { existsSync } from 'node:fs'
import nodeModule from 'node:module'
import { exit, stderr, version } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { unsupportedNode } from './node-version.js'
import { buildFolder } from './sources.js'

const unsupported = unsupportedNode(version)
if (unsupported) {
  stderr.write(unsupported)
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
