import type { Json, JsonObject } from './json.ts'

/** Every reference into the components of one kind. */
const pointedTo = (value: Json, kind: string): Set<string> => {
  const references = JSON.stringify(value).matchAll(new RegExp(`"\\$ref":"#/components/${kind}/([^"]+)"`, 'g'))
  return new Set(references.map(([, name = '']) => name))
}

/** The components that something points to, others of the same kind among them. */
export const used = (all: Record<string, JsonObject>, kind: string, from: Json): JsonObject => {
  const kept: JsonObject = {}
  const visit = (value: Json): void => {
    for (const name of pointedTo(value, kind)) {
      const component = all[name]
      if (name in kept || !component) continue
      kept[name] = component
      visit(component)
    }
  }
  visit(from)
  return Object.fromEntries(Object.entries(kept).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
