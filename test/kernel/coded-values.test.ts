import { expect, test } from 'vitest'
import { codedFamilies as families } from '../../src/contract/index.ts'

const codedFamilies = Object.fromEntries([...families].map(([name, { values }]) => [name, values]))

test('coded values of the interface have the documented numbers', () => {
  expect(codedFamilies).toMatchObject({
    mfaMethod: { EMAIL: 10011001, BACKUP_CODE: 10011005 },
    accountPortal: { CONSUMER: 10010104 },
    accountStatus: { ACTIVE: 10010202 },
    workspaceStatus: { ACTIVE: 10010304 },
    workspaceKind: { LIVE: 10050101 },
    joinSource: { REGISTRATION: 10050201 },
    roleType: { OWNER: 10010901, CUSTOM: 10010902 },
  })
})

function blockOf(value: number): number {
  return Math.floor(value / 100)
}

/** Fixed by the interface. */
const blocks = new Map([
  ['accountPortal', 100101],
  ['accountStatus', 100102],
  ['workspaceStatus', 100103],
  ['roleType', 100109],
  ['mfaMethod', 100110],
  ['workspaceKind', 100501],
  ['joinSource', 100502],
])

test('families of the interface stay in their blocks; every other family has its own block in 1009xxxx', () => {
  const families = Object.entries(codedFamilies)
  const values = families.flatMap(([, members]) => Object.values(members))
  expect(new Set(values).size).toBe(values.length)
  const own = families.filter(([name]) => !blocks.has(name))
  const used = families.map(([name, members]) => [name, [...new Set(Object.values(members).map(blockOf))]])
  expect(used).toEqual(families.map(([name]) => [name, [blocks.get(name) ?? expect.any(Number)]]))
  const ours = own.flatMap(([, members]) => Object.values(members).slice(0, 1).map(blockOf))
  expect(new Set(ours).size).toBe(own.length)
  for (const block of ours) expect(Math.floor(block / 100)).toBe(1009)
})
