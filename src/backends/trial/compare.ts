import * as z from 'zod'
import { isRecord } from '../../kernel/index.ts'

/**
 * `refusal`: one of the services refused, or with another code. `invalid`: not a reply of the interface. `schema`: the
 * reply of the shadow violates the schema. The others are differences of values.
 */
export const differenceKinds = ['refusal', 'invalid', 'schema', 'missing', 'added', 'type', 'value', 'length'] as const
export type DifferenceKind = (typeof differenceKinds)[number]

/** Contains no value. `path` has names that the schema declares, `*` for other names, and no indexes of lists. */
export interface Difference {
  kind: DifferenceKind
  path: string
}

/** Further differences of one reply are not reported. */
const maxDifferences = 20

export const rootPath = '$'

/** Compares two replies of an operation. Both are values of JSON. */
export class ReplyComparison {
  readonly #schema: z.ZodType
  readonly #names: ReadonlySet<string>
  readonly #ignored: readonly string[]

  constructor(schema: z.ZodType, ignored: readonly string[]) {
    this.#schema = schema
    this.#names = declaredNames(schema)
    this.#ignored = ignored
  }

  /** `mainText` has the reply as the client got it. `data` is what the shadow sent. */
  compare(mainText: string, data: unknown): Difference[] {
    const checked = this.#schema.safeParse(data)
    const violations = checked.success ? [] : this.#schemaDifferences(checked.error.issues)
    if (violations.length > 0) return violations
    // If only ignored fields violate the schema, the others are compared as they are.
    const text = JSON.stringify(checked.success ? checked.data : data) ?? 'null'
    if (text === mainText) return []
    const found = new DifferenceList()
    this.#walk(JSON.parse(mainText), JSON.parse(text), [], found)
    return found.items
  }

  #schemaDifferences(issues: readonly z.core.$ZodIssue[]): Difference[] {
    const found = new DifferenceList()
    for (const { path } of issues) {
      const names = path.flatMap((step) => (typeof step === 'number' ? [] : [String(step)]))
      if (!this.#isIgnored(names)) found.add('schema', this.#pathOf(names))
    }
    return found.items
  }

  #walk(main: unknown, shadow: unknown, path: readonly string[], found: DifferenceList): void {
    if (found.isFull || main === shadow || this.#isIgnored(path)) return
    if (Array.isArray(main) && Array.isArray(shadow)) {
      // The elements after a missing one would all differ.
      if (main.length !== shadow.length) found.add('length', this.#pathOf(path))
      else for (const [index, each] of main.entries()) this.#walk(each, shadow[index], path, found)
      return
    }
    if (isRecord(main) && isRecord(shadow)) {
      for (const name of new Set([...Object.keys(main), ...Object.keys(shadow)])) {
        const below = [...path, name]
        if (Object.hasOwn(main, name) && Object.hasOwn(shadow, name)) this.#walk(main[name], shadow[name], below, found)
        else if (!this.#isIgnored(below))
          found.add(Object.hasOwn(main, name) ? 'missing' : 'added', this.#pathOf(below))
      }
      return
    }
    found.add(typeOf(main) === typeOf(shadow) ? 'value' : 'type', this.#pathOf(path))
  }

  #isIgnored(path: readonly string[]): boolean {
    if (this.#ignored.length === 0 || path.length === 0) return false
    const text = this.#pathOf(path)
    return this.#ignored.some((ignored) => text === ignored || text.startsWith(`${ignored}.`))
  }

  /** The keys of a map can be ids of persons. */
  #pathOf(path: readonly string[]): string {
    return path.length === 0 ? rootPath : path.map((name) => (this.#names.has(name) ? name : '*')).join('.')
  }
}

class DifferenceList {
  readonly #known = new Set<string>()
  readonly items: Difference[] = []

  get isFull(): boolean {
    return this.items.length >= maxDifferences
  }

  add(kind: DifferenceKind, path: string): void {
    const key = `${kind} ${path}`
    if (this.isFull || this.#known.has(key)) return
    this.#known.add(key)
    this.items.push({ kind, path })
  }
}

/** Of all objects in a schema, at any depth. */
function declaredNames(schema: z.ZodType): ReadonlySet<string> {
  const names = new Set<string>()
  const collect = (node: unknown): void => {
    if (Array.isArray(node)) {
      for (const each of node) collect(each)
      return
    }
    if (!isRecord(node)) return
    for (const [key, value] of Object.entries(node)) {
      if (key === 'properties' && isRecord(value)) for (const name of Object.keys(value)) names.add(name)
      collect(value)
    }
  }
  collect(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }))
  return names
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
