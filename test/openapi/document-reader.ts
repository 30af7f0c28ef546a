import { bankingCatalogue, catalogue } from '../../src/contract/index.ts'
import { type ChainId, chains } from '../../src/kernel/index.ts'
import { type Examples, openApiDocument, readExamples } from '../../src/openapi/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'

const recorded = readExamples(new URL('../../docs/examples.json', import.meta.url))
/** Returns the document of this catalogue, with the recorded examples by default. */
export const make = (examples: Examples = recorded) => openApiDocument(bankingCatalogue, { version: '1.0.0', examples })
export const document = await make()
/** Returns the member at a path of names and follows references. */
export const at = (value: Json | undefined, ...names: string[]): Json | undefined => {
  let found = value
  for (const name of names) {
    if (isJsonObject(found) && typeof found.$ref === 'string') found = at(document, ...found.$ref.slice(2).split('/'))
    found = isJsonObject(found) ? found[name] : Array.isArray(found) ? found[Number(name)] : undefined
  }
  return isJsonObject(found) && typeof found.$ref === 'string' ? at(document, ...found.$ref.slice(2).split('/')) : found
}

export const objectAt = (...path: Parameters<typeof at>): JsonObject => {
  const found = at(...path)
  if (!isJsonObject(found)) throw new Error(`no object at ${path.slice(1).join('.')}`)
  return found
}

export const operationOf = (chain: ChainId, id: string): JsonObject => {
  const operation = catalogue.find((each) => each.id === id)
  if (!operation) throw new Error(`no operation ${id}`)
  return objectAt(document, 'paths', chains[chain].prefix + operation.path, operation.method.toLowerCase())
}

export const parametersOf = (operation: JsonObject): JsonObject[] => {
  const list = operation.parameters
  return Array.isArray(list) ? list.map((_, place) => objectAt(list, String(place))) : []
}
