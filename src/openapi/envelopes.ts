import { toEnvelope } from './components.ts'
import { isJsonObject, type JsonObject, reference } from './json.ts'
import { TakenNames, toPascalCase } from './names.ts'

/** The components of successful responses. Responses with the same data share one. */
export interface Envelopes {
  components: Record<string, JsonObject>
  /** Returns a reference to the envelope of `data`. `exportName` names data that has no name. */
  of(data: JsonObject, exportName: string): JsonObject
  /** Like `of`, for a response whose data the caller can ask to seal. */
  ofSealable(data: JsonObject, exportName: string): JsonObject
}

export function createEnvelopes(reserved: Iterable<string>): Envelopes {
  const components: Record<string, JsonObject> = {}
  const names = new Map<string, string>()
  const taken = new TakenNames(reserved)

  const nameFor = (data: JsonObject, prefix: string, exportName: string): string => {
    const fallback = toPascalCase(exportName)
    const candidates = [nameOfData(data) ?? fallback, fallback].map((name) => `${prefix}${name}Response`)
    return candidates.find((name) => !taken.has(name)) ?? `${fallback}Envelope`
  }
  const add = (data: JsonObject, sent: JsonObject, prefix: string, exportName: string): JsonObject => {
    const text = JSON.stringify(sent)
    const name = names.get(text) ?? nameFor(data, prefix, exportName)
    names.set(text, name)
    taken.add(name)
    components[name] ??= toEnvelope(sent)
    return reference('schemas', name)
  }
  return {
    components,
    of: (data, exportName) => add(data, data, '', exportName),
    ofSealable: (data, exportName) =>
      add(data, { anyOf: [data, reference('schemas', 'SealedReply')] }, 'Sealable', exportName),
  }
}

function nameOfData(data: JsonObject): string | undefined {
  if (data.type === 'boolean') return 'Boolean'
  if (data.const === null) return 'Empty'
  if (data.type !== 'array' || !isJsonObject(data.items)) return targetOf(data)?.replace(/Reply$/, '')
  const item = targetOf(data.items)
  return item && `${item}List`
}

function targetOf({ $ref }: JsonObject): string | undefined {
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined
}
