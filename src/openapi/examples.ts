import { existsSync, readFileSync } from 'node:fs'
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from './json.ts'

/** What a test has sent to an operation, and the envelope that it was answered; of a stream, what its bytes are. */
export interface Example {
  params?: JsonObject
  query?: JsonObject
  request?: Json
  reply?: Json
}

export interface Examples {
  /** By the operation's id in the contract, which its chains share. */
  operations: ReadonlyMap<string, Example>
  /** Envelopes by their code. */
  refusals: ReadonlyMap<string, Json>
}

export const noExamples: Examples = { operations: new Map(), refusals: new Map() }

const membersOf = (value: Json | undefined): [string, Json][] => (isJsonObject(value) ? Object.entries(value) : [])

const exampleOf = ({ params, query, request, reply }: JsonObject): Example => ({
  ...(isJsonObject(params) && { params }),
  ...(isJsonObject(query) && { query }),
  ...(request !== undefined && { request }),
  ...(reply !== undefined && { reply }),
})

/** The recorded examples (docs/examples.json); none where nothing has been recorded. */
export const readExamples = (file: URL | string): Examples => {
  if (!existsSync(file)) return noExamples
  const { operations, refusals } = parseJsonObject(readFileSync(file, 'utf8'))
  const examples = membersOf(operations).map(([id, each]): [string, Example] => [
    id,
    isJsonObject(each) ? exampleOf(each) : {},
  ])
  return { operations: new Map(examples), refusals: new Map(membersOf(refusals)) }
}
