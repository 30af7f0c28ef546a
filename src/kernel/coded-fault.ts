import { type CodedFamily, codedFamilies } from './coded.ts'

const isFamily = (name: string): name is CodedFamily => Object.hasOwn(codedFamilies, name)

/** What is wrong with numbers that a deployment gives to codes of a family, if anything is. */
export const codedFault = (family: string, own: Readonly<Record<string, number>>): string | undefined => {
  if (!isFamily(family)) return `there is no family ${family}`
  const numbers: Readonly<Record<string, number>> = codedFamilies[family]
  const unknown = Object.keys(own).find((code) => !Object.hasOwn(numbers, code))
  if (unknown !== undefined) return `${family} has no ${unknown}`
  const all = Object.values({ ...numbers, ...own })
  return new Set(all).size < all.length ? `two codes of ${family} share a number` : undefined
}
