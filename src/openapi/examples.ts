import { existsSync, readFileSync } from 'node:fs'
import { isJsonObject, type Json, type JsonObject, parseJsonObject, toJsonObject } from './json.ts'

export interface Example {
  params?: JsonObject
  query?: JsonObject
  request?: Json
  reply?: Json
}

export interface Examples {
  /** All chains of an operation share an example. */
  operations: ReadonlyMap<string, Example>
  /** Refusal envelopes by code. */
  refusals: ReadonlyMap<string, Json>
}

export const noExamples: Examples = { operations: new Map(), refusals: new Map() }

export function toExample({ params, query, request, reply }: JsonObject): Example {
  return {
    ...(isJsonObject(params) && { params }),
    ...(isJsonObject(query) && { query }),
    ...(request !== undefined && { request }),
    ...(reply !== undefined && { reply }),
  }
}

/** Returns no examples if the file does not exist. */
export function readExamples(file: URL | string): Examples {
  if (!existsSync(file)) return noExamples
  const { operations, refusals } = parseJsonObject(readFileSync(file, 'utf8'))
  const examples = membersOf(operations).map(([id, each]): [string, Example] => [
    id,
    isJsonObject(each) ? toExample(each) : {},
  ])
  return { operations: new Map(examples), refusals: new Map(membersOf(refusals)) }
}

/**
 * Replaces recorded values of requests by name, such as `walletBizId`, so that requests work without edits. The reply of
 * the example gets the same replacements.
 */
export function withValues(examples: Examples, values: ReadonlyMap<string, string>): Examples {
  const replaceIn = (example: Example): Example => {
    const { reply: _, ...sent } = example
    const replaced = new Map<Json, string>()
    collectReplaced(toJsonObject(sent), values, replaced)
    return toExample(toJsonObject(replaceValues(toJsonObject(example), replaced)))
  }
  return {
    operations: new Map([...examples.operations].map(([id, example]) => [id, replaceIn(example)])),
    refusals: examples.refusals,
  }
}

/** Omits the parts of examples that have one of these texts, such as a code of a domain that is off. */
export function withoutTexts(examples: Examples, texts: ReadonlySet<string>): Examples {
  return {
    operations: new Map(
      [...examples.operations].map(([id, example]) => {
        const parts = Object.entries(toJsonObject(example)).filter(([, part]) => !contains(part, texts))
        return [id, toExample(Object.fromEntries(parts))]
      }),
    ),
    refusals: examples.refusals,
  }
}

function membersOf(value: Json | undefined): [string, Json][] {
  return isJsonObject(value) ? Object.entries(value) : []
}

/** Collects the texts in members that `values` names. */
function collectReplaced(value: Json, values: ReadonlyMap<string, string>, replaced: Map<Json, string>): void {
  if (Array.isArray(value)) for (const item of value) collectReplaced(item, values, replaced)
  if (!isJsonObject(value)) return
  for (const [name, member] of Object.entries(value)) {
    const replacement = values.get(name)
    if (replacement !== undefined && typeof member === 'string' && !replaced.has(member))
      replaced.set(member, replacement)
    collectReplaced(member, values, replaced)
  }
}

function replaceValues(value: Json, replaced: ReadonlyMap<Json, string>): Json {
  if (Array.isArray(value)) return value.map((item) => replaceValues(item, replaced))
  if (!isJsonObject(value)) return replaced.get(value) ?? value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaceValues(member, replaced)]))
}

function contains(value: Json, texts: ReadonlySet<string>): boolean {
  return typeof value === 'string'
    ? texts.has(value)
    : typeof value === 'object' && value !== null && Object.values(value).some((each) => contains(each, texts))
}
