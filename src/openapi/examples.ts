import { existsSync, readFileSync } from 'node:fs'
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from './json.ts'

/** A recorded request and the envelope of its response; for a stream a description of its bytes. */
export interface Example {
  params?: JsonObject
  query?: JsonObject
  request?: Json
  reply?: Json
}

export interface Examples {
  /** By operation id; all chains of an operation share an example. */
  operations: ReadonlyMap<string, Example>
  /** Envelopes by code. */
  refusals: ReadonlyMap<string, Json>
}

export const noExamples: Examples = { operations: new Map(), refusals: new Map() }

const membersOf = (value: Json | undefined): [string, Json][] => (isJsonObject(value) ? Object.entries(value) : [])

const toExample = ({ params, query, request, reply }: JsonObject): Example => ({
  ...(isJsonObject(params) && { params }),
  ...(isJsonObject(query) && { query }),
  ...(request !== undefined && { request }),
  ...(reply !== undefined && { reply }),
})

/** Reads the recorded examples (docs/examples.json). Returns none if the file does not exist. */
export const readExamples = (file: URL | string): Examples => {
  if (!existsSync(file)) return noExamples
  const { operations, refusals } = parseJsonObject(readFileSync(file, 'utf8'))
  const examples = membersOf(operations).map(([id, each]): [string, Example] => [
    id,
    isJsonObject(each) ? toExample(each) : {},
  ])
  return { operations: new Map(examples), refusals: new Map(membersOf(refusals)) }
}
