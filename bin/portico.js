#!/usr/bin/env node
import { existsSync } from 'node:fs'
import nodeModule from 'node:module'
import { exit, stderr, version } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildFolder } from './sources.js'

/** The oldest major version of Node that knows what the sources and the build are written in. */
const oldest = 24

if (Number.parseInt(version.slice(1), 10) < oldest) {
  stderr.write(
    `portico: Node ${version} is too old, it takes ${oldest} or newer; in a clone \`npx portico\` and \`npm start\` take the one that \`npm ci\` brings, unless it runs no install scripts\n`,
  )
  exit(2)
}

const built = `${buildFolder()}/cli.js`

/*
 * Before all else that is loaded, since it holds what Node makes of it. It lies with the code that it stands for and is
 * trusted like it. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 keeps none; where it cannot be
 * written, a start takes longer, and no more.
 */
nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
// The same program from fewer files, if nothing has been changed since it was built (scripts/build.ts).
if (existsSync(built)) await import(pathToFileURL(built).href)
else await import('../src/cli.ts')
