import type { z } from 'zod'

export type Node = z.core.JSONSchema.BaseSchema

export function alternatives(node: Node): Node[] {
  return [...(node.anyOf ?? []), ...(node.oneOf ?? [])].filter((each) => typeof each !== 'boolean')
}

export function takes(node: Node): string {
  const choices = alternatives(node)
  if (choices.length > 0) return [...new Set(choices.map(takes))].join(' or ')
  if (node.const !== undefined) return `\`${String(node.const)}\``
  if (node.enum) return quoted(node.enum)
  if (node.type === 'integer' || node.type === 'number') return numbers(node)
  if (node.type === 'array') {
    const { items } = node
    const item = typeof items === 'object' && !Array.isArray(items) ? takes(items) : 'values'
    return `list of ${item}`
  }
  if (node.type === 'string') return node.format === 'uri' ? 'URL' : 'string'
  const names = typeof node.propertyNames === 'object' ? node.propertyNames.enum : undefined
  if (names) return `by name: ${quoted(names)}`
  return node.type === 'object' ? 'object' : String(node.type ?? 'any')
}

function quoted(values: readonly unknown[]): string {
  return values.map((each) => `\`${String(each)}\``).join(', ')
}

function numbers({ type, minimum, maximum, exclusiveMinimum }: Node): string {
  const [lowest, highest] = [isBound(minimum) ? minimum : null, isBound(maximum) ? maximum : null]
  const kind = type === 'integer' ? 'integer' : 'number'
  if (typeof exclusiveMinimum === 'number') return `${kind} above ${exclusiveMinimum}`
  if (lowest !== null && highest !== null) return `${kind}, ${lowest} to ${highest}`
  return lowest !== null ? `${kind} from ${lowest}` : kind
}

/** JSON Schema gives integers the bounds of JavaScript's safe integers. Omit those. */
function isBound(value: number | undefined): value is number {
  return value !== undefined && Math.abs(value) !== Number.MAX_SAFE_INTEGER
}
