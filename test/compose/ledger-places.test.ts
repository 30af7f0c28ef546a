import { expect, test } from 'vitest'
import { ledgerDomains } from '../../src/banking/index.ts'
import { describePlaces, findSplitLedger } from '../../src/compose/ledger.ts'
import { loadedDomains } from '../harness/domains.ts'
import { upstreamAt } from '../harness/settings.ts'

const service = upstreamAt('http://127.0.0.1:8081/bank')
const [first = expect.fail('no domain')] = loadedDomains
const loans = { ...first, name: 'loans', isOurs: false, ledger: { houseAccounts: ['LOANS'] } }
const cards = { ...first, name: 'cards', isOurs: false }
const together = Object.fromEntries([...ledgerDomains].map((name) => [name, service]))

test.each<[string, Parameters<typeof findSplitLedger>[1]['backends']]>([
  ['no backend', {}],
  ['a service for every domain', { default: service }],
  ['a service for a domain without money', { profile: service, files: service }],
  ['a service for every domain that shares the ledger', together],
  ['one service with two audiences', { ...together, wallets: { ...service, audience: 'wallets' } }],
  ['one service with and without a slash', { ...together, wallets: { ...service, url: `${service.url}/` } }],
])('findSplitLedger: null with %s', (_name, backends) => {
  expect(findSplitLedger(loadedDomains, { backends })).toBeNull()
})

test('findSplitLedger: names the domains of each place', () => {
  const places = findSplitLedger(loadedDomains, { backends: { wallets: service } })
  const others = [...ledgerDomains].filter((name) => name !== 'wallets')
  expect(Object.keys(places ?? {}).toSorted()).toEqual(['http://127.0.0.1:8081/bank', 'in-process'])
  expect(places?.['http://127.0.0.1:8081/bank']).toEqual(['wallets'])
  expect(places?.['in-process']?.toSorted()).toEqual(others.toSorted())
})

test('findSplitLedger: ignores domains that are off', () => {
  const onlyWallets = loadedDomains.filter(({ name }) => name === 'wallets' || !ledgerDomains.has(name))
  expect(findSplitLedger(onlyWallets, { backends: { wallets: service } })).toBeNull()
})

test('findSplitLedger: includes an extension with ledger types, and no other extension', () => {
  const places = findSplitLedger([...loadedDomains, loans, cards], { backends: together })
  expect(places?.['in-process']).toEqual(['loans'])
})

test('ledgerDomains: every domain that uses one of them is one of them', () => {
  const users = loadedDomains.filter(({ uses = [] }) => uses.some((name) => ledgerDomains.has(name)))
  expect(users.length).toBeGreaterThan(3)
  expect(users.map(({ name }) => name).filter((name) => !ledgerDomains.has(name))).toEqual([])
})

test('describePlaces: one line', () => {
  expect(describePlaces({ 'in-process': ['exchanges', 'transfers'], 'http://127.0.0.1:8081': ['wallets'] })).toBe(
    'in-process: exchanges, transfers; http://127.0.0.1:8081: wallets',
  )
})
