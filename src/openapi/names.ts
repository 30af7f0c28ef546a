import type { Catalogue } from '../contract/index.ts'
import { type ChainId, domainOf, type Operation } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

export function toPascalCase(text: string): string {
  return text.replaceAll(/(^|[.\-_ ])(\w)/g, (_, __, letter: string) => letter.toUpperCase())
}

/** Types of languages. Generators rename a component with such a name, or it hides the type. */
const typesOfLanguages =
  'Any Array Boolean Class Date Enum Error Event Exception File Function Integer Interface List Map Model Module Number ' +
  'Object Record Request Response Set String Symbol Type'

/** The names of components that cannot be chosen. Generators change the case of a name and drop its punctuation. */
export class TakenNames {
  readonly #folded: Set<string>

  constructor(names: Iterable<string>) {
    this.#folded = new Set([...typesOfLanguages.split(' '), ...names].map(fold))
  }

  has(name: string): boolean {
    return this.#folded.has(fold(name))
  }

  add(name: string): void {
    this.#folded.add(fold(name))
  }
}

/** Returns the component name of a family's codes. */
export function codeComponentOf(family: string): string {
  return `${toPascalCase(family)}Code`
}

export function singular(name: string): string {
  return name.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
}

/** A search through the list for each operation would grow with the square of their number. */
const exportNames = new WeakMap<Catalogue['namedOperations'], ReadonlyMap<Operation, string>>()

/** Returns the id for an operation outside the catalogue. */
export function exportNameOf({ namedOperations }: Catalogue, operation: Operation): string {
  const known = exportNames.get(namedOperations) ?? new Map(namedOperations.map(([name, each]) => [each, name]))
  exportNames.set(namedOperations, known)
  return known.get(operation) ?? operation.id
}

export function operationIdOf(operation: Operation, chainId: ChainId): string {
  return `${chainId}.${operation.id}`
}

export function toTag({ id }: Operation): string {
  return toWords(domainOf(id))
}

export function listTags({ operations, summaries }: Catalogue): JsonObject[] {
  return [...new Set(operations.map(({ id }) => domainOf(id)))].map((domain) => ({
    name: toWords(domain),
    description: summaries.get(domain) ?? '',
  }))
}

const firstSteps = new Set(['initiate', 'forgot', 'setup', 'send', 'quote'])
const lastSteps = new Set(['complete', 'reset', 'cancel', 'reject', 'fail', 'revoke', 'disable', 'delete', 'close'])

/** Sorts within each domain: by path, reads first, and the steps of a flow in their order. */
export function inOrderOfUse(operations: readonly Operation[]): Operation[] {
  const domains = [...new Set(operations.map(({ id }) => domainOf(id)))]
  return operations.toSorted(
    (a, b) =>
      domains.indexOf(domainOf(a.id)) - domains.indexOf(domainOf(b.id)) ||
      comparePaths(a.path.split('/'), b.path.split('/')) ||
      (a.method < b.method ? -1 : 1),
  )
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

function toWords(domain: string): string {
  return domain.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

function comparePaths(a: readonly string[], b: readonly string[]): number {
  const index = a.findIndex((segment, place) => segment !== b[place])
  if (index < 0) return stepOf(undefined) - stepOf(b[a.length]) || a.length - b.length
  const [left = '', right] = [a[index], b[index]]
  return stepOf(left) - stepOf(right) || (right === undefined || left > right ? 1 : -1)
}

function stepOf(segment: string | undefined): number {
  if (segment === undefined) return 0
  return firstSteps.has(segment) ? -1 : Number(lastSteps.has(segment))
}
