import { codedFamilies } from '../contract/index.ts'
import type { Settings } from './schema.ts'

/** What is wrong with numbers that a deployment gives to codes of a family, if anything is. */
const faultOf = (family: string, own: Readonly<Record<string, number>>): string | undefined => {
  const numbers = codedFamilies.get(family)?.values
  if (!numbers) return `there is no family ${family}`
  const unknown = Object.keys(own).find((code) => !Object.hasOwn(numbers, code))
  if (unknown !== undefined) return `${family} has no ${unknown}`
  const all = Object.values({ ...numbers, ...own })
  return new Set(all).size < all.length ? `two codes of ${family} share a number` : undefined
}

export const codedFaults = ({ codedValues }: Settings): string[] =>
  Object.entries(codedValues)
    .map(([family, own]) => faultOf(family, own))
    .filter((fault) => fault !== undefined)
    .map((fault) => `codedValues: ${fault}`)
