import { isMap, isPair, isScalar, parseDocument, visit } from 'yaml'
import { mergeSettings } from '../../../src/config/index.ts'

export interface Defaults {
  valueAt(path: readonly string[]): unknown
  commentAt(path: readonly string[]): string | undefined
}

/** `layers` override the file. The comment before the first key of a map belongs to the map. */
export function readDefaults(text: string, layers: readonly unknown[]): Defaults {
  const document = parseDocument(text, { merge: true })
  const comments = new Map<string, string>()
  visit(document, {
    Pair: (_, pair, ancestors) => {
      const keys = [...ancestors.filter(isPair), pair].map(({ key }) => (isScalar(key) ? String(key.value) : ''))
      const parent = ancestors.at(-1)
      const isFirst = isMap(parent) && parent.items[0] === pair && ancestors.length > 2
      const own = isScalar(pair.key) ? pair.key.commentBefore : undefined
      const comment = own ?? (isFirst && isMap(parent) ? parent.commentBefore : undefined)
      if (comment) comments.set(keys.join('.'), oneLine(comment))
    },
  })
  const tree = layers.reduce(mergeSettings, document.toJS())
  return {
    valueAt: (path) => path.reduce(child, tree),
    commentAt: (path) => comments.get(path.join('.')),
  }
}

function oneLine(comment: string): string {
  return comment.replace(/\s*\n\s*/g, ' ').trim()
}

function child(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
