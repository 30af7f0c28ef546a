import { isRecord } from '../kernel/index.ts'

export type Tree = Record<string, unknown>

/** Lays one configuration over another, key by key; lists and plain values are replaced whole. */
export const overlay = (base: unknown, over: unknown): unknown => {
  if (over === undefined || over === null) return base
  if (!isRecord(base) || !isRecord(over)) return over
  const merged: Tree = { ...base }
  for (const [key, value] of Object.entries(over)) merged[key] = overlay(base[key], value)
  return merged
}

const inherited = '__proto__'

/** Whether it names what every object inherits: laid over anything, it would say settings that no schema sees. */
export const namesPrototype = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, inherited) || Object.values(value).some(namesPrototype))
