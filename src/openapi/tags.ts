import { summaries } from '../contract/index.ts'
import { domainOf, type Operation } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

const spaced = (domain: string): string => domain.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

export const tagOf = ({ id }: Operation): string => spaced(domainOf(id))

/** The tags of these operations. */
export const tagsOf = (operations: readonly Operation[]): JsonObject[] =>
  [...new Set(operations.map(({ id }) => domainOf(id)))].map((domain) => ({
    name: spaced(domain),
    description: summaries.get(domain) ?? '',
  }))
