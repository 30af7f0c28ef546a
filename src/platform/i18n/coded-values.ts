import type { CodedFamily, CodedValue } from '../../kernel/index.ts'

/** A deployment's own numbers, by family and code (`codedValues` in the configuration). */
export type CodedOverrides = Readonly<Record<string, Readonly<Record<string, number>>>>

/** All coded values of one language by `<family>.<code>`. The values are frozen, because all responses share them. */
export const codedValues = (
  families: Iterable<CodedFamily>,
  textOf: (key: string) => string,
  overrides: CodedOverrides,
): ReadonlyMap<string, CodedValue> => {
  const result = new Map<string, CodedValue>()
  for (const { name, values } of families) {
    for (const [code, number] of Object.entries(values)) {
      const key = `${name}.${code}`
      const text = { label: textOf(`coded.${key}.label`), description: textOf(`coded.${key}.description`) }
      result.set(key, Object.freeze({ code, value: overrides[name]?.[code] ?? number, ...text }))
    }
  }
  return result
}
