import { type CodedValue, codedFamilies, codedFamilyNames, codesOf } from '../../kernel/index.ts'

/** Numbers of a deployment's own, by family and code (`codedValues` in the configuration). */
export type CodedOverrides = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Every coded value of one language, frozen: they are shared by all replies. Keyed by `<family>.<code>`. */
export const codedValues = (
  say: (key: string) => string,
  overrides: CodedOverrides,
): ReadonlyMap<string, CodedValue> => {
  const values = new Map<string, CodedValue>()
  for (const family of codedFamilyNames) {
    for (const code of codesOf(family)) {
      const key = `${family}.${code}`
      const text = { label: say(`coded.${key}.label`), description: say(`coded.${key}.description`) }
      values.set(key, Object.freeze({ code, value: overrides[family]?.[code] ?? codedFamilies[family][code], ...text }))
    }
  }
  return values
}
