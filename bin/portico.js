#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/*
 * JavaScript, since it comes before the cache that holds what Node makes of TypeScript: with that, a start does not even
 * load what strips the types. It lies with the code that it stands for and is trusted like it. NODE_COMPILE_CACHE names
 * another folder, NODE_DISABLE_COMPILE_CACHE=1 keeps none; where it cannot be written, a start takes longer, and no more.
 */
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
await import('../src/cli.ts')
