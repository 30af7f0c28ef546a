import { inlineReferences } from '../../src/documents/json-schema.ts'
import { isRecord } from '../../src/kernel/index.ts'
import { mapMembers, toJsonObject } from '../../src/openapi/json.ts'
import { foldNullable } from '../../src/openapi/schemas.ts'

/**
 * Returns the operations of an OpenAPI document by method and path. Replaces references. A nullable reference becomes one
 * schema with two types, as in a document without references.
 */
export function operationsOf(document: Record<string, unknown>): Map<string, unknown> {
  return new Map(
    Object.entries(isRecord(document.paths) ? document.paths : {}).flatMap(([path, item]) =>
      Object.entries(isRecord(item) ? item : {}).map(
        ([method, operation]) =>
          [`${method} ${path}`, mapMembers(toJsonObject(inlineReferences(document, operation)), foldNullable)] as const,
      ),
    ),
  )
}
