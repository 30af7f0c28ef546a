import type { Catalogue } from '../contract/index.ts'
import { type ChainId, domainOf, type Operation } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

export const toPascalCase = (text: string): string =>
  text.replaceAll(/(^|[.\-_ ])(\w)/g, (_, __, letter: string) => letter.toUpperCase())

/** Returns the operation's export name in the contract, or its id if it is not part of the catalogue. */
export const exportNameOf = ({ namedOperations }: Catalogue, operation: Operation): string =>
  namedOperations.find(([, each]) => each === operation)?.[0] ?? operation.id

/** Returns a unique id per operation and chain. */
export const operationIdOf = (operation: Operation, chainId: ChainId): string => `${chainId}.${operation.id}`

const toWords = (domain: string): string => domain.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

export const toTag = ({ id }: Operation): string => toWords(domainOf(id))

/** Returns the tags of the operations with their descriptions. */
export const listTags = ({ operations, summaries }: Catalogue): JsonObject[] =>
  [...new Set(operations.map(({ id }) => domainOf(id)))].map((domain) => ({
    name: toWords(domain),
    description: summaries.get(domain) ?? '',
  }))
