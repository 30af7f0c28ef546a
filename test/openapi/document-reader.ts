import { bankingCatalogue, catalogue } from '../../src/contract/index.ts'
import { type ChainId, chains, pathOn } from '../../src/kernel/index.ts'
import { type Examples, openApiDocument, readExamples } from '../../src/openapi/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'

const recorded = readExamples(new URL('../../docs/examples.json', import.meta.url))
/** Default: the recorded examples. */
export function make(examples: Examples = recorded, isSealed = false) {
  return openApiDocument(bankingCatalogue, { version: '1.0.0', examples, isSealed })
}

export function readerOf(document: JsonObject) {
  const follow = (value: Json | undefined): Json | undefined =>
    isJsonObject(value) && typeof value.$ref === 'string' ? at(document, ...value.$ref.slice(2).split('/')) : value

  /** Follows references. */
  const at = (value: Json | undefined, ...names: string[]): Json | undefined => {
    let found = value
    for (const name of names) {
      found = follow(found)
      found = isJsonObject(found) ? found[name] : Array.isArray(found) ? found[Number(name)] : undefined
    }
    return follow(found)
  }
  const objectAt = (...path: Parameters<typeof at>): JsonObject => {
    const found = at(...path)
    if (!isJsonObject(found)) throw new Error(`no object at ${path.slice(1).join('.')}`)
    return found
  }
  const operationOf = (chain: ChainId, id: string): JsonObject => {
    const operation = catalogue.find((each) => each.id === id)
    if (!operation) throw new Error(`no operation ${id}`)
    return objectAt(document, 'paths', pathOn(chains[chain], operation), operation.method.toLowerCase())
  }
  const parametersOf = (operation: JsonObject): JsonObject[] => {
    const list = operation.parameters
    return Array.isArray(list) ? list.map((_, place) => objectAt(list, String(place))) : []
  }
  return { at, objectAt, operationOf, parametersOf }
}

export const document = await make()
export const { at, objectAt, operationOf, parametersOf } = readerOf(document)
