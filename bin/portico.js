#!/usr/bin/env node
import nodeModule from 'node:module'
import { exit, features, stderr, version } from 'node:process'
import { fileURLToPath } from 'node:url'

if (!features.typescript) {
  stderr.write(`portico: Node ${version} cannot run TypeScript; \`npm start\` takes the Node that the project brings with it\n`)
  exit(2)
}

/*
 * JavaScript, since it comes before the cache that holds what Node makes of TypeScript: with that, a start does not even
 * load what strips the types. It lies with the code that it stands for and is trusted like it. NODE_COMPILE_CACHE names
 * another folder, NODE_DISABLE_COMPILE_CACHE=1 keeps none; where it cannot be written, a start takes longer, and no more.
 */
nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
await import('../src/cli.ts')
