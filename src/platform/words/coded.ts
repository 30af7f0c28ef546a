import { type CodedFamily, type CodedValue, codedFamilies, codesOf } from '../../kernel/index.ts'

/** Numbers of a deployment's own, by family and code (`codedValues` in the configuration). */
export type CodedOverrides = Readonly<Record<string, Readonly<Record<string, number>>>>

const families = Object.keys(codedFamilies) as CodedFamily[]

const numbersOf = (family: CodedFamily, overrides: CodedOverrides): Map<string, number> => {
  const numbers = new Map<string, number>(Object.entries(codedFamilies[family]))
  for (const [code, number] of Object.entries(overrides[family] ?? {})) {
    if (!numbers.has(code)) throw new RangeError(`codedValues: ${family} has no ${code}`)
    numbers.set(code, number)
  }
  if (new Set(numbers.values()).size < numbers.size) {
    throw new RangeError(`codedValues: two codes of ${family} share a number`)
  }
  return numbers
}

/** Every coded value of one language, frozen: they are shared by all replies. Keyed by `<family>.<code>`. */
export const codedValues = (
  say: (key: string) => string,
  overrides: CodedOverrides,
): ReadonlyMap<string, CodedValue> => {
  const unknown = Object.keys(overrides).find((family) => !Object.hasOwn(codedFamilies, family))
  if (unknown !== undefined) throw new RangeError(`codedValues: there is no family ${unknown}`)
  const values = new Map<string, CodedValue>()
  for (const family of families) {
    const numbers = numbersOf(family, overrides)
    for (const code of codesOf(family)) {
      const key = `${family}.${code}`
      const text = { label: say(`coded.${key}.label`), description: say(`coded.${key}.description`) }
      values.set(key, Object.freeze({ code, value: numbers.get(code) ?? codedFamilies[family][code], ...text }))
    }
  }
  return values
}
