import { existsSync, readFileSync } from 'node:fs'
import { isJsonObject, type Json, toJsonObject } from './json.ts'

/** A request's body and its answer's envelope, as a test has sent and received them. */
export interface Example {
  request?: Json
  reply?: Json
}

/** By the operation's id in the contract, which its chains share. */
export type Examples = ReadonlyMap<string, Example>

/** The recorded examples (docs/examples.json); none where nothing has been recorded. */
export const readExamples = (file: URL | string): Examples => {
  if (!existsSync(file)) return new Map()
  const recorded = toJsonObject(JSON.parse(readFileSync(file, 'utf8')))
  return new Map(
    Object.entries(recorded).flatMap(([id, example]): [string, Example][] => {
      if (!isJsonObject(example)) return []
      const { request, reply } = example
      return [[id, { ...(request === undefined ? {} : { request }), ...(reply === undefined ? {} : { reply }) }]]
    }),
  )
}
