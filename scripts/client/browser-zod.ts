/*
 * `z` of `portico/contract` in browsers. esbuild keeps every member of a namespace that a module exports again, so all of zod
 * would be in the bundle, with 50 languages (docs/decisions/0044).
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as zod from 'zod'

/** Functions that build no schema, or that only zod-mini needs. */
const omitted = new Set(
  `check clone compile config decode decodeAsync deepPartial describe encode encodeAsync endsWith flattenError formatError
  fromJSONSchema function getDiscriminatedOption getErrorMap gt gte includes input invertCodec length lowercase lt lte
  maxLength maxSize memoizer meta mime minLength minSize multipleOf negative nonnegative nonpositive normalize output
  overwrite parse parseAsync positive prettifyError promise properties property refine regex registry safeDecode
  safeDecodeAsync safeEncode safeEncodeAsync safeParse safeParseAsync setErrorMap size slugify startsWith success
  superRefine toJSONSchema toLowerCase toUpperCase toZod treeifyError trim uppercase validate validateAsync
  withParser`.split(/\s+/),
)
const others = ['NEVER', 'ZodError', 'ZodType', 'coerce', 'iso']

/** Replaces `z` in the compiled contract module. */
export function writeBrowserZod(folder: string): void {
  const file = join(folder, 'contract.js')
  const before = readFileSync(file, 'utf8')
  const after = before.replace("export { z } from 'zod'", "export * as z from './zod.js'")
  if (after === before) throw new Error(`${file} does not export z as expected`)
  writeFileSync(file, after)
  writeFileSync(join(folder, 'zod.js'), `export { ${[...others, ...builders()].join(', ')} } from 'zod'\n`)
}

function builders(): string[] {
  return Object.entries(zod).flatMap(([name, value]) =>
    typeof value === 'function' && /^[a-z]/.test(name) && !omitted.has(name) ? [name] : [],
  )
}
