#!/usr/bin/env node
import { existsSync } from 'node:fs'
import nodeModule from 'node:module'
import { exit, features, stderr, version } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildFolder } from './sources.js'

const built = `${buildFolder()}/cli.js`
const isBuilt = existsSync(built)

if (!isBuilt && !features.typescript) {
  stderr.write(`portico: Node ${version} cannot run TypeScript; \`npm start\` takes the Node that the project brings with it\n`)
  exit(2)
}

/*
 * Before all else that is loaded, since it holds what Node makes of it. It lies with the code that it stands for and is
 * trusted like it. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 keeps none; where it cannot be
 * written, a start takes longer, and no more.
 */
nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
// The same program from fewer files, if nothing has been changed since it was built (scripts/build.ts).
if (isBuilt) await import(pathToFileURL(built).href)
else await import('../src/cli.ts')
