import { namedOperations, summaries } from '../contract/index.ts'
import { type ChainId, domainOf, type Operation } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

export const toPascalCase = (text: string): string =>
  text.replaceAll(/(^|[.\-_ ])(\w)/g, (_, __, letter: string) => letter.toUpperCase())

const exportNames = new Map(namedOperations.map(([name, operation]) => [operation, name]))

/** What code calls the operation: its export name in the contract, `transfersCreate` for one from elsewhere. */
export const exportNameOf = (operation: Operation): string => exportNames.get(operation) ?? operation.id

/** Unique in the document: an operation has one per chain that serves it. */
export const operationIdOf = (operation: Operation, chainId: ChainId): string => `${chainId}.${operation.id}`

const spaced = (domain: string): string => domain.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

export const toTag = ({ id }: Operation): string => spaced(domainOf(id))

/** The tags of these operations. */
export const listTags = (operations: readonly Operation[]): JsonObject[] =>
  [...new Set(operations.map(({ id }) => domainOf(id)))].map((domain) => ({
    name: spaced(domain),
    description: summaries.get(domain) ?? '',
  }))
