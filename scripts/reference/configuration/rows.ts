import type { Defaults } from './defaults.ts'
import { alternatives, type Node, takes } from './takes.ts'

export interface Row {
  /** The dotted path. `<…>` stands for any name, and `[]` for each element of a list. */
  setting: string
  takes: string
  otherwise: string
  is: string
}

/** `path` is null if the defaults do not contain the setting. */
export function rowsOf(node: Node, setting: string, path: string[] | null, defaults: Defaults): Row[] {
  const below = (name: string, child: Node, key: string | null): Row[] =>
    rowsOf(child, name, path && key !== null ? [...path, key] : null, defaults)
  const is = node.description ?? (path && defaults.commentAt(path)) ?? ''
  const row: Row = {
    setting,
    takes: takes(node),
    is,
    otherwise: shown((path && defaults.valueAt(path)) ?? node.default),
  }
  const children = childrenOf(node)
  if (areAlike(children)) {
    const [first] = children
    const { additionalProperties: others } = node
    return [
      ...(first ? below(`${setting}.<${children.map(([name]) => name).join(' | ')}>`, first[1], first[0]) : []),
      ...(typeof others === 'object' ? below(`${setting}.<name>`, others, null) : []),
    ]
  }
  if (children.length > 0) {
    const rows = children.flatMap(([name, child]) => below(`${setting}.${name}`, child, name))
    return is === '' ? rows : [{ ...row, takes: '', otherwise: '' }, ...rows]
  }
  const { items, additionalProperties: any } = node
  if (typeof items === 'object' && !Array.isArray(items) && items.type === 'object')
    return [row, ...below(`${setting}[]`, { ...items, description: '' }, null)]
  if (typeof any === 'object' && any.type !== 'integer' && any.type !== 'string')
    return [row, ...below(`${setting}.<${namesOf(node)}>`, any, null)]
  const objects = alternatives(node).filter((each) => each.type === 'object')
  return [
    row,
    ...objects.flatMap((each) => childrenOf(each).flatMap(([name, child]) => below(`${setting}.${name}`, child, null))),
  ]
}

function shown(value: unknown): string {
  if (value === undefined) return ''
  const text = JSON.stringify(value)
  return text.length > 60 ? 'see `config check`' : `\`${text}\``
}

function childrenOf(node: Node): [string, Node][] {
  return Object.entries(node.properties ?? {}).filter((entry): entry is [string, Node] => typeof entry[1] === 'object')
}

/** Siblings with the same schema, such as the portals, share one row. */
function areAlike(children: [string, Node][]): boolean {
  return (
    children.length > 1 &&
    childrenOf(children[0]?.[1] ?? {}).length > 2 &&
    new Set(children.map(([, child]) => JSON.stringify(child))).size === 1
  )
}

function namesOf({ propertyNames }: Node): string {
  const names = typeof propertyNames === 'object' ? (propertyNames.enum ?? []).join(' | ') : ''
  return names === '' || names.length > 40 ? 'name' : names
}
