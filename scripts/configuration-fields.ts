/*
 * The fields of the configuration as a domain gets it, for the API report: the compiled declarations contain zod's types
 * instead.
 */
import { z } from 'zod'
import { schema } from '../src/config/schema.ts'

/** Returns a line per field, such as `listen.port: integer`. */
export function configurationFields(): string[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })
  return Object.entries(properties).flatMap(([name, node]) => fieldLines(name, node))
}

function fieldLines(path: string, node: unknown): string[] {
  const below = linesOf(path, node)
  const type = typeOf(node)
  return type === 'object' && below.length > 0 ? below : [`${path}: ${type}`, ...below]
}

/** The fields of objects, of the elements of lists (`[]`) and of records (`<name>`). */
function linesOf(path: string, node: unknown): string[] {
  if (!isNode(node)) return []
  const { properties, required = [], additionalProperties, items } = node
  const children = Object.entries(properties ?? {})
  const [first] = children
  const areAlike =
    children.length > 1 && isNode(first?.[1]) && new Set(children.map((each) => JSON.stringify(each[1]))).size === 1
  const below =
    areAlike && first && first[1] !== true && typeOf(first[1]) === 'object'
      ? linesOf(`${path}.<${children.map(([name]) => name).join(' | ')}>`, first[1])
      : children.flatMap(([name, child]) => fieldLines(`${path}.${name}${required.includes(name) ? '' : '?'}`, child))
  return [
    ...below,
    ...(isNode(additionalProperties) ? fieldLines(`${path}.<name>`, additionalProperties) : []),
    ...(isNode(items) ? linesOf(`${path}[]`, items) : []),
    ...alternatives(node).flatMap((each) => linesOf(path, each)),
  ]
}

type Node = z.core.JSONSchema.BaseSchema

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `unknown` stands for a value that only a transformation determines. */
function typeOf(node: unknown): string {
  if (!isNode(node)) return 'unknown'
  const choices = alternatives(node)
  if (choices.length > 0) return [...new Set(choices.map(typeOf))].join(' | ')
  if (node.enum) return node.enum.map(literal).join(' | ')
  if ('const' in node) return literal(node.const)
  if (node.type === 'array') return `list of ${typeOf(node.items)}`
  return [node.type ?? 'unknown'].flat().join(' | ')
}

function alternatives({ anyOf, oneOf }: Node): Node[] {
  return [...(anyOf ?? []), ...(oneOf ?? [])].filter(isNode)
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
